package admin

import (
	"flag"
	"strings"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

// messages are all that crosses the private socket.
func messages(t *testing.T) []golden.Case {
	all := []golden.Case{golden.Record[socketAnswer](t, "order-carried-out", nil)}
	for path, of := range commandTypes {
		name := "order" + strings.ReplaceAll(path, "/", "-")
		all = append(all, golden.RecordOf(t, name, of.command, nil), golden.RecordOf(t, name+"-result", of.result, nil))
	}
	return all
}

// TestGoldenCommands: what earlier releases have said on the private socket is read. Each of
// those forms has a golden file for later ones.
func TestGoldenCommands(t *testing.T) { golden.Test(t, "http/admin", messages(t)) }

// TestEveryFieldOfACommandHasAName: a field that is renamed in Go keeps its name on the socket.
func TestEveryFieldOfACommandHasAName(t *testing.T) { golden.Named(t, messages(t)) }
