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
// where it is not there yet.
func (ps *PageScript) enter(ctx context.Context) (world, error) {
	s := ps.session()
	ps.mu.Lock()
	at := ps.at
	ps.mu.Unlock()
	if at.s == s {
		return at, nil
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
	at = world{s, made.ExecutionContextID}
	// It is not waited for: the next call into the world comes after it. It is sent
	// as it always is, and not as part of the first call: the browser has compiled
	// these very bytes before.
	script := ground
	if ps.parent == nil {
		script = whole
	}
	at.install(script)
	ps.mu.Lock()
	ps.at, ps.has, ps.below = at, map[*part]bool{common: ps.parent == nil}, nil
	ps.mu.Unlock()
	return at, nil
}

// install sends a part of the page script without waiting for it.
func (w world) install(part string) {
	w.s.send(runtime.CommandEvaluate, runtime.EvaluateParams{Expression: part, ContextID: w.id})
}

// give sends a part of the page script to a document that has got those before and not
// it.
func (ps *PageScript) give(at world, p *part) {
	if p != common {
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
	if p == hands { // with the guard's way to report
		at.s.send(runtime.CommandAddBinding, runtime.AddBindingParams{Name: tellBinding, ExecutionContextName: worldName})
	}
	at.install(p.script)
}

// forget drops our world: the next call makes it anew.
func (ps *PageScript) forget() {
	ps.mu.Lock()
	ps.at = world{}
	ps.mu.Unlock()
}
