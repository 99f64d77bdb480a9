package attach

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Client is the other side: it gives commands and takes answers and events.
type Client interface {
	// Read returns the next message. Its error says that the client has left.
	Read(ctx context.Context) ([]byte, error)
	// Write gives the client a message. Its error says that it has left, or takes too long.
	Write(b []byte) error
}

// Browser is one context of a browser, as a client beside the service may use it. What it hears
// and what it answers comes in one order, from a goroutine that must not be blocked.
type Browser interface {
	Context() string
	Root() string
	DownloadPath() string
	Bounded() bool
	MayShow(address string) bool
	// File puts a file that the session was given where pages can read it, and returns its path. One
	// that there is not is [ErrNoFile].
	File(name string) (path string, err error)
	// Kept calls then once a download that is complete can be fetched from the service.
	Kept(download string, then func())
	Send(session, method string, params []byte, answered func(Answer))
	Open(session string)
	Drop(session string)
	LetGo(parent, session string)
	Adopt(context string, made bool)
	Hold(bool)
	Resume(target string)
}

// Event is what the browser tells a session.
type Event struct {
	Session string // empty: the root
	Method  string
	Params  []byte // with long texts cut
	Whole   []byte // the message as it came; nil: it is too large
}

// Answer is the answer to a command.
type Answer struct {
	Lost  bool
	Whole []byte // the message as it came; nil: it is too large
}

// Bounds of a connection.
const (
	MaxMessage  = 32 << 20        // bytes of a command
	MaxWaiting  = 1000            // commands that wait for their answers
	MaxRate     = 5000            // commands a second: more are read later
	MaxUnread   = 96 << 20        // bytes that the client has not taken
	CommandTime = 5 * time.Minute // for an answer

	maxContexts = 10
	maxTargets  = 10_000
	maxSessions = 1000
	askTime     = 5 * time.Second
	leaveTime   = time.Second
	looks       = time.Second // how often what has no answer is looked for
)

// End is why a connection has ended.
type End string

// Ends of a connection.
const (
	EndLeft    End = "left"    // the client has left
	EndClosed  End = "closed"  // it has sent Browser.close
	EndIdle    End = "idle"    // it has sent no command for too long
	EndSlow    End = "slow"    // it does not take what it is sent
	EndBrowser End = "browser" // the browser has gone
	EndOver    End = "over"    // somebody wants its end, or its time is over: the context says
)

// session is one addressee of commands.
type session struct {
	root   bool   // it is the browser itself
	target string // empty: the browser
	held   heldInput
}

// waiting is a command without an answer.
type waiting struct {
	id      int64
	session string
	method  string
	since   time.Time
}

type relay struct {
	browser Browser
	client  Client
	closes  atomic.Bool  // after the answer that comes next
	last    atomic.Int64 // when a command came, in nanoseconds

	mu       sync.Mutex
	sessions map[string]*session
	targets  map[string]bool // that are known to be the client's
	made     map[string]bool // contexts of its own
	waiting  map[uint64]waiting
	sent     uint64
	out      [][]byte
	unread   int
	over     bool
	wake     chan struct{}
	end      context.CancelCauseFunc
}

// Conn is the connection of a client that is to begin. Its Hear takes the events of the browser.
type Conn struct{ r *relay }

// New makes a connection.
func New() *Conn {
	r := &relay{
		sessions: map[string]*session{"": {root: true}}, targets: map[string]bool{}, made: map[string]bool{},
		waiting: map[uint64]waiting{}, wake: make(chan struct{}, 1), end: func(error) {},
	}
	return &Conn{r}
}

// ending is an [End] as an error.
type ending End

func (e ending) Error() string { return string(e) }

// Serve carries messages until the client leaves or ctx ends, and returns why, and when the last
// command came. idle bounds the time without commands; zero: nothing does. gone is closed when the
// browser has gone.
func (c *Conn) Serve(ctx context.Context, client Client, browser Browser, idle time.Duration, gone <-chan struct{}) (End, time.Time) {
	r := c.r
	parent := ctx
	ctx, end := context.WithCancelCause(ctx)
	r.mu.Lock()
	r.browser, r.client, r.end = browser, client, end
	r.mu.Unlock()
	r.last.Store(time.Now().UnixNano())
	var work sync.WaitGroup
	work.Go(func() { end(r.read(ctx)) })
	work.Go(func() { end(r.write(ctx)) })
	look := time.NewTicker(looks)
	defer look.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-gone:
			end(ending(EndBrowser))
		case <-look.C:
			r.expire(time.Now())
			if idle > 0 && time.Since(time.Unix(0, r.last.Load())) > idle {
				end(ending(EndIdle))
			}
		}
	}
	work.Wait()
	r.letGo()
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	last := time.Unix(0, r.last.Load())
	var why ending
	if parent.Err() == nil && errors.As(context.Cause(ctx), &why) {
		return End(why), last
	}
	return EndOver, last
}

// read takes commands.
func (r *relay) read(ctx context.Context) error {
	var since time.Time
	n := 0
	for {
		b, err := r.client.Read(ctx)
		if err != nil {
			return ending(EndLeft)
		}
		now := time.Now()
		r.last.Store(now.UnixNano())
		if now.Sub(since) > time.Second {
			since, n = now, 0
		}
		if n++; n > MaxRate {
			pause := time.NewTimer(time.Second - now.Sub(since))
			select {
			case <-pause.C:
			case <-ctx.Done():
				pause.Stop()
				return ctx.Err()
			}
		}
		r.take(b)
		if r.closes.Load() {
			r.flush(ctx)
			return ending(EndClosed)
		}
	}
}

// take carries out a command, or refuses it.
func (r *relay) take(b []byte) {
	c, err := parse(b)
	if err != nil {
		if c == nil {
			c = new(command)
		}
		r.fails(c.ID, c.Session, codeMessage, err.Error())
		return
	}
	r.mu.Lock()
	c.session = r.sessions[c.Session]
	many := len(r.waiting) >= MaxWaiting
	r.mu.Unlock()
	switch {
	case c.session == nil:
		r.fails(c.ID, "", codeSession, "Session with given id not found.") // as the browser says it
		return
	case many:
		r.fails(c.ID, c.Session, codeRefused, fmt.Sprintf("%d commands wait for their answers: wait for some before you send more", MaxWaiting))
		return
	}
	rule := index[c.Method]
	if rule == nil || rule.where == atRoot && !c.session.root || rule.where == inPage && c.session.root {
		f := reason(c.Method, rule)
		r.fails(c.ID, c.Session, codeRefused, fmt.Sprintf("%s is refused in an attached session: %s. Instead: %s", short(c.Method), f.why, f.instead))
		return
	}
	err = c.allows(rule.only)
	if err == nil && rule.check != nil {
		err = rule.check(r, c)
	}
	var params []byte
	if err == nil {
		params, err = c.encoded()
	}
	switch {
	case err != nil:
		r.fails(c.ID, c.Session, codeRefused, fmt.Sprintf("%s is refused in an attached session: %s", c.Method, err))
	case c.result != nil:
		r.answers(c.ID, c.Session, c.result)
	default:
		r.send(c, rule, params)
	}
}

// send passes a command on. Its number is one of ours: sessions of a client share numbers.
func (r *relay) send(c *command, rule *rule, params []byte) {
	r.mu.Lock()
	r.sent++
	n := r.sent
	r.waiting[n] = waiting{c.ID, c.Session, c.Method, time.Now()}
	r.mu.Unlock()
	r.browser.Send(c.Session, c.Method, params, func(a Answer) {
		r.mu.Lock()
		w, there := r.waiting[n]
		delete(r.waiting, n)
		r.mu.Unlock()
		if there { // else it came too late
			r.answered(w, rule, a)
		}
	})
}

// answered passes an answer on, on the goroutine of the browser.
func (r *relay) answered(w waiting, rule *rule, a Answer) {
	switch {
	case a.Lost:
		r.fails(w.id, w.session, codeSession, "Session closed: its page or the browser has gone while "+w.method+" ran.")
		return
	case a.Whole == nil:
		r.fails(w.id, w.session, codeRefused, "the answer is larger than 64 MiB: ask for a part of it")
		return
	}
	if rule.answer != nil {
		var got struct {
			Result jsontext.Value `json:"result"`
		}
		if json.Unmarshal(a.Whole, &got, lenient) == nil && got.Result != nil {
			if other, changed := rule.answer(r, got.Result); changed {
				r.answers(w.id, w.session, other)
				return
			}
		}
	}
	r.put(r.addressed(a.Whole, w.session, w.id))
}

// expire fails commands that have waited for too long.
func (r *relay) expire(now time.Time) {
	r.mu.Lock()
	var late []waiting
	for n, w := range r.waiting {
		if now.Sub(w.since) > CommandTime {
			late = append(late, w)
			delete(r.waiting, n)
		}
	}
	r.mu.Unlock()
	for _, w := range late {
		r.fails(w.id, w.session, codeRefused, fmt.Sprintf("%s has no answer after %d minutes: the page does not answer, or the command waits for something", w.method, int(CommandTime.Minutes())))
	}
}

// ask asks the browser something for ourselves.
func (r *relay) ask(method string, params, result any) error {
	b, err := json.Marshal(params)
	if err != nil {
		return fmt.Errorf("encode %s: %w", method, err)
	}
	got := make(chan Answer, 1)
	r.browser.Send("", method, b, func(a Answer) { got <- a })
	wait := time.NewTimer(askTime)
	defer wait.Stop()
	select {
	case a := <-got:
		var m struct {
			Result jsontext.Value `json:"result"`
		}
		if err := json.Unmarshal(a.Whole, &m, lenient); err != nil || m.Result == nil {
			return fmt.Errorf("ask %s: there is no result", method)
		}
		return json.Unmarshal(m.Result, result, lenient)
	case <-wait.C:
		return fmt.Errorf("ask %s: %w", method, context.DeadlineExceeded)
	}
}

func (r *relay) mayContext(id string) bool {
	if id == "" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return id == r.browser.Context() || r.made[id]
}

func (r *relay) adopt(id string, made bool) {
	r.mu.Lock()
	if made {
		r.made[id] = true
	} else {
		delete(r.made, id)
	}
	r.mu.Unlock()
	r.browser.Adopt(id, made)
}
