package doctor

import (
	"crypto/tls"
	"crypto/x509"
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

	"troupe/engine"
	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit/need"
)

// TestDoctorLooksAtAddresses: at the port for clients, and at the certificate.
func TestDoctorLooksAtAddresses(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	if f := examinePort(ln.Addr().String(), false); f.Verdict != Problem || !strings.Contains(f.Found, "used by another") {
		t.Errorf("%+v", f)
	}
	if f := examinePort(ln.Addr().String(), true); f.Verdict != Good {
		t.Errorf("%+v", f)
	}
	plain := filepath.Join(t.TempDir(), "plain.pem")
	if err := os.WriteFile(plain, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{plain, filepath.Join(t.TempDir(), "none")} {
		open := func() (*tls.Config, error) {
			c, err := http.OpenCertificate(file, file, zerolog.Nop())
			if err != nil {
				return nil, err
			}
			return c.Config(), nil
		}
		if f := examineCertificate(open, time.Now()); len(f) != 1 || f[0].Verdict != Problem || !strings.Contains(f[0].Found, "certificate") || f[0].Advice == "" {
			t.Errorf("%s: %+v", file, f)
		}
	}
	if f := examinePort("192.0.2.1:80", false); f.Verdict != Problem || f.Advice == "" {
		t.Errorf("%+v", f)
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
	program, err := browser.Find()
	if err != nil {
		t.Skip(err)
	}
	c := Browser{Path: program, Engine: func(path, dir string, noSandbox bool) (engine.Engine, func() error, error) {
		proxy, err := egress.Start(egress.Config{Log: zerolog.Nop()})
		if err != nil {
			return nil, nil, err
		}
		return engine.NewChromium(browser.Options{Path: path, Dir: dir, NoSandbox: noSandbox, Log: zerolog.Nop()}, proxy), proxy.Close, nil
	}}
	v, err := try(t.Context(), c, dir, map[string]string{"Latin": "A", "nothing": "\u0379", "space": " "})
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
		b, err := persistence.OpenBadger(filepath.Join(data, "store"), persistence.Options{Log: zerolog.Nop()})
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	wants := func(v Verdict, text string) {
		t.Helper()
		if f := examineStore(data, filepath.Join(data, "store"), false); f.Verdict != v || !strings.Contains(f.Found, text) || (v == Good) != (f.Advice == "") {
			t.Errorf("%+v, want %s: %s", f, v, text)
		}
	}
	wants(Good, "none yet")
	b := open()
	wants(Problem, "another process")
	if f := examineStore(data, filepath.Join(data, "store"), true); f.Verdict != Good {
		t.Errorf("%+v", f)
	}
	if err := b.Close(); err != nil {
		t.Fatal(err)
	}
	wants(Good, "is whole")
	broken := []byte("no list of tables")
	manifest := filepath.Join(filepath.Join(data, "store"), "MANIFEST")
	if err := os.WriteFile(manifest, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	wants(Problem, "damaged")
	wants(Problem, "damaged") // still
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
		f    Finding
		want Verdict
		text string
	}{
		"no pids limit":             {judgePids(0, false, 500, 40), Good, "no limit"},
		"many pids":                 {judgePids(1000, true, 4, 40), Good, "160"},
		"some pids":                 {judgePids(400, true, 4, 40), Warning, "frames"},
		"few pids":                  {judgePids(100, true, 4, 40), Problem, "100 more"},
		"few pids, no browser":      {judgePids(399, true, 4, 0), Problem, "400"},
		"enough descriptors":        {judgeDescriptors(20000, 16384, 2), Good, "20000"},
		"as many as needed":         {judgeDescriptors(16840, 16384, 2), Good, ""},
		"one less":                  {judgeDescriptors(16839, 16384, 2), Warning, "--max-connections"},
		"none for the browsers":     {judgeDescriptors(256, 16384, 2), Problem, "LimitNOFILE"},
		"clock":                     {judgeClock(reading{now: built.Add(time.Hour), built: built, synced: true, known: true}), Good, "kept right"},
		"clock, who knows":          {judgeClock(reading{now: built.Add(time.Hour), built: built}), Good, "2026-01-01T01:00:00Z"},
		"clock that runs free":      {judgeClock(reading{now: built.Add(time.Hour), built: built, known: true}), Warning, "nothing keeps it right"},
		"clock of another year":     {judgeClock(reading{now: built.Add(-time.Hour), built: built, synced: true, known: true}), Problem, "before this program"},
		"disk":                      {judgeDisk("/d", volume{free: 2 << 30, inodes: 1 << 20}), Good, "2.0 GiB"},
		"small disk":                {judgeDisk("/d", volume{free: 500 << 20, inodes: 1 << 20}), Warning, "500.0 MiB"},
		"full disk":                 {judgeDisk("/d", volume{free: 63 << 20, inodes: 1 << 20}), Problem, "nothing can be written"},
		"no more files":             {judgeDisk("/d", volume{free: 1 << 40, inodes: 5}), Problem, "5 files"},
		"one file":                  {judgeDisk("/d", volume{free: 1 << 40, inodes: 1}), Problem, "1 filenothing"},
		"pids of one browser":       {judgePids(1000, true, 1, 40), Good, "1 browser needs about 40"},
		"one connection, one each":  {judgeDescriptors(20000, 1, 1), Good, "1 connection and 1 browser"},
		"no disk":                   {judgeDisk("/d", volume{err: errors.New("gone")}), Problem, "gone"},
		"all fonts":                 {judgeFonts(nil), Good, ""},
		"some fonts":                {judgeFonts([]string{"Chinese", "emoji"}), Warning, "Chinese, emoji"},
		"no fonts":                  {judgeFonts([]string{"Arabic", "Latin"}), Problem, "fonts-liberation"},
		"shared memory":             {judgeShared(64<<20, true), Good, "64.0 MiB"},
		"without shared memory":     {judgeShared(0, false), Good, "do not need it"},
		"sandbox on loopback":       {judgeSandbox(errors.New("no namespaces"), true), Warning, "no namespaces"},
		"sandbox where it counts":   {judgeSandbox(errors.New("no namespaces"), false), Problem, "no namespaces"},
		"sandbox without a process": {judgeSandbox(fmt.Errorf("start: %w", syscall.EAGAIN), true), Warning, "ulimit -u"},
		"certificate":               {judgeCertificate(lasts(built.Add(8*24*time.Hour), "a.example"), built), Good, "for a.example, 127.0.0.1, until 2026-01-09T00:00:00Z"},
		"certificate, soon over":    {judgeCertificate(lasts(built.Add(6*24*time.Hour), "a.example"), built), Warning, "renew"},
		"certificate that is over":  {judgeCertificate(lasts(built.Add(-time.Second), "a.example"), built), Problem, "which has passed"},
		"certificate of tomorrow":   {judgeCertificate(&x509.Certificate{DNSNames: []string{"a"}, NotBefore: built.Add(time.Hour), NotAfter: built.Add(time.Hour * 999)}, built), Problem, "not before 2026-01-01T01"},
		"certificate for nobody":    {judgeCertificate(&x509.Certificate{NotAfter: built.Add(time.Hour * 999)}, built), Problem, "subjectAltName"},
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
	free, held := make([]string, 2), make([]net.Listener, 2)
	for i := range free {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		free[i] = ln.Addr().String()
		held[i] = ln
	}
	for _, ln := range held { // both at once, so that they differ
		_ = ln.Close()
	}
	c := Cluster{Listen: free[0], Peers: []string{free[0], peer.Addr().String(), free[1]}}
	f := examineCluster(c, false)
	if len(f) != 2 || f[0].Verdict != Good || f[1].Verdict != Warning || !strings.Contains(f[1].Found, "1 of 3 addresses of nodes does not answer: "+free[1]) || f[1].Advice == "" {
		t.Errorf("one does not answer: %+v", f)
	}
	c.Peers = c.Peers[:2]
	if f := examineCluster(c, false); f[1].Verdict != Good || f[1].Advice != "" {
		t.Errorf("all answer: %+v", f)
	}
	c.Listen = peer.Addr().String()
	if f := examineCluster(c, false); f[0].Verdict != Problem || !strings.Contains(f[0].Advice, "--cluster-listen") {
		t.Errorf("the address is another program's: %+v", f)
	}
	if f := examineCluster(Cluster{}, false); f != nil {
		t.Errorf("a single node: %+v", f)
	}
}

// TestDoctorWarnsOfNoIsolation, and says nothing of the levels that clean.
func TestDoctorWarnsOfNoIsolation(t *testing.T) {
	for _, level := range []engine.Isolation{"", engine.IsolateTask, engine.IsolateAccount} {
		if f, found := judgeIsolation(level); found {
			t.Errorf("%q: %+v", level, f)
		}
	}
	if f, found := judgeIsolation(engine.IsolateNone); !found || f.Verdict != Warning || f.Advice == "" {
		t.Errorf("none: %+v", f)
	}
}
