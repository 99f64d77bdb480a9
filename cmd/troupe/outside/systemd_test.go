package outside_test

import (
	"net"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestSystemdIsNotified: a service started with Type=notify says that it is
// ready when tasks can be taken, and that it stops.
func TestSystemdIsNotified(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(dir, "n"), Net: "unixgram"})
	if err != nil {
		t.Fatal(err)
	}
	defer at.Close()
	hear := func() string {
		b := make([]byte, 4096)
		_ = at.SetReadDeadline(time.Now().Add(hang))
		n, err := at.Read(b)
		if err != nil {
			t.Fatalf("systemd hears nothing: %v", err)
		}
		return string(b[:n])
	}
	c := spawnWith(t, []string{"NOTIFY_SOCKET=" + filepath.Join(dir, "n")}, "serve", "--listen=127.0.0.1:0", "--data="+filepath.Join(dir, "data"), "--workers=1")
	if said := hear(); said != "READY=1" {
		t.Errorf("systemd hears %q first", said)
	}
	// What it has written is in the pipe by then, and read by another goroutine.
	for end := time.Now().Add(time.Second); !strings.Contains(c.out.String(), "Troupe answers on"); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("ready, the service has said %q", c.out.String())
			break
		}
	}
	if err := c.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if said := hear(); said != "STOPPING=1" {
		t.Errorf("systemd hears %q at the stop", said)
	}
}
