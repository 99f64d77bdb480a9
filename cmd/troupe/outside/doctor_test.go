package outside_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/cmd/troupe/doctor"
	"troupe/engine/browser"
	"troupe/testkit/need"
)

// examine runs the doctor and returns its findings.
func examine(t *testing.T, args ...string) (code int, found map[string]doctor.Finding) {
	t.Helper()
	code, stdout, stderr := play(t, "", append([]string{"doctor", "--json"}, args...)...)
	var report struct {
		Healthy  bool
		Findings []doctor.Finding
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	found = map[string]doctor.Finding{}
	for _, f := range report.Findings {
		found[f.Check] = f
		if f.Found == "" || (f.Verdict == doctor.Good) != (f.Advice == "") {
			t.Errorf("%+v: what is not good, and nothing else, has advice", f)
		}
	}
	if report.Healthy != (code == 0) {
		t.Errorf("exit code %d, and healthy is %v", code, report.Healthy)
	}
	return code, found
}

// TestDoctor: what is seen on this machine, with things in its way one by one.
func TestDoctor(t *testing.T) {
	need.Browser(t)
	data := filepath.Join(t.TempDir(), "data")
	t.Setenv("TROUPE_DATA", data)
	code, found := examine(t, "--listen=127.0.0.1:0")
	for _, check := range []string{"browser", "sandbox", "fonts", "shared memory", "pids", "descriptors", "clock", "disk", "port", "store"} {
		if f := found[check]; f.Verdict == "" || f.Verdict == doctor.Problem {
			t.Errorf("%s: %+v", check, f)
		}
	}
	if code != 0 || !strings.Contains(found["browser"].Found, "plays a task") {
		t.Errorf("exit code %d, %+v", code, found)
	}
	if _, err := os.Stat(data); err == nil {
		t.Error("it made a data folder")
	}
	code, stdout, _ := play(t, "", "doctor", "--listen=127.0.0.1:0")
	if code != 0 || len(strings.Split(stdout, "\n")) < 10 || !strings.HasPrefix(stdout, "good     browser") {
		t.Errorf("exit code %d\n%s", code, stdout)
	}

	none := filepath.Join(t.TempDir(), "none")
	if code, found = examine(t, "--listen=127.0.0.1:0", "--browser="+none); code != exitFailed || found["browser"].Verdict != doctor.Problem || !strings.Contains(found["browser"].Found, none) {
		t.Errorf("without a browser: exit code %d, %+v", code, found["browser"])
	}

}

// TestDoctorSeesTheSandbox: a browser that starts only without its sandbox.
func TestDoctorSeesTheSandbox(t *testing.T) {
	need.Browser(t)
	program, err := browser.Find()
	if err != nil {
		t.Skip(err)
	}
	bare := filepath.Join(t.TempDir(), "bare")
	script := fmt.Sprintf("#!/bin/sh\nfor a in \"$@\"; do if [ \"$a\" = --no-sandbox ]; then exec %s \"$@\"; fi; done\necho no sandbox here >&2\nexit 1\n", program)
	if err := os.WriteFile(bare, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("TROUPE_DATA", filepath.Join(t.TempDir(), "data"))
	code, found := examine(t, "--listen=127.0.0.1:0", "--browser="+bare)
	if f := found["sandbox"]; code != 0 || f.Verdict != doctor.Warning || !strings.Contains(f.Found, "start only without") || found["browser"].Verdict != doctor.Good {
		t.Errorf("on loopback: exit code %d, %+v", code, f)
	}
	code, found = examine(t, "--listen=0.0.0.0:0", "--insecure-listen", "--browser="+bare)
	if f := found["sandbox"]; code != exitFailed || f.Verdict != doctor.Problem {
		t.Errorf("beyond loopback: exit code %d, %+v", code, f)
	}
	code, found = examine(t, "--listen=127.0.0.1:0", "--no-sandbox", "--browser="+bare)
	if f := found["sandbox"]; code != 0 || f.Verdict != doctor.Warning || !strings.Contains(f.Found, "--no-sandbox") {
		t.Errorf("switched off: exit code %d, %+v", code, f)
	}
}
