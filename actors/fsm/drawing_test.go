package fsm

import (
	"fmt"
	"html"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"troupe/actors/api"
)

//go:generate go test . -run TestTheDrawingOfStatesIsCurrent -update

// turn is one way from a state to another, as others see it.
type turn struct{ from, to api.State }

// drawnTurn is how a turn is told and drawn.
type drawnTurn struct {
	turn
	when   string   // in words
	path   string   // of its arrow
	label  []string // lines beside the arrow
	x, y   int      // of the first line
	anchor string
}

// drawn are all turns there are. TestDrawnTurnsAreThoseOfStep holds them to what
// workers do.
var drawn = []drawnTurn{
	{turn{"", api.Offline}, "the worker is there", "M14 150 H28", nil, 0, 0, ""},
	{turn{api.Offline, api.Online}, "the browser is up and answers", "M150 142 H378", []string{"the browser is up"}, 265, 132, "middle"},
	{turn{api.Online, api.Offline}, "the browser dies; drain", "M380 158 H152", []string{"it dies; drain"}, 265, 176, "middle"},
	{turn{api.Online, api.Busy}, "a task is claimed", "M500 142 H728", []string{"a task is claimed"}, 615, 132, "middle"},
	{turn{api.Busy, api.Online}, "the task ends, without a session", "M730 158 H502", []string{"it ends, without a session"}, 615, 176, "middle"},
	{turn{api.Busy, api.Reserved}, "the task ends, a session is kept", "M776 172 C776 264 640 318 502 320", []string{"it ends, a session is kept"}, 624, 262, "middle"},
	{turn{api.Reserved, api.Busy}, "a request with the right session, or override by its holder", "M500 340 C680 340 804 290 804 174", []string{"a request of the session,", "or override by its holder"}, 708, 330, "start"},
	{turn{api.Reserved, api.Online}, "the session is closed, its time is over, or its account is removed: after a reset", "M440 308 V174", []string{"closed, over,", "or its account removed"}, 448, 216, "start"},
	{turn{api.Busy, api.Offline}, "the browser dies; drain, once the task has ended", "M790 128 C790 20 90 20 90 126", []string{"the browser dies; drain, once the task has ended"}, 440, 38, "middle"},
	{turn{api.Offline, api.Reserved}, "the browser is up, and a session was held: its state is put back", "M76 172 C76 290 200 340 378 340", []string{"the browser is up,", "the session put back"}, 155, 330, "end"},
	{turn{api.Reserved, api.Offline}, "the browser dies; drain, once the session's state is saved", "M380 320 C240 318 104 264 104 174", []string{"it dies; drain, when", "the session is saved"}, 250, 248, "middle"},
}

// places are the middles of the states in the drawing.
var places = []struct {
	state api.State
	x, y  int
}{{api.Offline, 90, 150}, {api.Online, 440, 150}, {api.Busy, 790, 150}, {api.Reserved, 440, 330}}

// TestDrawnTurnsAreThoseOfStep goes through all conditions that a worker can
// come to, with two accounts and two sessions, and compares the turns that it
// takes between states with those that are drawn.
func TestDrawnTurnsAreThoseOfStep(t *testing.T) {
	t.Parallel()
	var events []Event
	for _, account := range []string{"anna", "bert"} {
		for _, o := range []Claim{{Intent: Plain}, {Intent: Open, Fresh: "s1"}, {Intent: Override, Fresh: "s2"}, {Intent: Resume, ID: "s1"}, {Intent: Close, ID: "s1"}} {
			o.Task, o.Account = "t", account
			events = append(events, ClaimReceived{o})
		}
		events = append(events, AccountRemoved{account}, SessionReceived{Session: "s1", Account: account})
	}
	for _, how := range []Ending{OK, Broken, Crashed, NotStarted} {
		events = append(events, RunEnded{How: how})
	}
	for _, session := range []string{"s1", "s2"} {
		events = append(events, SessionExpired{session}, LeaseLost{session}, SessionTaken{session})
	}
	events = append(events, LaunchAllowed{}, BrowserUp{}, BrowserUp{Lost: true}, LaunchFailed{}, BrowserLost{}, RunOverdue{}, RunStuck{},
		CancelRequested{"t", api.CauseClient}, CancelRequested{"t", api.CauseAsked}, ResetDone{true}, ResetDone{false}, RenewalDue{},
		DrainRequested{}, RemovalRequested{}, InterruptRequested{}, SessionSaved{}, ResumeRequested{})

	first := Condition{Browser: Down}
	seen, next := map[Condition]bool{first: true}, []Condition{first}
	taken := map[turn]string{{"", first.State()}: "the beginning"}
	for len(next) > 0 {
		c := next[0]
		next = next[1:]
		for _, e := range events {
			d, _ := Step(c, e)
			if d.State() != c.State() {
				taken[turn{c.State(), d.State()}] = fmt.Sprintf("%T makes %+v of %+v", e, d, c)
			}
			if !seen[d] {
				seen[d] = true
				next = append(next, d)
			}
		}
	}
	if len(seen) < 100 {
		t.Fatalf("only %d conditions were come to", len(seen))
	}
	for _, d := range drawn {
		if taken[d.turn] == "" {
			t.Errorf("from %q to %q is drawn, and no worker does it", d.from, d.to)
		}
		delete(taken, d.turn)
	}
	for _, tn := range slices.SortedFunc(maps.Keys(taken), func(a, b turn) int {
		return strings.Compare(string(a.from+a.to), string(b.from+b.to))
	}) {
		t.Errorf("from %q to %q is not drawn: %s", tn.from, tn.to, taken[tn])
	}
}

// statesDrawing is the drawing. It has colours of its own for the dark, which
// hold where it is shown as a picture; a page of its own may have no style.
func statesDrawing() string {
	var b strings.Builder
	b.WriteString(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 880 370" font-family="system-ui, 'DejaVu Sans', sans-serif" font-size="13" fill="#1b1c1e">
<style>@media (prefers-color-scheme: dark) { .ground { fill: #191b1e } .line { stroke: #a3a7ae } .head { fill: #a3a7ae } .box { fill: #182038; stroke: #93b1ff } text { fill: #e8e8e4 } }</style>
<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"><path class="head" d="M0 0 L8 4 L0 8 Z" fill="#5a5d63"/></marker></defs>
<rect class="ground" width="880" height="370" fill="#fff"/>
<circle class="head" cx="9" cy="150" r="5" fill="#5a5d63"/>
`)
	for _, d := range drawn {
		fmt.Fprintf(&b, `<path class="line" d="%s" fill="none" stroke="#5a5d63" stroke-width="1.5" marker-end="url(#head)"/>`+"\n", d.path)
		for i, line := range d.label {
			fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="%s">%s</text>`+"\n", d.x, d.y+17*i, d.anchor, html.EscapeString(line))
		}
	}
	for _, p := range places {
		fmt.Fprintf(&b, `<rect class="box" x="%d" y="%d" width="120" height="44" rx="8" fill="#e9eefb" stroke="#2450c8"/>`+"\n", p.x-60, p.y-22)
		fmt.Fprintf(&b, `<text x="%d" y="%d" text-anchor="middle" font-size="15" font-weight="600">%s</text>`+"\n", p.x, p.y+5, p.state)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

func TestTheDrawingOfStatesIsCurrent(t *testing.T) {
	const (
		picture, page = "../../docs/states.svg", "../../docs/states.md"
		begin, end    = "<!-- turns: generated by `make generate` -->\n\n", "\n<!-- turns: end -->"
	)
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), begin)
	_, after, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s has no place for the table of turns", page)
	}
	var table strings.Builder
	table.WriteString("| from | to | when |\n|---|---|---|\n")
	for _, d := range drawn[1:] {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", d.from, d.to, d.when)
	}
	for path, want := range map[string]string{picture: statesDrawing(), page: before + begin + table.String() + end + after} {
		if *update {
			if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s is not what the turns say: run make generate (%v)", path, err)
		}
	}
}
