package main

import (
	"net"
	"strings"
	"testing"
)

// TestAPortInUse: the sentence says what to do, and holds nothing of the words of Go.
func TestAPortInUse(t *testing.T) {
	t.Parallel()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	l := listening{Listen: ln.Addr().String()}
	_, err = l.open()
	if want := "--listen " + l.Listen + ": another program answers there already: stop it, or choose another port"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	l.Listen = "192.0.2.1:8080"
	if _, err := l.open(); err == nil || !strings.HasSuffix(err.Error(), "this machine has no such address") {
		t.Errorf("got %v", err)
	}
}
