package http_test

import (
	"flag"
	"os"
	"testing"

	"troupe/testkit/leaks"
	"troupe/testkit/standalone"
	"troupe/testkit/wait"
)

func TestMain(m *testing.M) {
	if os.Getenv(queueService) != "" {
		flag.Parse()
		standalone.Run(serveQueue)
	}
	wait.SideBySide(2)
	look := leaks.Start()
	os.Exit(look.End(m.Run()))
}
