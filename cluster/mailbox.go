package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"troupe/cluster/link"
	"troupe/engine"
)

const (
	// mailboxBytes bounds the messages of a client that wait at a node for the other one, and those
	// of one piece. A larger message waits, and goes, alone.
	mailboxBytes = 512 << 10
	// mailboxCount bounds their number.
	mailboxCount = 4096
)

var errMailboxFull = errors.New("the other node does not take what it is sent")

// mailbox holds what one side of an attached client has sent, until the other node asks for it.
type mailbox struct {
	mu     sync.Mutex
	all    [][]byte
	bytes  int
	end    *link.ClientMessages // follows the last message
	hurry  bool                 // what finds no room is refused at once
	came   chan struct{}
	room   chan struct{}
	hasted chan struct{}
}

func newMailbox() *mailbox {
	return &mailbox{came: make(chan struct{}, 1), room: make(chan struct{}, 1), hasted: make(chan struct{})}
}

func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// put adds a message, of one goroutine, and waits for room.
func (b *mailbox) put(ctx context.Context, m []byte) error {
	for {
		b.mu.Lock()
		fits := len(b.all) == 0 || b.bytes+len(m) <= mailboxBytes && len(b.all) < mailboxCount
		if fits {
			b.all, b.bytes = append(b.all, m), b.bytes+len(m)
		}
		hurry := b.hurry
		b.mu.Unlock()
		if fits {
			signal(b.came)
			return nil
		}
		if hurry {
			return errMailboxFull
		}
		select {
		case <-b.room:
		case <-b.hasted:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// haste has what waits for room wait no longer.
func (b *mailbox) haste() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.hurry {
		b.hurry = true
		close(b.hasted)
	}
}

// finish lets no message follow.
func (b *mailbox) finish(why engine.AttachEnd, since time.Duration) {
	b.mu.Lock()
	if b.end == nil {
		b.end = &link.ClientMessages{End: string(why), Since: since}
	}
	b.mu.Unlock()
	signal(b.came)
}

// take returns what there is, and waits for it until ctx ends.
func (b *mailbox) take(ctx context.Context) any {
	for {
		b.mu.Lock()
		all, end := b.all, b.end
		b.all, b.bytes = nil, 0
		b.mu.Unlock()
		switch {
		case len(all) > 0:
			signal(b.room)
			m := &link.ClientMessages{}
			for _, one := range all {
				m.Add(one)
			}
			return m
		case end != nil:
			return end
		}
		select {
		case <-b.came:
		case <-ctx.Done():
			return &link.ClientMessages{}
		}
	}
}
