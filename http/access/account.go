package access

import (
	"context"
	"net"
	"net/netip"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// AddrOf is the address of the other side, or the zero value.
func AddrOf(c net.Conn) netip.Addr {
	a, err := netip.ParseAddrPort(c.RemoteAddr().String())
	if err != nil {
		return netip.Addr{}
	}
	return a.Addr()
}

// Authenticator knows whose a token is. [persistence.Accounts] is one. The error
// for a token that nobody has is [persistence.ErrNotFound].
type Authenticator interface {
	Lookup(ctx context.Context, token string) (persistence.Account, error)
	// LookupDigest is the same for a token that was shown before.
	LookupDigest(ctx context.Context, token persistence.Digest) (persistence.Account, error)
}

// ForActors names an account to the actors.
func ForActors(a persistence.Account) api.Account {
	return api.Account{ID: a.ID, Plan: engine.Plan(a.Plan)}
}
