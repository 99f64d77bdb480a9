package engine

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"

	"troupe/engine/attach"
	"troupe/engine/browser"
)

// Client is a program that uses the browser of a session by the browser's own protocol, in the
// place of a list of actions.
type Client interface {
	// Ready says that its messages are read from now on.
	Ready()
	// Read returns its next message. The error says that it has left.
	Read(ctx context.Context) ([]byte, error)
	// Write gives it a message. The error says that it has left, or takes too long.
	Write(b []byte) error
	// Idle is how long it may send no command.
	Idle() time.Duration
	// Over says why the connection has ended, and when its last command came. It is called once Ready
	// was.
	Over(why attach.End, last time.Time)
	// Unused is how long ago that command came; zero before Over.
	Unused() time.Duration
}

// SessionFiles are the files of the session that a client uses.
type SessionFiles interface {
	// Open opens a file that the client has given to the session, by its name or its identifier. Nil
	// without an error: there is none.
	Open(ctx context.Context, name string) (*GivenFile, error)
	// Sent lists a file of a page, which was kept at an address.
	Sent(ctx context.Context, url string) error
}

// GivenFile is a file that a client has given to its session.
type GivenFile struct {
	ID, Name string
	Size     int64
	io.ReadCloser
}

// AttachEnd is why the connection of a client has ended.
type AttachEnd = attach.End

// Ends of connections that go by another node: that one knows of them first.
const (
	AttachLeft = attach.EndLeft
	AttachSlow = attach.EndSlow
)

// MaxAttached is how long one connection of a client may take, where the plan allows so much.
const MaxAttached = time.Hour

// AttachTask is the task that a client plays in a session, without actions.
func AttachTask(session string) *Task {
	source, err := json.Marshal(map[string]any{"session": map[string]any{"id": session}})
	if err != nil {
		panic(err) // a text can always be encoded
	}
	return &Task{
		Timeout: MaxAttached, Async: true, Config: Config{ActionTimeout: DefaultActionTimeout, ContinueOnError: true},
		Session: &Session{ID: session}, source: source,
	}
}

// Shared reports whether other workers use the browser, too: no client may attach to it then.
func (in *instance) Shared() bool { return in.tenant != nil }

// serve lets the task's client use the browser until it leaves, or ctx ends.
func (in *instance) serve(ctx context.Context, r *Run) (stopped bool) {
	fails := func(err error) bool {
		if ctx.Err() == nil {
			r.reports.failed(Failure{Code: CodeBrowserCrashed, Text: "The browser could not be prepared for the client: " + ErrorText(err), Index: -1}, true)
		}
		return true
	}
	r.tabs.Sites.OnRefused(nil) // a page stays where it was, and the connection goes on
	if _, err := r.tabs.Tab(ctx); err != nil {
		return fails(err)
	}
	client := r.env.Client
	conn := attach.New()
	guest, err := r.tabs.NewGuest(ctx, func(m browser.GuestMessage) { conn.Hear(attach.Event(m)) })
	if err != nil {
		return fails(err)
	}
	at := &attachedBrowser{Guest: guest, ctx: ctx, run: r}
	r.effects.kept = at.downloaded
	keeping, stop := context.WithCancel(ctx)
	var work sync.WaitGroup
	work.Go(func() { at.keepDownloads(keeping) })
	client.Ready()
	why, last := conn.Serve(ctx, client, at, client.Idle(), in.Gone())
	stop()
	work.Wait()
	if err := guest.Close(context.WithoutCancel(ctx)); err != nil && !errors.Is(err, browser.ErrGone) {
		in.engine.Log.Warn().Err(err).Str("task", r.env.TaskID).Msg("what a client has left in a session was not put right")
		go in.Close() // a session goes on in another browser
	}
	client.Over(why, last)
	return false
}
