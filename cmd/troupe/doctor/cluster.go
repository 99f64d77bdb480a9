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
	if c.Listen == "" && len(c.Peers) == 0 {
		return nil
	}
	var all []Finding
	for _, port := range []struct{ check, address, flag string }{
		{"cluster port", c.Listen, "--cluster-listen"}, {"port for worker nodes", c.Workers, "--cluster-workers-listen"},
	} {
		if port.address == "" {
			continue
		}
		own := examinePort(port.address, running)
		own.Check = port.check
		if own.Verdict == Problem {
			own.Advice = "stop the program that uses it, or choose another address with " + port.flag
		}
		all = append(all, own)
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
		return append(all, f)
	}
	f.Verdict, f.Found = Warning, f.Found+": "+strings.Join(silent, ", ")
	f.Advice = "before the first start this is expected; otherwise start them, or let this machine reach them"
	return append(all, f)
}
