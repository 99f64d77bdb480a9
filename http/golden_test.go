package http

import (
	"strings"
	"testing"

	"troupe/testkit/golden"
)

// keptForms are tickets as other nodes read them, and all that crosses the private
// socket.
func keptForms(t *testing.T) []golden.Kept {
	all := []golden.Kept{
		golden.Record[ticketRecord](t, "ticket", nil),
		golden.Record[carried](t, "order-carried-out", nil),
	}
	for path, of := range orderTypes {
		name := "order" + strings.ReplaceAll(path, "/", "-")
		all = append(all, golden.RecordOf(t, name, of.order, nil), golden.RecordOf(t, name+"-result", of.result, nil))
	}
	return all
}

// TestGolden: what earlier releases have written down of tickets, and said on the
// private socket, is read. Each of those forms has a golden file for later ones.
func TestGolden(t *testing.T) { golden.Test(t, "http", keptForms(t)) }

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptForms(t)) }
