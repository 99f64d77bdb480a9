package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"troupe/cluster/member"
	"troupe/persistence"
)

// sayAgain is how often a node that waits for others says so.
const sayAgain = 15 * time.Second

// openStream makes a stream on all nodes, however many of them do so at once.
func openStream(ctx context.Context, m *member.Member, js jetstream.JetStream, cfg jetstream.StreamConfig) (jetstream.Stream, error) {
	log := m.Log()
	said, last := time.Time{}, ""
	for {
		try, cancel := context.WithTimeout(ctx, tryTimeout)
		stream, err := js.CreateOrUpdateStream(try, cfg)
		cancel()
		if err == nil {
			return stream, nil
		}
		why := waitsFor(m)
		if ctx.Err() != nil {
			return nil, errors.Join(persistence.ErrNoQuorum, errors.New(why), err, context.Cause(ctx))
		}
		if why != last || time.Since(said) >= sayAgain {
			said, last = time.Now(), why
			log.Warn().Strs("connected", m.Peers()).Msg(why)
		}
		pause(ctx, retryPause)
	}
}

// waitsFor says what a start waits for. The engine counts the vote of a node without a
// log only when all nodes have voted: one that was emptied must not make the others
// forget. So the first start of a cluster needs all of them.
func waitsFor(m *member.Member) string {
	there, all := len(m.Peers())+1, m.Members()
	seen := fmt.Sprintf("the start waits for other nodes: of %d there are %d, and ", all, there)
	switch {
	case m.Empty() && there < all:
		return seen + fmt.Sprintf("the first start of a cluster needs all %d, each later one %d", all, all/2+1)
	case !m.Majority():
		return seen + fmt.Sprintf("it needs %d", all/2+1)
	}
	return seen + "they have to agree on a leader"
}
