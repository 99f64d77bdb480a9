package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"troupe/cluster/member"
	"troupe/testkit/networks"
	"troupe/testkit/wait"
)

// secret is what the nodes of tests share.
var secret = []byte("0123456789abcdefghijklmnopqrstuvwxyz of tests")

var quiet = func() zerolog.Logger {
	if os.Getenv("TROUPE_TEST_LOG") == "" {
		return zerolog.Nop()
	}
	return zerolog.New(zerolog.ConsoleWriter{Out: os.Stderr}).Level(zerolog.DebugLevel).With().Timestamp().Logger()
}()

// configs are those of n nodes on addresses of their own.
func configs(t testing.TB, n int) []member.Config {
	t.Helper()
	peers := networks.Addresses(t, n)
	dir := t.TempDir()
	var all []member.Config
	for i, p := range peers {
		name := fmt.Sprintf("n%d", i+1)
		all = append(all, member.Config{
			Name: name, Listen: p, Peers: peers, Secret: secret,
			Dir: filepath.Join(dir, name), Log: quiet.With().Str("node", name).Logger(),
			Unsynced: true, // the disk is for the tests that are about it
		})
	}
	return all
}

// join starts one node, and ends it with the test.
func join(t testing.TB, cfg member.Config) *member.Member {
	t.Helper()
	m, err := member.Join(context.Background(), cfg)
	if err != nil {
		t.Fatalf("join as %s: %v", cfg.Name, err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

func ready(t testing.TB, all ...*member.Member) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), hang)
	defer cancel()
	var wg sync.WaitGroup
	errs := make([]error, len(all))
	for i, m := range all {
		wg.Go(func() { errs[i] = m.Ready(ctx) })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// How tests here wait.
const hang = wait.Hang

var soon = wait.Until
