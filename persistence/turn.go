package persistence

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync"
	"time"

	"troupe/persistence/owned"
)

// turnPrefix is followed by what somebody changes who has looked first, see [InTurn].
const turnPrefix = "turn/"

var _ = owned.Register(owned.Kind{Prefix: turnPrefix, By: owned.Nobody, Apart: "they go within seconds"})

const (
	// turnTime is how long a turn may take. One whose process is gone is over then.
	turnTime = 10 * time.Second
	// turnLeaves is for the record of a turn to be written before its time is over.
	turnLeaves = 2 * time.Second
	// turnLooks is how often it is looked whether the turn of another process is over.
	turnLooks = 20 * time.Millisecond
)

// turns are those of this process: only one of its goroutines asks the store at a time.
var turns = struct {
	mu  sync.Mutex
	all map[string]*turn
}{all: map[string]*turn{}}

type turn struct {
	mu    sync.Mutex
	users int
}

// InTurn calls f while nothing else does, in no process of the store, for the same name.
// So f can look how many things there are, and write one more: nobody else counts in
// between. What f does ends with its context, in which it has less time than its turn.
func InTurn(ctx context.Context, store Store, name string, f func(context.Context) error) error {
	defer ownTurn(name)()
	key, owner := turnPrefix+name, []byte(rand.Text())
	var held uint64
	for waits := time.Now().Add(turnTime + turnLeaves); ; {
		var err error
		held, err = PutOwn(ctx, store, Write{Key: key, Value: owner, Expires: time.Now().Add(turnTime), If: new(uint64)})
		if err == nil {
			break
		}
		if !errors.Is(err, ErrConflict) || time.Now().After(waits) {
			return fmt.Errorf("wait for the turn of %s: %w", name, err)
		}
		select {
		case <-time.After(turnLooks):
		case <-ctx.Done():
			return fmt.Errorf("wait for the turn of %s: %w", name, context.Cause(ctx))
		}
	}
	bound, cancel := context.WithTimeout(ctx, turnTime-turnLeaves)
	defer cancel()
	defer func() { // also where the client is gone
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), turnLeaves)
		defer cancel()
		_ = store.Delete(end, key, &held, false) // else it expires
	}()
	return f(bound)
}

// ownTurn waits for the turn in this process, and returns what ends it.
func ownTurn(name string) (end func()) {
	turns.mu.Lock()
	t := turns.all[name]
	if t == nil {
		t = &turn{}
		turns.all[name] = t
	}
	t.users++
	turns.mu.Unlock()
	t.mu.Lock()
	return func() {
		t.mu.Unlock()
		turns.mu.Lock()
		defer turns.mu.Unlock()
		if t.users--; t.users == 0 {
			delete(turns.all, name)
		}
	}
}
