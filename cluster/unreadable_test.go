package cluster

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// TestLaterInventoriesAreTold: that nodes of another release cannot be understood is
// one line a minute, however often they send.
func TestLaterInventoriesAreTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		later := Raw(KindInventory, []byte("{}"))
		later[0]++
		c := &Router{cfg: RouterConfig{Log: zerolog.New(&log)}}
		for range 100 {
			c.onInventory(&nats.Msg{Data: later})
		}
		if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), `"count":1,`) {
			t.Errorf("it is lastLogged in %d lines: %.300s", n, &log)
		}
		log.Reset()
		time.Sleep(time.Minute)
		c.onInventory(&nats.Msg{Data: later})
		if !strings.Contains(log.String(), `"count":100,`) {
			t.Errorf("a minute later: %s", &log)
		}
	})
}
