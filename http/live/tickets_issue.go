package live

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"

	"troupe/persistence"
)

// issue makes a ticket, unless the account has too many.
func (t *tickets) issue(ctx context.Context, as *Kind, n ticket) (plain, id string, ok bool, err error) {
	secret := make([]byte, 32)
	rand.Read(secret)
	plain = as.sign + base64.RawURLEncoding.EncodeToString(secret)
	sum := ticketSum(sha256.Sum256([]byte(plain)))
	n.id, n.revoked = sum.idOf(as.link), make(chan struct{})
	if t.shared == nil || t.add(sum, &n, as.most/unheard) {
		ok, err = t.keep(ctx, sum, &n, as.most)
	} else if t.room(&n, as.most) {
		err = persistence.InTurn(ctx, t.shared, as.name+"s/"+n.account.ID, func(ctx context.Context) (err error) {
			if err = t.catchUp(ctx); err == nil {
				ok, err = t.keep(ctx, sum, &n, as.most)
			}
			return err
		})
	}
	if err != nil || !ok {
		return "", "", false, err
	}
	return plain, n.id, true, nil
}

// unheard is the part of its limit that an account may have before nodes issue its tickets
// in turn: until then so many nodes that have not heard of each other's yet stay below the
// limit together.
const unheard = 8

// keep adds a ticket, unless it was, and writes it down.
func (t *tickets) keep(ctx context.Context, sum ticketSum, n *ticket, most int) (bool, error) {
	if !t.add(sum, n, most) {
		return false, nil
	}
	if err := t.write(ctx, sum, n, false); err != nil {
		t.mu.Lock()
		defer t.mu.Unlock()
		delete(t.alive, sum)
		return false, err
	}
	t.mu.Lock()
	n.written = true
	t.mu.Unlock()
	return true, nil
}

// catchUp learns of all tickets that other nodes have written.
func (t *tickets) catchUp(ctx context.Context) error {
	const most = 1024
	for after := ""; ; {
		keys, err := t.shared.Keys(ctx, ticketPrefix, after, most)
		if err != nil {
			return fmt.Errorf("look for the tickets of other nodes: %w", err)
		}
		for _, k := range keys {
			if t.heard(k.Key) {
				continue
			}
			r, err := t.shared.Get(ctx, k.Key)
			if err == nil {
				t.learn(r)
			} else if !errors.Is(err, persistence.ErrNotFound) {
				return fmt.Errorf("read a ticket of another node: %w", err)
			}
		}
		if len(keys) < most {
			return nil
		}
		after = keys[most-1].Key
	}
}

// heard reports whether a ticket is known by the key of its record.
func (t *tickets) heard(key string) bool {
	sum, ok := sumOf(key)
	t.mu.Lock()
	defer t.mu.Unlock()
	_, revoked := t.ended[sum]
	return !ok || t.alive[sum] != nil || revoked
}

// room reports whether an account may have one more ticket, as far as this node knows.
func (t *tickets) room(n *ticket, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.hasRoom(n, most)
}

func (t *tickets) add(sum ticketSum, n *ticket, most int) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.alive[sum] == n {
		return true
	}
	if !t.hasRoom(n, most) {
		return false
	}
	t.alive[sum] = n
	return true
}

// hasRoom is room, with the mutex held.
func (t *tickets) hasRoom(n *ticket, most int) bool {
	own := 0
	for k, v := range t.alive {
		switch {
		case !v.expires.After(n.made):
			delete(t.alive, k)
		case v.account.ID == n.account.ID && v.link == n.link:
			own++
		}
	}
	if own >= most {
		return false
	}
	for k, v := range t.ended {
		switch {
		case !v.until.After(n.made):
			delete(t.ended, k)
		case v.account == n.account.ID && v.link == n.link:
			own++
		}
	}
	return own < 2*most
}
