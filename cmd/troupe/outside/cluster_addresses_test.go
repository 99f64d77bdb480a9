package outside_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"

	"troupe/testkit/networks"
)

// Where other nodes reach one, and where its metrics are. Systems give neither
// port to whoever asks for any: at an address that is a node's alone nobody else
// takes them before it does.
const peerPort, metricsPort = ":7222", ":9464"

// hosts counts the addresses that were given to nodes.
var hosts atomic.Uint32

// freeHost is a loopback address that no other node has, where the system has more
// than one.
func freeHost(t *testing.T) (host, peer, metrics string) {
	t.Helper()
	for range 1000 {
		n := hosts.Add(1)
		host := fmt.Sprintf("127.%d.%d.%d", 1+os.Getpid()%250, n/250, 1+n%250)
		ln, err := net.Listen("tcp", host+peerPort)
		switch {
		case err == nil:
			ln.Close()
			return host, host + peerPort, host + metricsPort
		case !errors.Is(err, syscall.EADDRINUSE): // that would be another run of the tests
			free := networks.Addresses(t, 2)
			return "127.0.0.1", free[0], free[1]
		}
	}
	t.Fatal("there is no loopback address for a node")
	return "", "", ""
}
