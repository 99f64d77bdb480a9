package enginetest_test

import (
	"os"
	"testing"

	"troupe/testkit/leaks"
)

func TestMain(m *testing.M) {
	look := leaks.Start()
	os.Exit(look.End(m.Run()))
}
