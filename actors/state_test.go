package actors

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/actors/api"
)

var update = flag.Bool("update", false, "write what step does into the scripts of testdata")

// TestStateScripts plays the scripts of testdata/state. A line that is not
// indented is an event; the indented line below it is what the worker becomes
// and, after the colon, what it has to do.
func TestStateScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/state/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) {
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			got := playScript(t, string(b))
			if *update {
				if err := os.WriteFile(f, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want := strings.Split(string(b), "\n")
			for i, line := range strings.Split(got, "\n") {
				if i >= len(want) || line != want[i] {
					t.Fatalf("%s:%d: step gives\n%s\nin\n%s", f, i+1, line, got)
				}
			}
		})
	}
}

func playScript(t *testing.T, script string) string {
	t.Helper()
	var out strings.Builder
	c := condition{Browser: down}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "\t"):
			continue
		case line == "" || strings.HasPrefix(line, "#"):
			if line == "# from the start" {
				c = condition{Browser: down}
			}
			fmt.Fprintln(&out, line)
			continue
		}
		e, err := parseEvent(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var do []effect
		c, do = step(c, e)
		fmt.Fprintf(&out, "%s\n\t%s%s\n", line, c, effectsOf(do))
	}
	return out.String()
}

func (c condition) String() string {
	s := string(c.state())
	if string(c.Browser) != s && c.Browser != ready {
		s += " " + string(c.Browser)
	}
	if c.claimed() {
		s += " with " + c.Order.Task
		if !c.Running {
			s += " waiting"
		}
	}
	if c.Session != "" {
		s += fmt.Sprintf(" for %s of %s", c.Session, c.Holder)
	}
	for _, f := range []struct {
		on   bool
		name string
	}{{c.Answered, "answered"}, {c.Cause != "", "told to end"}, {c.Dead, "dead"}, {c.Stale, "stale"},
		{c.Ends, "its session ends"}, {c.Draining, "draining"},
		{c.state() == api.Online && !c.Draining && !c.claimable(), "not claimable"}} {
		if f.on {
			s += ", " + f.name
		}
	}
	return s
}

func effectsOf(do []effect) string {
	if len(do) == 0 {
		return ""
	}
	all := make([]string, len(do))
	for i, e := range do {
		all[i] = strings.TrimSpace(strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", e), "actors.ef")) + " " + argsOf(e))
	}
	return ": " + strings.Join(all, ", ")
}

func argsOf(e effect) string {
	switch e := e.(type) {
	case efRefuse:
		return string(e.Code)
	case efGiveUp:
		return string(e.Code)
	case efAnswer:
		s := string(e.End)
		if e.Played {
			s = "played"
		}
		if e.Session != "" {
			s += " with " + e.Session
		}
		return s
	case efStop:
		return string(e.Cause)
	case efOpen:
		return e.Session
	case efAdopt:
		return e.Session
	case efRename:
		return e.From + " to " + e.To
	case efRest:
		return e.Session
	case efForget:
		return e.Session
	case efSuspend:
		return e.Session
	default:
		return ""
	}
}

// parseEvent reads "claim TASK ACCOUNT INTENT [id=…] [fresh=…]" and the
// other events with their arguments.
func parseEvent(line string) (event, error) {
	f := strings.Fields(line)
	arg := func(i int) string {
		if i < len(f) {
			return f[i]
		}
		return ""
	}
	switch f[0] {
	case "claim":
		o := order{Task: arg(1), Account: arg(2), Intent: intent(arg(3))}
		for _, a := range f[4:] {
			switch k, v, _ := strings.Cut(a, "="); k {
			case "id":
				o.ID = v
			case "fresh":
				o.Fresh = v
			default:
				return nil, fmt.Errorf("unknown argument %q", a)
			}
		}
		return evClaim{o}, nil
	case "launch":
		return evLaunch{}, nil
	case "up":
		return evUp{Lost: arg(1) == "lost"}, nil
	case "failed":
		return evFailed{}, nil
	case "gone":
		return evGone{}, nil
	case "ended":
		return evEnded{How: ending(arg(1))}, nil
	case "overdue":
		return evOverdue{}, nil
	case "stuck":
		return evStuck{}, nil
	case "cancel":
		return evCancel{Task: arg(1), Cause: api.Cause(arg(2))}, nil
	case "reset":
		return evReset{OK: arg(1) == "ok"}, nil
	case "expired":
		return evExpired{Session: arg(1)}, nil
	case "renew":
		return evRenew{}, nil
	case "drain":
		return evDrain{}, nil
	case "interrupt":
		return evInterrupt{}, nil
	case "suspended":
		return evSuspended{}, nil
	case "resume":
		return evResume{}, nil
	case "dismiss":
		return evDismiss{}, nil
	case "unheld":
		return evUnheld{Session: arg(1)}, nil
	case "taken":
		return evTaken{Session: arg(1)}, nil
	case "adopt":
		return evAdopt{Session: arg(1), Account: arg(2)}, nil
	case "disown":
		return evDisown{Account: arg(1)}, nil
	}
	return nil, fmt.Errorf("unknown event %q", f[0])
}
