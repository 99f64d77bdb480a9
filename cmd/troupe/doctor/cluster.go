package doctor

import (
	"fmt"
	"net"
	"strings"
	"time"

	"troupe/engine"
)

// examineCluster looks whether the other nodes can be reached, and this one's address
// can be had.
func examineCluster(c Cluster, running bool) []Finding {
	if c.Listen == "" {
		return nil
	}
	own := examinePort(c.Listen, running)
	own.Check = "cluster port"
	if own.Verdict == Problem {
		own.Advice = "stop the program that uses it, or choose another address with --cluster-listen"
	}
	f := Finding{Check: "cluster", Verdict: Good}
	var silent []string
	for _, peer := range c.Peers {
		if peer == c.Listen {
			continue
		}
		conn, err := net.DialTimeout("tcp", peer, 2*time.Second)
		if err != nil {
			silent = append(silent, peer)
			continue
		}
		_ = conn.Close()
	}
	f.Found = fmt.Sprintf("%d of %d %s of nodes %s not answer", len(silent), len(c.Peers),
		engine.Plural(len(c.Peers), "address", "addresses"), engine.Plural(len(silent), "does", "do"))
	if len(silent) == 0 {
		f.Found = "all other nodes answer"
		return []Finding{own, f}
	}
	f.Verdict, f.Found = Warning, f.Found+": "+strings.Join(silent, ", ")
	f.Advice = "before the first start this is expected; otherwise start them, or let this machine reach them"
	return []Finding{own, f}
}
