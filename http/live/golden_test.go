package live

import (
	"flag"
	"testing"

	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of records whose shape has none; none is changed")

// records are tickets as other nodes read them.
func records(t *testing.T) []golden.Case {
	return []golden.Case{
		golden.Record[ticketRecord](t, "ticket", nil),
		golden.Places(t, map[string]string{"ticket": ticketPrefix + "00ff"}),
	}
}

// TestGoldenTickets: what earlier releases have written down of tickets is read. It has a golden
// file for later ones.
func TestGoldenTickets(t *testing.T) { golden.Test(t, "http/live", records(t)) }

// TestEveryFieldOfATicketHasAName: a field that is renamed in Go keeps its name in what is written.
func TestEveryFieldOfATicketHasAName(t *testing.T) { golden.Named(t, records(t)) }
