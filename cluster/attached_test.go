package cluster_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/persistence"
	"troupe/persistence/storetest"
	"troupe/testkit/need"
	"troupe/testkit/networks"
)

// keeperConfigs are those of three nodes that keep the store and accept worker nodes, and
// the addresses for these.
func keeperConfigs(t testing.TB) (all []member.Config, hubs []string) {
	t.Helper()
	all = configs(t, 3)
	hubs = networks.Addresses(t, 3)
	for i := range all {
		all[i].Workers = hubs[i]
	}
	return all, hubs
}

// workerConfig is that of a worker node.
func workerConfig(t testing.TB, name string, hubs []string) member.Config {
	t.Helper()
	return member.Config{Name: name, Role: member.Worker, Peers: hubs, Secret: secret, Log: quiet.With().Str("node", name).Logger()}
}

// joinAll starts nodes side by side, and waits until they are ready.
func joinAll(t testing.TB, cfgs []member.Config) []*member.Member {
	t.Helper()
	all := make([]*member.Member, len(cfgs))
	for i, cfg := range cfgs {
		all[i] = join(t, cfg)
	}
	ready(t, all...)
	return all
}

// TestStoreOfAWorkerNode: a node without a copy has the same store as all others.
func TestStoreOfAWorkerNode(t *testing.T) {
	need.All(t)
	t.Parallel()
	cfgs, hubs := keeperConfigs(t)
	keepers := joinAll(t, cfgs)
	worker := join(t, workerConfig(t, "w1", hubs))
	ready(t, worker)
	storetest.Run(t, func(t *testing.T) persistence.Store {
		emptied(t, keepers[0])
		for _, m := range keepers {
			openStore(t, m)
		}
		return openStore(t, worker, "account/", "secret/")
	})
}

// TestAWorkerNodeTakesAnotherKeeper: a worker node whose node ends, or is cut off from the
// others, goes on with another one. Nothing that it was told was stored is lost, and no
// write fails.
func TestAWorkerNodeTakesAnotherKeeper(t *testing.T) {
	need.All(t)
	t.Parallel()
	cfgs, hubs := keeperConfigs(t)
	keepers := joinAll(t, cfgs)
	for _, m := range keepers {
		openStore(t, m, "account/")
	}
	worker := join(t, workerConfig(t, "w1", hubs))
	ready(t, worker)
	s := openStore(t, worker, "account/")
	soon(t, "the worker node is well", func() bool { return s.Health().State == store.Well })
	if len(worker.LastChanges()) > 0 {
		t.Errorf("a worker node has a copy: %v", worker.LastChanges())
	}

	stop := make(chan struct{})
	var writing sync.WaitGroup
	var acked []string
	var wrote atomic.Int64
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			key := fmt.Sprintf("task/%d", i)
			if _, err := s.Put(ctx, persistence.Write{Key: key, Value: []byte("x"), Durable: true}); err != nil {
				t.Errorf("%s: %v", key, err)
			} else {
				acked = append(acked, key)
				wrote.Add(1)
			}
		}
	})
	hub := worker.Hub()
	i := slices.IndexFunc(keepers, func(m *member.Member) bool { return m.Name() == hub })
	if i < 0 {
		t.Fatalf("the worker node is connected to %q", hub)
	}
	began := time.Now()
	_ = keepers[i].Close()
	soon(t, "the worker node is connected to another keeper", func() bool { h := worker.Hub(); return h != "" && h != hub })
	t.Logf("another keeper after %v", time.Since(began).Round(time.Millisecond))
	soon(t, "the worker node is well again", func() bool { return s.Health().State == store.Well })
	before := wrote.Load()
	soon(t, "some more is written", func() bool { return wrote.Load() >= before+20 })
	close(stop)
	writing.Wait()
	if _, err := s.Put(ctx, persistence.Write{Key: "account/new", Value: []byte("y")}); err != nil {
		t.Fatal(err)
	}
	soon(t, "a hot record comes to the worker node over the other keeper", func() bool {
		r, err := s.Copy().Get("account/new")
		return err == nil && string(r.Value) == "y"
	})
	list, err := s.List(ctx, "task/")
	if err != nil || len(list) < len(acked) || len(acked) == 0 {
		t.Errorf("%d of %d acknowledged writes are there: %v", len(list), len(acked), err)
	}
}

// TestWorkerNodesFollowChanges: a watcher at a worker node gets all changes of its keys, in
// order, whether these are hot or not.
func TestWorkerNodesFollowChanges(t *testing.T) {
	need.All(t)
	t.Parallel()
	cfgs, hubs := keeperConfigs(t)
	keepers := joinAll(t, cfgs)
	var stores []*store.Store
	for _, m := range keepers {
		stores = append(stores, openStore(t, m))
	}
	worker := join(t, workerConfig(t, "w1", hubs))
	ready(t, worker)
	s := openStore(t, worker, "token/")
	for _, prefix := range []string{"token/", "queue/holder", "ticket/a"} {
		watching, stop := context.WithCancel(ctx)
		events, err := s.Watch(watching, prefix)
		if err != nil {
			t.Fatal(err)
		}
		const n = 50
		for i := range n {
			if _, err := stores[i%3].Put(ctx, persistence.Write{Key: strings.TrimSuffix(prefix, "/"), Value: []byte("other")}); err != nil && !strings.HasSuffix(prefix, "/") {
				t.Fatal(err)
			}
			if _, err := stores[i%3].Put(ctx, persistence.Write{Key: prefix + "k", Value: fmt.Append(nil, i)}); err != nil {
				t.Fatal(err)
			}
		}
		for next := 0; next < n; {
			select {
			case e, open := <-events:
				if !open {
					t.Fatalf("%s: closed at %d", prefix, next)
				}
				if e.Key == prefix+"k" {
					if string(e.Value) != fmt.Sprint(next) {
						t.Fatalf("%s: %s instead of %d", prefix, e.Value, next)
					}
					next++
				}
			case <-time.After(hang):
				t.Fatalf("%s: change %d does not come", prefix, next)
			}
		}
		stop()
	}
}

// TestThePortForWorkerNodes says nothing to anybody without the secret, and a worker node
// none to another cluster.
func TestThePortForWorkerNodes(t *testing.T) {
	need.Time(t)
	t.Parallel()
	cfgs, hubs := keeperConfigs(t)
	keepers := joinAll(t, cfgs)
	for _, m := range keepers {
		openStore(t, m)
	}
	conn, err := net.Dial("tcp", hubs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
	if n, err := conn.Read(make([]byte, 1)); n > 0 || err == nil {
		t.Error("it speaks before a certificate was shown")
	}
	plain, err := net.Dial("tcp", hubs[0])
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Close()
	_, _ = io.WriteString(plain, "CONNECT {\"verbose\":true}\r\nPING\r\n")
	_ = plain.SetReadDeadline(time.Now().Add(hang))
	if b, _ := io.ReadAll(plain); strings.Contains(string(b), "PONG") || strings.Contains(string(b), "+OK") || strings.Contains(string(b), "INFO") {
		t.Errorf("without TLS it says %q", b)
	}
	for what, cfg := range map[string]*tls.Config{
		"no certificate": {InsecureSkipVerify: true, MinVersion: tls.VersionTLS13},
		"a foreign one":  foreignTLS(t),
	} {
		c, err := tls.Dial("tcp", hubs[0], cfg)
		if err != nil {
			continue
		}
		_ = c.SetReadDeadline(time.Now().Add(hang))
		if n, err := c.Read(make([]byte, 1)); n > 0 || err == nil {
			t.Errorf("%s: it is answered", what)
		}
		c.Close()
	}
	cfg := workerConfig(t, "w9", hubs)
	cfg.Secret = []byte("another secret of 32 characters, or of more")
	stranger := join(t, cfg)
	bound, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	if err := stranger.Ready(bound); !errors.Is(err, persistence.ErrNoQuorum) || stranger.Hub() != "" {
		t.Errorf("a worker node with another secret: connected to %q, %v", stranger.Hub(), err)
	}
}

// foreignTLS is what a node of another cluster shows.
func foreignTLS(t *testing.T) *tls.Config {
	t.Helper()
	cfg := workerConfig(t, "x", []string{"127.0.0.1:1"})
	cfg.Secret = []byte("another secret of 32 characters, or of more")
	c, err := cfg.TLS()
	if err != nil {
		t.Fatal(err)
	}
	c.VerifyConnection = nil // it does not care whom it talks to
	return c
}
