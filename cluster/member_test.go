package cluster_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/cluster/member"
	"troupe/persistence"
	"troupe/testkit/need"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	whole := member.Config{
		Name: "n1", Listen: "127.0.0.1:7222", Peers: []string{"127.0.0.1:7222", "127.0.0.1:7223", "127.0.0.1:7224"},
		Secret: secret, Dir: t.TempDir(),
	}
	weak := filepath.Join(t.TempDir(), "weak")
	if err := os.WriteFile(weak, []byte("password\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		change func(*member.Config)
		want   string
	}{
		"no name":             {func(c *member.Config) { c.Name = "" }, "node's name"},
		"a name with a dot":   {func(c *member.Config) { c.Name = "a.b" }, "small letters"},
		"no folder":           {func(c *member.Config) { c.Dir = "" }, "folder"},
		"no port":             {func(c *member.Config) { c.Listen = "127.0.0.1" }, "host:port"},
		"a peer without host": {func(c *member.Config) { c.Peers[1] = ":7223" }, "names no host"},
		"a peer twice":        {func(c *member.Config) { c.Peers[1] = c.Peers[2] }, "named twice"},
		"not among the peers": {func(c *member.Config) { c.Listen = "127.0.0.1:7000" }, "this one (127.0.0.1:7000) too"},
		"one node":            {func(c *member.Config) { c.Peers = c.Peers[:1] }, "at least three"},
		"two nodes":           {func(c *member.Config) { c.Peers = c.Peers[:2] }, "arbiter, which needs no browsers (--workers 0)"},
		"no secret":           {func(c *member.Config) { c.Secret = nil }, "openssl rand -hex 32"},
		"one character":       {func(c *member.Config) { c.Secret = []byte(strings.Repeat("a", 64)) }, "random characters"},
		"a weak secret":       {func(c *member.Config) { c.Secret, c.SecretFile = nil, weak }, "random characters"},
		"no secret file":      {func(c *member.Config) { c.Secret, c.SecretFile = nil, weak+"x" }, "read the nodes' secret"},
		"half of the files":   {func(c *member.Config) { c.CertFile = weak }, "all three files, or none"},
		"files that are none": {func(c *member.Config) { c.CertFile, c.KeyFile, c.CAFile = weak, weak, weak }, "prepare certificates"},
	} {
		cfg := whole
		cfg.Peers = slices.Clone(whole.Peers)
		c.change(&cfg)
		m, err := member.Join(context.Background(), cfg)
		if err == nil {
			m.Close()
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v; want a word of %q", name, err, c.want)
		}
	}
}

// Three nodes find each other, lose one, and have it back.
func TestNodesJoin(t *testing.T) {
	need.Time(t)
	t.Parallel()
	cfgs := configs(t, 3)
	all := []*member.Member{join(t, cfgs[0]), join(t, cfgs[1]), join(t, cfgs[2])}
	ready(t, all...)
	for _, m := range all {
		soon(t, m.Name()+" sees the others", func() bool { return len(m.Peers()) == 2 && m.Leader() != "" })
		if m.Size() != 3 || slices.Contains(m.Peers(), m.Name()) {
			t.Errorf("%s: size %d, peers %v", m.Name(), m.Size(), m.Peers())
		}
	}
	sub, err := all[2].Conn().SubscribeSync("greeting")
	if err != nil {
		t.Fatal(err)
	}
	soon(t, "a message goes from one node to another", func() bool {
		if err := all[0].Conn().Publish("greeting", []byte("hello")); err != nil {
			t.Fatal(err)
		}
		got, err := sub.NextMsg(20 * time.Millisecond)
		return err == nil && string(got.Data) == "hello"
	})

	all[1].Close()
	soon(t, "the others notice", func() bool { return !slices.Contains(all[0].Peers(), "n2") })
	soon(t, "two of three are enough", func() bool { return all[0].Health().Ready && all[2].Health().Ready })
	all[2].Close()
	soon(t, "one of three is not", func() bool { return !all[0].Health().Ready })
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if err := all[0].Ready(ctx); !errors.Is(err, persistence.ErrNoQuorum) || !strings.Contains(err.Error(), "majority") {
		t.Errorf("Ready of one of three: %v", err)
	}
	all[1] = join(t, cfgs[1])
	ready(t, all[0], all[1])
}

// A node without others opens no port.
func TestAloneNothingListens(t *testing.T) {
	before := listening(t)
	m := join(t, member.Config{Name: "n1", Dir: t.TempDir(), Log: quiet})
	ready(t, m)
	if m.Leader() != "n1" || m.Size() != 1 {
		t.Errorf("leader %q of %d", m.Leader(), m.Size())
	}
	if now := listening(t); now != before {
		t.Errorf("%d sockets listen, %d did before", now, before)
	}
}

// listening counts the sockets of this process that listen.
func listening(t *testing.T) int {
	t.Helper()
	waiting := map[string]bool{}
	for _, p := range []string{"/proc/self/net/tcp", "/proc/self/net/tcp6"} {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Skip("sockets cannot be counted here: ", err)
		}
		for _, line := range strings.Split(string(b), "\n") {
			if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" {
				waiting["socket:["+f[9]+"]"] = true
			}
		}
	}
	all, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, fd := range all {
		if to, err := os.Readlink(fd); err == nil && waiting[to] {
			n++
		}
	}
	return n
}
