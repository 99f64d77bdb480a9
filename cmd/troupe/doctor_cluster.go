package main

import (
	"fmt"
	"net"
	"strings"
	"time"

	"troupe/engine"
)

// examine looks whether the other nodes can be reached, and this one's address
// can be had.
func (c *clustering) examine(running bool) []finding {
	if !c.on() {
		return nil
	}
	own := examinePort(c.ClusterListen, running)
	own.Check = "cluster port"
	if own.Verdict == problem {
		own.Advice = "end what has it, or choose another address with --cluster-listen"
	}
	f := finding{Check: "cluster", Verdict: good}
	var silent []string
	for _, peer := range c.ClusterPeers {
		if peer == c.ClusterListen {
			continue
		}
		conn, err := net.DialTimeout("tcp", peer, 2*time.Second)
		if err != nil {
			silent = append(silent, peer)
			continue
		}
		_ = conn.Close()
	}
	f.Found = fmt.Sprintf("%d of %d %s of nodes %s not answer", len(silent), len(c.ClusterPeers),
		engine.Plural(len(c.ClusterPeers), "address", "addresses"), engine.Plural(len(silent), "does", "do"))
	if len(silent) == 0 {
		f.Found = "all other nodes answer"
		return []finding{own, f}
	}
	f.Verdict, f.Found = warning, f.Found+": "+strings.Join(silent, ", ")
	f.Advice = "that is as it should be before the first start; else start them, or let this machine reach them"
	return []finding{own, f}
}
