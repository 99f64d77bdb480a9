package egress

import (
	"errors"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
)

// Every user of a machine can knock at a port on loopback, and browsers show no
// password to a proxy before they were asked for it, which costs a round trip and
// the interception of requests. So the other end of a connection is looked at
// instead: the kernel knows whose it is.

// callers are the users whose processes may come in.
type callers struct {
	mu    sync.Mutex
	users []uint32
}

func (c *callers) admit(user int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.users = append(c.users, uint32(user))
}

func (c *callers) has(user uint32) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Contains(c.users, user)
}

// Admit also lets in the processes of another user than the service's own.
func (p *Proxy) Admit(user int) { p.callers.admit(user) }

// errNoCaller: nobody has the other end any more. A process may send and be gone,
// and must not be taken for somebody else because of that.
var errNoCaller = errors.New("the other end of the connection is nobody's")

// asker finds out whose the socket is that has the address from and is connected
// to the address to, both of this machine.
type asker func(from, to netip.AddrPort) (user uint32, err error)

// askKernel is the first way that works here; nil where there is none.
var askKernel = sync.OnceValue(func() asker {
	for _, ask := range askers {
		if works(ask) {
			return ask
		}
	}
	return nil
})

// works tries a way with a connection whose ends are both ours.
func works(ask asker) bool {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return false
	}
	defer l.Close()
	c, err := net.Dial("tcp4", l.Addr().String())
	if err != nil {
		return false
	}
	defer c.Close()
	user, err := ask(addrPort(c.LocalAddr()), addrPort(c.RemoteAddr()))
	return err == nil && user == uint32(os.Geteuid())
}

func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(*net.TCPAddr)
	if !ok {
		return netip.AddrPort{}
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}

// admitted reports whether the process at the other end of a connection may come
// in.
func (p *Proxy) admitted(c net.Conn) bool {
	if p.ask == nil {
		return true
	}
	user, err := p.ask(addrPort(c.RemoteAddr()), addrPort(c.LocalAddr()))
	if err != nil {
		p.log.Debug().Err(err).Msg("a caller of the proxy is not known")
		return false
	}
	if !p.callers.has(user) {
		p.strangers.Do(func() { // once: who knocks could fill the log
			p.log.Warn().Uint32("user", user).Msg("another user of this machine knocks at the proxy and is turned away")
		})
		return false
	}
	return true
}
