package browser

import (
	"flag"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

// TestGolden: what earlier releases have noted of their browsers is read.
func TestGolden(t *testing.T) {
	golden.Test(t, "engine/browser", []golden.Kept{golden.Record[note](t, "browser", nil)})
}
