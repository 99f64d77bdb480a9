package member

import (
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
)

// heard is a log's lines.
type heard struct {
	mu    sync.Mutex
	lines []string
}

func (h *heard) Write(p []byte) (int, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.lines = append(h.lines, string(p))
	return len(p), nil
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := h.lines
	h.lines = nil
	return lines
}

// TestStrangersAreSummarised: however many connect without the nodes' secret, the
// log has one line a minute with their number.
func TestStrangersAreSummarised(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		said := &heard{}
		l := newEngineLog(zerolog.New(said))
		lines := func(want ...string) {
			t.Helper()
			synctest.Wait()
			got := said.take()
			if len(got) != len(want) {
				t.Fatalf("%d lines: %q", len(got), got)
			}
			for i, w := range want {
				if !strings.Contains(got[i], w) || strings.Contains(got[i], `"level":"error"`) != strings.Contains(w, `"level":"error"`) {
					t.Errorf("line %d is %s, not %s", i, got[i], w)
				}
			}
		}
		for range 1000 {
			l.Errorf("192.0.2.1:%d - rid:%d - TLS route handshake error: %v", 1, 2, "tls: client didn't provide a certificate")
		}
		lines(`"level":"warn","from":"nats","count":1,`)
		time.Sleep(time.Minute + time.Second)
		lines(`"count":999,`)
		time.Sleep(time.Minute + time.Second)
		lines()
		l.Errorf("rid:7 - TLS handshake timeout")
		lines(`"count":1,`)
		l.Errorf("the disk is %s", "broken")
		lines(`"level":"error","from":"nats","message":"the disk is broken"`)
		time.Sleep(2 * time.Minute)
		lines()
	})
}
