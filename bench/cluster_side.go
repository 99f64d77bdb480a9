package main

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"troupe/cluster"
	"troupe/cluster/member"
	"troupe/cluster/store"
	"troupe/persistence"
)

// nodeFile says in a node's folder which one it is.
const nodeFile = "node.json"

// place is a node's own, and those of all. One without peers is a service
// without a cluster.
type place struct {
	Name, Listen string
	Peers        []string
	Secret       []byte
	Workers      int
}

// serveNode is one node, of a cluster or alone, without browsers, until its standard input
// is closed.
func serveNode(dir string) error {
	var p place
	b, err := os.ReadFile(filepath.Join(dir, nodeFile))
	if err == nil {
		err = json.Unmarshal(b, &p)
	}
	if err != nil {
		return fmt.Errorf("read which node this is: %w", err)
	}
	if len(p.Peers) == 0 {
		alone, err := openEdge(dir)
		if err != nil {
			return err
		}
		defer alone.close()
		alone.workers = p.Workers
		return alone.serve(nil)
	}
	h := &edge{dir: dir, name: p.Name, workers: p.Workers, lease: 11 * time.Second}
	defer h.close()
	if err := h.openLog(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	node, err := member.Join(ctx, member.Config{Name: p.Name, Listen: p.Listen, Peers: p.Peers, Secret: p.Secret, Dir: filepath.Join(dir, "cluster"), Log: h.log})
	if err != nil {
		return err
	}
	h.ends = append(h.ends, node.Close)
	records, err := store.Open(ctx, node, "account/", "token/", "secret/")
	if err != nil {
		return err
	}
	h.ends = append(h.ends, records.Close)
	if h.files, err = store.OpenFiles(ctx, records); err != nil {
		return err
	}
	keys, err := node.Keys("seal")
	if err != nil {
		return err
	}
	if h.seal, err = persistence.NewSeal(keys[0]); err != nil {
		return err
	}
	h.store, h.accounts, h.tokenAccounts = records, persistence.NewAccounts(records), persistence.NewAccounts(records.Cached())
	team, err := cluster.NewRouter(cluster.RouterConfig{Conn: node.Conn(), Node: p.Name, Version: "bench", Uploads: filepath.Join(dir, "guests"), Log: h.log})
	if err != nil {
		return err
	}
	defer team.Close()
	h.usage = persistence.NewSharedUsage(records, persistence.QuotaSharing{Nodes: node.Size(), Majority: node.Majority, Recent: records.Copy().Get, Elsewhere: team.Held})
	h.changed = team.Changed
	return h.serve(team)
}

// startNodes starts so many nodes, each in a process of its own: of one cluster, or
// apart, as services that know nothing of each other.
func startNodes(dir string, n, workers int, apart bool) (all []*httpSide, err error) {
	secret := make([]byte, 32)
	_, _ = rand.Read(secret) // never fails: it ends the process instead
	peers, err := freeAddresses(n)
	if err != nil {
		return nil, err
	}
	all = make([]*httpSide, n)
	errs := make([]error, n)
	var starting sync.WaitGroup
	for i := range all { // side by side: the first start needs all of them
		name := fmt.Sprintf("n%d", i+1)
		home := filepath.Join(dir, name)
		at := place{Name: name, Listen: peers[i], Peers: peers, Secret: []byte(hex.EncodeToString(secret)), Workers: workers}
		if apart {
			at = place{Name: name, Workers: workers}
		}
		b, err := json.Marshal(at)
		if err == nil {
			err = os.MkdirAll(home, 0o700)
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(home, nodeFile), b, 0o600)
		}
		if err != nil {
			return nil, err
		}
		starting.Go(func() { all[i], errs[i] = startHTTPSide(name, nodeSide, home) })
	}
	starting.Wait()
	return all, errors.Join(errs...)
}

// freeAddresses are such on which nothing listens.
func freeAddresses(n int) (all []string, err error) {
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		all = append(all, l.Addr().String())
	}
	return all, nil
}
