package main

import (
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/persistence"
	"troupe/testkit/need"
)

// examine runs the doctor and returns its findings.
func examine(t *testing.T, args ...string) (code int, found map[string]finding) {
	t.Helper()
	code, stdout, stderr := play(t, "", append([]string{"doctor", "--json"}, args...)...)
	var report struct {
		Healthy  bool
		Findings []finding
	}
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("exit code %d, %v: %s%s", code, err, stdout, stderr)
	}
	found = map[string]finding{}
	for _, f := range report.Findings {
		found[f.Check] = f
		if f.Found == "" || (f.Verdict == good) != (f.Advice == "") {
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
		if f := found[check]; f.Verdict == "" || f.Verdict == problem {
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
	if code, found = examine(t, "--listen=127.0.0.1:0", "--browser="+none); code != exitFailed || found["browser"].Verdict != problem || !strings.Contains(found["browser"].Found, none) {
		t.Errorf("without a browser: exit code %d, %+v", code, found["browser"])
	}

	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if f := examinePort(ln.Addr().String(), false); f.Verdict != problem || !strings.Contains(f.Found, "in use by another") {
		t.Errorf("%+v", f)
	}
	if f := examinePort(ln.Addr().String(), true); f.Verdict != good {
		t.Errorf("%+v", f)
	}
	plain := filepath.Join(t.TempDir(), "plain.pem")
	if err := os.WriteFile(plain, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, l := range []listening{{TLSCert: plain, TLSKey: plain}, {TLSCert: none, TLSKey: none}} {
		if f := l.examine(time.Now()); len(f) != 1 || f[0].Verdict != problem || !strings.Contains(f[0].Found, "certificate") || f[0].Advice == "" {
			t.Errorf("%s: %+v", l.TLSCert, f)
		}
	}
	if f := examinePort("192.0.2.1:80", false); f.Verdict != problem || f.Advice == "" {
		t.Errorf("%+v", f)
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
	if f := found["sandbox"]; code != 0 || f.Verdict != warning || !strings.Contains(f.Found, "start only without") || found["browser"].Verdict != good {
		t.Errorf("on loopback: exit code %d, %+v", code, f)
	}
	code, found = examine(t, "--listen=0.0.0.0:0", "--insecure-listen", "--browser="+bare)
	if f := found["sandbox"]; code != exitFailed || f.Verdict != problem {
		t.Errorf("beyond loopback: exit code %d, %+v", code, f)
	}
	code, found = examine(t, "--listen=127.0.0.1:0", "--no-sandbox", "--browser="+bare)
	if f := found["sandbox"]; code != 0 || f.Verdict != warning || !strings.Contains(f.Found, "--no-sandbox") {
		t.Errorf("switched off: exit code %d, %+v", code, f)
	}
}

// TestDoctorSeesFonts: what no font has is missing, and what has one is not.
func TestDoctorSeesFonts(t *testing.T) {
	need.Browser(t)
	dir, err := os.MkdirTemp("", "troupe-doctor-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	v, err := try(t.Context(), chromium{}, dir, map[string]string{"Latin": "A", "nothing": "\u0379", "space": " "})
	if err != nil || fmt.Sprint(v.missing) != "[nothing space]" {
		t.Errorf("%+v, %v", v, err)
	}
	if _, err := os.Stat("/proc/self/stat"); err == nil && v.threads < 10 {
		t.Errorf("a browser with %d threads", v.threads)
	}
}

// TestDoctorSeesTheStore: one that is whole, is used, is damaged. It changes
// nothing.
func TestDoctorSeesTheStore(t *testing.T) {
	data := t.TempDir()
	open := func() *persistence.Badger {
		t.Helper()
		b, err := persistence.OpenBadger(storeIn(data), persistence.Options{Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	wants := func(v verdict, text string) {
		t.Helper()
		if f := examineStore(data, false); f.Verdict != v || !strings.Contains(f.Found, text) || (v == good) != (f.Advice == "") {
			t.Errorf("%+v, want %s: %s", f, v, text)
		}
	}
	wants(good, "none yet")
	b := open()
	wants(problem, "another process")
	if f := examineStore(data, true); f.Verdict != good {
		t.Errorf("%+v", f)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wants(good, "is whole")
	broken := []byte("no list of tables")
	manifest := filepath.Join(storeIn(data), "MANIFEST")
	if err := os.WriteFile(manifest, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	wants(problem, "damaged")
	wants(problem, "damaged") // still
	if now, err := os.ReadFile(manifest); err != nil || string(now) != string(broken) {
		t.Errorf("it was changed: %s, %v", now, err)
	}
}

// lasts is a certificate for a name and for this machine.
func lasts(end time.Time, name string) *x509.Certificate {
	return &x509.Certificate{DNSNames: []string{name}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, NotAfter: end}
}

// TestDoctorJudges: what the numbers mean.
func TestDoctorJudges(t *testing.T) {
	built := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		f    finding
		want verdict
		text string
	}{
		"no pids limit":             {judgePids(0, false, 500, 40), good, "no limit"},
		"many pids":                 {judgePids(1000, true, 4, 40), good, "160"},
		"some pids":                 {judgePids(400, true, 4, 40), warning, "frames"},
		"few pids":                  {judgePids(100, true, 4, 40), problem, "100 more"},
		"few pids, no browser":      {judgePids(399, true, 4, 0), problem, "400"},
		"enough descriptors":        {judgeDescriptors(20000, 16384, 2), good, "20000"},
		"as many as needed":         {judgeDescriptors(16840, 16384, 2), good, ""},
		"one less":                  {judgeDescriptors(16839, 16384, 2), warning, "--max-connections"},
		"none for the browsers":     {judgeDescriptors(256, 16384, 2), problem, "LimitNOFILE"},
		"clock":                     {judgeClock(reading{now: built.Add(time.Hour), built: built, synced: true, known: true}), good, "kept right"},
		"clock, who knows":          {judgeClock(reading{now: built.Add(time.Hour), built: built}), good, "2026-01-01T01:00:00Z"},
		"clock that runs free":      {judgeClock(reading{now: built.Add(time.Hour), built: built, known: true}), warning, "nothing keeps it right"},
		"clock of another year":     {judgeClock(reading{now: built.Add(-time.Hour), built: built, synced: true, known: true}), problem, "before this program"},
		"disk":                      {judgeDisk("/d", volume{free: 2 << 30, inodes: 1 << 20}), good, "2.0 GiB"},
		"small disk":                {judgeDisk("/d", volume{free: 500 << 20, inodes: 1 << 20}), warning, "500.0 MiB"},
		"full disk":                 {judgeDisk("/d", volume{free: 63 << 20, inodes: 1 << 20}), problem, "nothing can be written"},
		"no more files":             {judgeDisk("/d", volume{free: 1 << 40, inodes: 5}), problem, "5 files"},
		"one file":                  {judgeDisk("/d", volume{free: 1 << 40, inodes: 1}), problem, "1 filenothing"},
		"pids of one browser":       {judgePids(1000, true, 1, 40), good, "1 browser needs about 40"},
		"one connection, one each":  {judgeDescriptors(20000, 1, 1), good, "1 connection and 1 browser"},
		"no disk":                   {judgeDisk("/d", volume{err: errors.New("gone")}), problem, "gone"},
		"all fonts":                 {judgeFonts(nil), good, ""},
		"some fonts":                {judgeFonts([]string{"Chinese", "emoji"}), warning, "Chinese, emoji"},
		"no fonts":                  {judgeFonts([]string{"Arabic", "Latin"}), problem, "fonts-liberation"},
		"shared memory":             {judgeShared(64<<20, true), good, "64.0 MiB"},
		"without shared memory":     {judgeShared(0, false), good, "do not need it"},
		"sandbox on loopback":       {judgeSandbox(errors.New("no namespaces"), true), warning, "no namespaces"},
		"sandbox where it counts":   {judgeSandbox(errors.New("no namespaces"), false), problem, "no namespaces"},
		"sandbox without a process": {judgeSandbox(fmt.Errorf("start: %w", syscall.EAGAIN), true), warning, "ulimit -u"},
		"certificate":               {judgeCertificate(lasts(built.Add(8*24*time.Hour), "a.example"), built), good, "for a.example, 127.0.0.1, until 2026-01-09T00:00:00Z"},
		"certificate, soon over":    {judgeCertificate(lasts(built.Add(6*24*time.Hour), "a.example"), built), warning, "renew"},
		"certificate that is over":  {judgeCertificate(lasts(built.Add(-time.Second), "a.example"), built), problem, "which is over"},
		"certificate of tomorrow":   {judgeCertificate(&x509.Certificate{DNSNames: []string{"a"}, NotBefore: built.Add(time.Hour), NotAfter: built.Add(time.Hour * 999)}, built), problem, "not before 2026-01-01T01"},
		"certificate for nobody":    {judgeCertificate(&x509.Certificate{NotAfter: built.Add(time.Hour * 999)}, built), problem, "subjectAltName"},
	} {
		if tc.f.Verdict != tc.want || !strings.Contains(tc.f.Found+tc.f.Advice, tc.text) {
			t.Errorf("%s: %+v, want %s and %q", name, tc.f, tc.want, tc.text)
		}
	}
}

// TestDoctorOfANode looks for the other nodes, and at its own address.
func TestDoctorOfANode(t *testing.T) {
	t.Parallel()
	peer, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer peer.Close()
	free := freeAddresses(t, 2)
	c := clustering{ClusterListen: free[0], ClusterPeers: []string{free[0], peer.Addr().String(), free[1]}, ClusterSecretFile: "x", Node: "n1"}
	f := c.examine(false)
	if len(f) != 2 || f[0].Verdict != good || f[1].Verdict != warning || !strings.Contains(f[1].Found, "1 of 3 addresses of nodes does not answer: "+free[1]) || f[1].Advice == "" {
		t.Errorf("one does not answer: %+v", f)
	}
	c.ClusterPeers = c.ClusterPeers[:2]
	if f := c.examine(false); f[1].Verdict != good || f[1].Advice != "" {
		t.Errorf("all answer: %+v", f)
	}
	c.ClusterListen = peer.Addr().String()
	if f := c.examine(false); f[0].Verdict != problem || !strings.Contains(f[0].Advice, "--cluster-listen") {
		t.Errorf("the address is another program's: %+v", f)
	}
	if f := new(clustering).examine(false); f != nil {
		t.Errorf("a single node: %+v", f)
	}
}
