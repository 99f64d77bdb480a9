package outside_test

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// onTerminal runs a command at a terminal, where somebody types something once the command asks
// for it, and returns what the screen shows.
func onTerminal(t *testing.T, env []string, asks, types string, args ...string) (screen string, code int) {
	t.Helper()
	terminal, shown := pty(t)
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), env...)
	c.Stdin, c.Stdout, c.Stderr = terminal, terminal, terminal
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	var all bytes.Buffer
	for b := make([]byte, 4096); ; {
		n, err := shown.Read(b) // ends with an error when the last user of the terminal has gone
		all.Write(b[:n])
		if types != "" && strings.Contains(all.String(), asks) {
			if _, err := shown.WriteString(types); err != nil {
				t.Fatal(err)
			}
			types = ""
		}
		if err != nil {
			break
		}
	}
	_ = c.Wait()
	return all.String(), c.ProcessState.ExitCode()
}

// TestLoginOnATerminal: the token is asked for, and what is typed is not shown. Ctrl-C ends the
// question.
func TestLoginOnATerminal(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer troupe_typed" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"success":true,"plan":"pro","account":"ada"}`)
	}))
	defer s.Close()
	env := []string{"XDG_CONFIG_HOME=" + t.TempDir()}
	screen, code := onTerminal(t, env, "Token for", "troupe_typed\n", "login", s.URL)
	if code != 0 || !strings.Contains(screen, "Signed in to "+s.URL+" as ada") || strings.Contains(screen, "troupe_typed") {
		t.Errorf("exit code %d, %q", code, screen)
	}
	terminal, shown := pty(t)
	c := exec.Command(program, "login", s.URL)
	c.Stdin, c.Stderr = terminal, terminal
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	terminal.Close()
	for b, all := make([]byte, 4096), ""; !strings.Contains(all, "Token for"); {
		n, err := shown.Read(b)
		if all += string(b[:n]); err != nil {
			t.Fatalf("%v: %q", err, all)
		}
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(hang, func() { _ = c.Process.Kill() })
	defer late.Stop()
	if _ = c.Wait(); c.ProcessState.ExitCode() != exitCtrlC {
		t.Errorf("after Ctrl-C: %v", c.ProcessState)
	}
}

// TestColours: terminals have them, unless somebody does not want any. Nothing else has.
func TestColours(t *testing.T) {
	for _, tc := range []struct {
		env  string
		want bool
	}{{"TERM=xterm", true}, {"NO_COLOR=1", false}, {"TERM=dumb", false}} {
		if screen, code := onTerminal(t, []string{"TERM=xterm", tc.env}, "", "", "context", "use", "none"); code != exitUsage || strings.Contains(screen, "\x1b[31mtroupe:\x1b[0m") != tc.want || !tc.want && strings.Contains(screen, "\x1b") {
			t.Errorf("%s: exit code %d, %q", tc.env, code, screen)
		}
	}
	if _, _, errs := play(t, "", "context", "use", "none"); strings.Contains(errs, "\x1b") {
		t.Errorf("without a terminal: %q", errs)
	}
}
