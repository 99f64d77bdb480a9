package fsm

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
	c := Condition{Browser: Down}
	for line := range strings.Lines(script) {
		line = strings.TrimSuffix(line, "\n")
		switch {
		case strings.HasPrefix(line, "\t"):
			continue
		case line == "" || strings.HasPrefix(line, "#"):
			if line == "# from the start" {
				c = Condition{Browser: Down}
			}
			fmt.Fprintln(&out, line)
			continue
		}
		e, err := parseEvent(line)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		var do []Effect
		c, do = Step(c, e)
		fmt.Fprintf(&out, "%s\n\t%s%s\n", line, c, effectsOf(do))
	}
	return out.String()
}

func (c Condition) String() string {
	s := string(c.State())
	if string(c.Browser) != s && c.Browser != Ready {
		s += " " + string(c.Browser)
	}
	if c.HasClaim() {
		s += " with " + c.Claim.Task
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
		{c.State() == api.Online && !c.Draining && !c.Claimable(), "not claimable"}} {
		if f.on {
			s += ", " + f.name
		}
	}
	return s
}

func effectsOf(do []Effect) string {
	if len(do) == 0 {
		return ""
	}
	all := make([]string, len(do))
	for i, e := range do {
		all[i] = strings.TrimSpace(describe(e))
	}
	return ": " + strings.Join(all, ", ")
}

// describe names an effect as the scripts do, with its arguments.
func describe(e Effect) string {
	switch e := e.(type) {
	case RefuseClaim:
		return "refuse " + string(e.Code)
	case ReturnClaim:
		return "giveup " + string(e.Code)
	case StartRun:
		return "run"
	case SendAnswer:
		s := string(e.End)
		if e.Played {
			s = "played"
		}
		if e.Session != "" {
			s += " with " + e.Session
		}
		return "answer " + s
	case StopRun:
		return "stop " + string(e.Cause)
	case BoundRun:
		return "hurry"
	case CloseBrowser:
		return "kill"
	case LaunchBrowser:
		return "launch"
	case RequestLaunch:
		return "relaunch"
	case ResetBrowser:
		return "reset"
	case OpenSession:
		return "open " + e.Session
	case ReceiveSession:
		return "adopt " + e.Session
	case RenameSession:
		return "rename " + e.From + " to " + e.To
	case RestartSessionTimer:
		return "rest " + e.Session
	case EndSession:
		return "forget " + e.Session
	case SaveSession:
		return "suspend " + e.Session
	default:
		return fmt.Sprintf("unknown %T", e)
	}
}

// parseEvent reads "claim TASK ACCOUNT INTENT [id=…] [fresh=…]" and the
// other events with their arguments.
func parseEvent(line string) (Event, error) {
	f := strings.Fields(line)
	arg := func(i int) string {
		if i < len(f) {
			return f[i]
		}
		return ""
	}
	switch f[0] {
	case "claim":
		o := Claim{Task: arg(1), Account: arg(2), Intent: Intent(arg(3))}
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
		return ClaimReceived{o}, nil
	case "launch":
		return LaunchAllowed{}, nil
	case "up":
		return BrowserUp{Lost: arg(1) == "lost"}, nil
	case "failed":
		return LaunchFailed{}, nil
	case "gone":
		return BrowserLost{}, nil
	case "ended":
		return RunEnded{How: Ending(arg(1))}, nil
	case "overdue":
		return RunOverdue{}, nil
	case "stuck":
		return RunStuck{}, nil
	case "cancel":
		return CancelRequested{Task: arg(1), Cause: api.Cause(arg(2))}, nil
	case "reset":
		return ResetDone{OK: arg(1) == "ok"}, nil
	case "expired":
		return SessionExpired{Session: arg(1)}, nil
	case "renew":
		return RenewalDue{}, nil
	case "drain":
		return DrainRequested{}, nil
	case "interrupt":
		return InterruptRequested{}, nil
	case "suspended":
		return SessionSaved{}, nil
	case "resume":
		return ResumeRequested{}, nil
	case "dismiss":
		return RemovalRequested{}, nil
	case "unheld":
		return LeaseLost{Session: arg(1)}, nil
	case "taken":
		return SessionTaken{Session: arg(1)}, nil
	case "adopt":
		return SessionReceived{Session: arg(1), Account: arg(2)}, nil
	case "disown":
		return AccountRemoved{Account: arg(1)}, nil
	}
	return nil, fmt.Errorf("unknown event %q", f[0])
}
