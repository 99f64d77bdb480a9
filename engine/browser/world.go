package browser

import (
	"context"

	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// world is a world in one of the processes of a page.
type world struct {
	s  *session
	id runtime.ExecutionContextID
}

// worldName is how our world is called in the browser's own tools.
const worldName = "troupe"

// enter returns our world in the current document and installs the page script
// where it is not there yet. It refuses documents of sites that the context's do not allow.
func (ps *PageScript) enter(ctx context.Context) (world, error) {
	at, err := ps.enterAny(ctx)
	if err == nil {
		err = ps.admitted(ctx, at)
	}
	return at, err
}

func (ps *PageScript) enterAny(ctx context.Context) (world, error) {
	s := ps.session()
	at, err := ps.made(ctx, s)
	if err != nil || at.s == s {
		return at, err
	}
	frame := ps.frame
	if ps.parent == nil {
		frame = ps.tab.mainFrame()
	}
	var made page.CreateIsolatedWorldResult
	p := page.CreateIsolatedWorldParams{FrameID: frame, WorldName: worldName}
	if err := s.call(ctx, page.CommandCreateIsolatedWorld, p, &made); err != nil {
		return at, ps.lost(err)
	}
	return ps.install(world{s, made.ExecutionContextID}), nil
}

// made is our world in a process where it is there or about to be, a zero one where it
// is not.
func (ps *PageScript) made(ctx context.Context, s *session) (world, error) {
	ps.mu.Lock()
	at, prepared := ps.at, ps.prepared
	ps.mu.Unlock()
	if at.s == s || prepared == nil || prepared.in != s {
		return at, nil
	}
	select {
	case <-prepared.done:
	case <-ctx.Done():
		return at, context.Cause(ctx)
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	return ps.at, nil
}

// preparation is the making of our world ahead of the first question.
type preparation struct {
	in   *session
	done chan struct{} // closed when the world was made or could not be
}

// prepare lets a frame's process make our world while others are asked.
func (ps *PageScript) prepare(s *session) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if ps.at.s == s || ps.prepared != nil && ps.prepared.in == s {
		return
	}
	now := &preparation{s, make(chan struct{})}
	ps.prepared = now
	p := s.send(page.CommandCreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: ps.frame, WorldName: worldName})
	go func() {
		defer close(now.done)
		var made page.CreateIsolatedWorldResult
		if p.wait(context.Background(), &made) == nil { // it ends with the session
			ps.install(world{s, made.ExecutionContextID})
		}
		ps.mu.Lock()
		if ps.prepared == now {
			ps.prepared = nil
		}
		ps.mu.Unlock()
	}()
}

// install puts the page script into our new world.
func (ps *PageScript) install(at world) world {
	// It is not waited for: the next call into the world comes after it. It is sent
	// as it always is, and not as part of the first call: the browser has compiled
	// these very bytes before.
	script := base
	if ps.parent == nil {
		script = entry
	}
	at.run(script)
	ps.mu.Lock()
	ps.at, ps.has, ps.below = at, map[*part]bool{arrival: ps.parent == nil}, nil
	ps.mu.Unlock()
	return at
}

// run sends a part of the page script without waiting for it.
func (w world) run(p *part) {
	w.s.send(runtime.CommandEvaluate, p.runIn(w.id))
}

// give sends a part of the page script to a document that has got those before and not
// it.
func (ps *PageScript) give(at world, p *part) {
	switch p {
	case arrival:
	case common:
		ps.give(at, arrival)
	default:
		ps.give(at, common)
	}
	ps.mu.Lock()
	has := ps.has[p] && ps.at == at
	if ps.at == at {
		ps.has[p] = true
	}
	ps.mu.Unlock()
	if has {
		return
	}
	if p == actions { // with the guard's way to report
		at.s.send(runtime.CommandAddBinding, runtime.AddBindingParams{Name: tellBinding, ExecutionContextName: worldName})
	}
	at.run(p)
}

// forget drops our world: the next call makes it anew.
func (ps *PageScript) forget() {
	ps.mu.Lock()
	ps.at = world{}
	ps.mu.Unlock()
}
