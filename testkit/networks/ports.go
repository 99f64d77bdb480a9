package networks

import (
	"fmt"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
)

// Systems give ports from 32,768 or 49,152 on to whoever asks for any, and to
// connections. Those below are taken only by who names them.
const firstPort, ports = 12_000, 20_000

// port is the one that was given last. Programs of tests run at the same time, so each begins
// elsewhere.
var port atomic.Uint32

func init() { port.Store(rand.Uint32N(ports)) }

// Addresses are n of 127.0.0.1 on which nothing listens, for nodes that are told their
// addresses before they listen. No other test of the program gets the same.
func Addresses(t testing.TB, n int) (all []string) {
	t.Helper()
	for range ports {
		if len(all) == n {
			return all
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", firstPort+port.Add(1)%ports))
		if err != nil { // it is another one's
			continue
		}
		l.Close()
		all = append(all, l.Addr().String())
	}
	t.Fatal("there are no free ports")
	return nil
}
