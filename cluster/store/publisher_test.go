package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// leader takes changes as the engine does, and answers when a test says so.
type leader struct {
	mu   sync.Mutex
	got  []*future
	fail error // of the next change
	// takes is how long each change takes; zero: the test answers.
	takes func() time.Duration
}

type future struct {
	jetstream.PubAckFuture
	m   *nats.Msg
	at  time.Time
	ok  chan *jetstream.PubAck
	err chan error
}

func (f *future) Ok() <-chan *jetstream.PubAck { return f.ok }
func (f *future) Err() <-chan error            { return f.err }

func (l *leader) PublishMsgAsync(m *nats.Msg, _ ...jetstream.PublishOpt) (jetstream.PubAckFuture, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.fail; err != nil {
		l.fail = nil
		return nil, err
	}
	f := &future{m: m, at: time.Now(), ok: make(chan *jetstream.PubAck, 1), err: make(chan error, 1)}
	l.got = append(l.got, f)
	if l.takes != nil {
		n := uint64(len(l.got))
		time.AfterFunc(l.takes(), func() { f.ok <- &jetstream.PubAck{Sequence: n} })
	}
	return f, nil
}

func (l *leader) subjects() (all []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.got {
		all = append(all, f.m.Subject)
	}
	return all
}

func (l *leader) answer(i int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.got[i].ok <- &jetstream.PubAck{Sequence: uint64(i + 1)}
}

// clients publish side by side, one after the other.
type clients struct {
	p   *publisher
	all sync.WaitGroup
	mu  sync.Mutex
	was map[string]string // what became of each change
}

func (c *clients) publish(ctx context.Context, subject string) {
	c.all.Go(func() {
		ack, err := c.p.publish(ctx, nats.NewMsg(subject))
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.was[subject] = fmt.Sprint(err); err == nil {
			c.was[subject] = fmt.Sprint(ack.Sequence)
		}
	})
	synctest.Wait()
}

func (c *clients) want(t *testing.T, subject, became string) {
	t.Helper()
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if got := c.was[subject]; got != became {
		t.Errorf("%s became %q, want %q", subject, got, became)
	}
}

// Changes that come while others are on their way go together, in their order.
func TestChangesGoTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leader{}
		c := &clients{p: &publisher{js: l}, was: map[string]string{}}
		for _, subject := range []string{"a", "b", "c", "d", "e"} {
			c.publish(t.Context(), subject)
		}
		if got := l.subjects(); !slices.Equal(got, []string{"a", "b"}) {
			t.Errorf("%v are on their way, want the first two", got)
		}
		l.answer(1)
		c.want(t, "b", "2")
		if got := l.subjects(); !slices.Equal(got, []string{"a", "b", "c", "d", "e"}) {
			t.Errorf("%v have gone, want all", got)
		}
		c.publish(t.Context(), "f")
		for i := 2; i < 5; i++ {
			if got := l.subjects(); len(got) != 5 {
				t.Errorf("%v have gone before their group's answers", got)
			}
			l.answer(i)
			synctest.Wait()
		}
		l.answer(5)
		l.answer(0)
		c.want(t, "f", "6")
		c.all.Wait()
		if len(c.p.open) > 0 || len(c.p.waiting) > 0 {
			t.Errorf("%d groups and %d changes are left", len(c.p.open), len(c.p.waiting))
		}
	})
}

// Who gives up, and who cannot send, keeps nobody waiting.
func TestChangesWithoutAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leader{}
		c := &clients{p: &publisher{js: l}, was: map[string]string{}}
		ctx, giveUp := context.WithCancelCause(t.Context())
		c.publish(ctx, "a")
		c.publish(t.Context(), "b")
		c.publish(t.Context(), "c")
		giveUp(errors.New("enough"))
		c.want(t, "a", "enough")
		if got := l.subjects(); !slices.Equal(got, []string{"a", "b", "c"}) {
			t.Errorf("%v have gone, want c as well", got)
		}
		c.publish(t.Context(), "d")
		l.fail = errors.New("no connection")
		l.answer(2)
		c.want(t, "d", "no connection")
		c.publish(t.Context(), "e")

		// Neither b nor e gets an answer: the next one waits, but not for long.
		began := time.Now()
		c.publish(t.Context(), "f")
		time.Sleep(lateAfter + time.Millisecond)
		synctest.Wait()
		if got := l.subjects(); got[len(got)-1] != "f" || l.got[len(got)-1].at.Sub(began) != lateAfter {
			t.Errorf("%v have gone; f waits for answers that do not come", got)
		}
		l.answer(4)
		c.want(t, "f", "5")
		l.answer(1)
		l.answer(3)
		c.all.Wait()
		c.publish(t.Context(), "g")
		l.answer(5)
		c.want(t, "g", "6")
		if len(c.p.open) > 0 {
			t.Errorf("%d groups are left", len(c.p.open))
		}
	})
}

// Whatever the leader does, each change goes once, gets its own answer, and nothing is left.
func TestChangesAtRandom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := rand.New(rand.NewPCG(1, 2))
		l := &leader{takes: func() time.Duration { return time.Duration(r.Int64N(int64(3 * lateAfter))) }}
		p := &publisher{js: l}
		const each = 50
		var all sync.WaitGroup
		for n := range 20 {
			wait := rand.New(rand.NewPCG(3, uint64(n)))
			all.Go(func() {
				for i := range each {
					subject := fmt.Sprintf("%d.%d", n, i)
					ack, err := p.publish(t.Context(), nats.NewMsg(subject))
					if err != nil {
						t.Error(err)
					} else if got := l.subjects()[ack.Sequence-1]; got != subject {
						t.Errorf("%s got the answer of %s", subject, got)
					}
					time.Sleep(time.Duration(wait.Int64N(int64(lateAfter))))
				}
			})
		}
		all.Wait()
		if got := l.subjects(); len(got) != 20*each {
			t.Errorf("%d changes have gone, want %d", len(got), 20*each)
		}
		if len(p.open) > 0 || len(p.waiting) > 0 {
			t.Errorf("%d groups and %d changes are left", len(p.open), len(p.waiting))
		}
	})
}

// What has been given up before its turn does not go; what is large waits for nobody, and
// nobody for it.
func TestChangesThatGoAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &leader{}
		c := &clients{p: &publisher{js: l}, was: map[string]string{}}
		for _, subject := range []string{"a", "b"} {
			c.publish(t.Context(), subject)
		}
		ctx, giveUp := context.WithCancelCause(t.Context())
		c.publish(ctx, "given up")
		c.publish(t.Context(), "c")
		giveUp(errors.New("enough"))
		c.want(t, "given up", "enough")

		large := nats.NewMsg("large")
		large.Data = make([]byte, maxGrouped+1)
		c.all.Go(func() { c.p.publish(t.Context(), large) })
		synctest.Wait()
		if got := l.subjects(); !slices.Equal(got, []string{"a", "b", "large"}) {
			t.Errorf("%v have gone, want the large one as well", got)
		}
		l.answer(0)
		synctest.Wait()
		if got := l.subjects(); !slices.Equal(got, []string{"a", "b", "large", "c"}) {
			t.Errorf("%v have gone, want c without a word from the large one", got)
		}
		for i := 1; i < 4; i++ {
			l.answer(i)
		}
		c.all.Wait()
		c.publish(ctx, "too late")
		c.want(t, "too late", "enough")
		if got := l.subjects(); len(got) != 4 {
			t.Errorf("%v have gone, want no more", got)
		}
		if len(c.p.open) > 0 || len(c.p.waiting) > 0 {
			t.Errorf("%d groups and %d changes are left", len(c.p.open), len(c.p.waiting))
		}
	})
}
