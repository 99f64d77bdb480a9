package browser

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/cdproto/target"
	"github.com/rs/zerolog"
)

// Browser is one Chromium process. It lives until Close or until it dies.
type Browser struct {
	log  zerolog.Logger
	proc *process
	conn *conn
	root *session // the browser itself
	dir  string

	mu       sync.Mutex
	contexts map[string]*Context // by the browser's name for them
	byID     map[target.SessionID]*Tab
	keeper   *session // the blank tab that the process starts with
	unowned  map[string]browser.EventDownloadWillBegin
	watchers int    // contexts whose workers are reported
	guest    *Guest // nil: nobody else speaks to it

	keeperUp  chan struct{}
	gone      chan struct{}
	closing   sync.Once
	clipboard chan struct{} // holds one: a paste takes it out
}

// Launch starts a browser and returns when it answers. ctx bounds the start
// only.
func Launch(ctx context.Context, o Options) (*Browser, error) {
	b, err := launch(ctx, o, helped.Load())
	if err != nil && !helped.Load() {
		return launchHelped(ctx, o, err)
	}
	return b, err
}

// launch starts a browser, which may gain privileges only if it says so.
func launch(ctx context.Context, o Options, privileged bool) (*Browser, error) {
	proc, from, to, err := start(o, privileged)
	if err != nil {
		return nil, err
	}
	b := &Browser{
		log: o.Log, proc: proc, conn: newConn(newWire(quiet(from), quiet(to))), dir: proc.dir,
		contexts: map[string]*Context{}, byID: map[target.SessionID]*Tab{},
		keeperUp: make(chan struct{}), gone: make(chan struct{}), clipboard: make(chan struct{}, 1),
	}
	b.clipboard <- struct{}{}
	b.root = b.conn.open("", b.event)
	go b.awaitDeath()
	if err := b.prepare(ctx); err != nil {
		err = startError(ctx, proc, err)
		b.Close()
		return nil, err
	}
	return b, nil
}

// prepare attaches to every page as it is made, before its first script runs,
// so that a popup cannot show a dialog that nobody answers.
func (b *Browser) prepare(ctx context.Context) error {
	b.mu.Lock()
	attach := b.reportTargets()
	b.mu.Unlock()
	if err := attach.wait(ctx, nil); err != nil {
		return err
	}
	select {
	case <-b.keeperUp:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("waiting for the first tab: %w", context.Cause(ctx))
	case <-b.conn.gone:
		return ErrGone
	}
}

// Gone is closed when the browser has died or was closed.
func (b *Browser) Gone() <-chan struct{} { return b.gone }

// PID is the number of the browser's main process, which leads its group.
func (b *Browser) PID() int { return b.proc.cmd.Process.Pid }

// Ping returns when the browser's main process answers.
func (b *Browser) Ping(ctx context.Context) error {
	return b.root.call(ctx, browser.CommandGetVersion, nil, nil)
}

// Memory returns how many bytes the browser uses with all its processes, shared
// memory divided among them. It is zero if the system does not say.
func (b *Browser) Memory() int64 { return groupMemory(b.PID()) }

// Dir is the browser's own folder.
func (b *Browser) Dir() string { return b.dir }

// Sent is how many commands the browser was given so far.
func (b *Browser) Sent() int64 {
	b.conn.mu.Lock()
	defer b.conn.mu.Unlock()
	return b.conn.next
}

// Output returns the end of the browser's output, which says why it died.
func (b *Browser) Output() string { return b.proc.stderr.String() }

// Close ends the browser with all its processes and removes its folder. It is
// safe to call more than once, and returns when nothing is left.
func (b *Browser) Close() {
	b.closing.Do(func() {
		b.conn.close()
		b.proc.kill()
	})
	<-b.gone
}

// awaitDeath sees the browser's death from both sides: the process and the pipe.
func (b *Browser) awaitDeath() {
	select {
	case <-b.proc.exited:
	case <-b.conn.gone:
	}
	b.conn.close()
	b.proc.kill()
	b.mu.Lock()
	for _, c := range b.contexts {
		c.mu.Lock()
		c.end(ErrGone)
		c.mu.Unlock()
	}
	b.mu.Unlock()
	close(b.gone)
}

// event handles the browser's own events, on the reader's goroutine.
func (b *Browser) event(method string, params jsonv2.Value) {
	switch method {
	case "Target.attachedToTarget":
		var e target.EventAttachedToTarget
		if decode(params, &e) {
			b.attached(e)
		}
	case "Target.detachedFromTarget":
		var e target.EventDetachedFromTarget
		if decode(params, &e) {
			b.detached(e.SessionID)
		}
	case "Target.targetCreated":
		var e target.EventTargetCreated
		if decode(params, &e) {
			b.targetCreated(&e)
		}
	case "Browser.downloadWillBegin":
		var e browser.EventDownloadWillBegin
		if decode(params, &e) {
			b.downloadBegins(e)
		}
	case "Browser.downloadProgress":
		var e browser.EventDownloadProgress
		if decode(params, &e) {
			b.downloadMoves(e)
		}
	}
}

// attached takes in a new page: the keeper, a tab we asked for, or a popup.
func (b *Browser) attached(e target.EventAttachedToTarget) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e.TargetInfo.Type == "browser" { // the session of a guest
		return
	}
	c := b.contexts[string(e.TargetInfo.BrowserContextID)]
	if b.guest != nil && c == nil && b.guest.hosts(e.TargetInfo.BrowserContextID) {
		b.guest.visited(&e)
		return
	}
	if e.TargetInfo.Type != "page" {
		if c == nil || !c.joins(&e, nil) {
			b.letGo(b.root, &e)
		}
		return
	}
	if c == nil {
		s := b.conn.open(e.SessionID, nil)
		s.send(runtime.CommandRunIfWaitingForDebugger, nil)
		if b.keeper == nil {
			b.keeper = s
			close(b.keeperUp)
			return
		}
		b.closeTab(e.TargetInfo.TargetID)
		return
	}
	if t := c.besides(e.TargetInfo.TargetID); t != nil {
		t.bodies.opened(e.SessionID)
		return
	}
	t := newTab(c, e.TargetInfo.TargetID)
	t.opener = e.TargetInfo.OpenerID
	t.byPage = c.fromPage(t.opener)
	t.Navigation.popup, t.Navigation.opened = t.byPage, time.Now()
	t.s = b.conn.open(e.SessionID, t.event)
	b.byID[e.SessionID] = t
	t.setUp()
	c.took(t)
}

// closeTab asks for the end of a tab.
func (b *Browser) closeTab(id target.ID) *pending {
	return b.root.send(target.CommandCloseTarget, target.CloseTargetParams{TargetID: id})
}

func (b *Browser) detached(id target.SessionID) {
	b.mu.Lock()
	t := b.byID[id]
	delete(b.byID, id)
	if b.guest != nil {
		b.guest.leaves(id)
	}
	b.mu.Unlock()
	if t != nil {
		close(t.closed)
		t.remote.end()
		t.context.lost(t) // before its callers return: they go on in the tab that is current then
		if t.context.Surrounded() != nil {
			go t.context.rezone(context.Background()) // it ends with the sessions
		}
	}
	b.conn.drop(id)
}

// CopyBlank overwrites the clipboard, the only thing that outlives a context.
// It must return true. Nothing is selected for it: that would have the page laid out,
// which takes longer than all else.
const CopyBlank = `(()=>{let put=false;const blank=e=>{e.preventDefault();e.clipboardData.setData('text/plain','');put=true};` +
	`document.addEventListener('copy',blank);const ok=document.execCommand('copy');document.removeEventListener('copy',blank);return ok&&put})()`

// ErrUnclean is the error of a reset that could not be carried out.
var ErrUnclean = errors.New("the browser could not be cleaned")

// WipeClipboard overwrites the clipboard from the keeper tab. A busy browser may
// not yet have given the keeper the focus that the context before had.
func (b *Browser) WipeClipboard(ctx context.Context) error { return b.wiped(ctx, b.wipe()) }

// wipe begins to overwrite the clipboard, which [Browser.wiped] ends.
func (b *Browser) wipe() *pending {
	yes := true
	return b.keeper.send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: CopyBlank, UserGesture: &yes, ReturnByValue: &yes})
}

func (b *Browser) wiped(ctx context.Context, wiping *pending) error {
	for tries := 1; ; tries++ {
		var res struct {
			Result struct {
				Value bool `json:"value"`
			} `json:"result"`
		}
		if err := wiping.wait(ctx, &res); err != nil || res.Result.Value {
			return err
		}
		if tries == 20 {
			return fmt.Errorf("overwriting the clipboard: %w", ErrUnclean)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(20 * time.Millisecond):
		}
		wiping = b.wipe()
	}
}

// Signal sends a signal to the browser's process group, for fault tests.
func (b *Browser) Signal(sig syscall.Signal) error { return syscall.Kill(-b.PID(), sig) }

// closeTimeout bounds the polite end of a tab or context.
const closeTimeout = 2 * time.Second

// decode reads an event. One that cannot be read is passed over: a newer
// browser may send what this protocol's types do not know.
func decode(params jsonv2.Value, v any) bool {
	return jsonv2.Unmarshal(params, v, decodeOptions) == nil
}
