package browser

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
)

// A click may send a frame elsewhere. What is asked for in it then is meant for the
// document that comes, as it is in the main frame.

// awaitWay returns when none of the frames on the ways from a document is about to show
// another one.
func (ps *PageScript) awaitWay(ctx context.Context, ways [][]Part) error {
	for _, way := range ways {
		for range MostSteps {
			if len(way) == 0 {
				break
			}
			waited, err := ps.awaitFrames(ctx, way)
			if err != nil {
				return err
			}
			if !waited {
				break
			}
		}
	}
	return nil
}

// FramesMove reports whether a frame on the ways from the page is about to show another
// document, or loads one, and waits for that: who has looked there has to look again.
func (t *Tab) FramesMove(ctx context.Context, ways [][]Part) (waited bool) {
	for _, way := range ways {
		if len(way) > 0 {
			w, err := t.Script.awaitFrames(ctx, way)
			waited = waited || w && err == nil
		}
	}
	return waited
}

// MostSteps bounds how often a frame may go on before it is asked: some never rest.
const MostSteps = 6

// awaitFrames waits for those of the frames on a way that are about to show another
// document, and reports whether there are any.
func (ps *PageScript) awaitFrames(ctx context.Context, way []Part) (waited bool, err error) {
	leaving := ps.tab.remote.restless()
	if len(leaving) == 0 {
		return false, nil
	}
	r, err := ps.Call(ctx, "along", map[string]any{"way": way})
	if err != nil {
		return false, err
	}
	var numbers []int
	if err := json.Unmarshal(r.Value, &numbers); err != nil {
		return false, fmt.Errorf("reading which frames lie on a way: %w", err)
	}
	for _, number := range numbers {
		id, err := ps.frameNumbered(ctx, number)
		if errors.Is(err, ErrFrameLost) { // it was replaced meanwhile
			continue
		}
		if err != nil {
			return waited, err
		}
		if m := leaving[id]; m != nil {
			if err := ps.awaitDeparture(ctx, id, m); err != nil {
				return waited, err
			}
			m.awaitRest(ctx)
			waited = true
		}
	}
	return waited, nil
}

// awaitDeparture waits for one frame. Of one in a process that nobody has asked for anything
// yet the browser has not told when it began: its document tells how old it is.
func (ps *PageScript) awaitDeparture(ctx context.Context, id cdp.FrameID, m *moves) error {
	if err := ps.tab.remote.attach(ctx); err != nil {
		return err
	}
	since := m.awaitOther(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if since.IsZero() || ps.tab.remote.of(id) == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	for frame := ps.tab.remote.script(id, ps); ; {
		var began float64
		err := frame.evaluate(ctx, "String(performance.timeOrigin)", &began)
		if err != nil || time.UnixMilli(int64(began)).After(since.Add(-toldLate)) || pause(ctx, lookAgain) != nil {
			return nil
		}
	}
}

// toldLate is how long the browser may take to tell that a frame was asked to leave.
const toldLate = 250 * time.Millisecond

// AwaitFrames waits a little for the frames of the page that have shown a document and
// are about to show another one, for who reads the page with all its frames.
func (t *Tab) AwaitFrames(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	for _, m := range t.remote.restless() {
		if m.hasRested() {
			m.awaitOther(ctx)
			m.awaitRest(ctx)
		}
	}
}

// movesOf is how a frame moves that is not the main one. The lock is held.
func (rf *remoteFrames) movesOf(id cdp.FrameID) *moves {
	m := rf.moving[id]
	if m == nil {
		if rf.moving == nil {
			rf.moving = map[cdp.FrameID]*moves{}
		}
		m = new(moves)
		m.prepare()
		rf.moving[id] = m
	}
	return m
}

// forget forgets the frames of a document that was left.
func (rf *remoteFrames) forget() {
	rf.mu.Lock()
	left := rf.moving
	rf.scripts, rf.moving = nil, nil
	rf.mu.Unlock()
	for _, m := range left {
		m.shows() // nobody waits for it any more
	}
}

// removed forgets a frame that was taken out of its document.
func (rf *remoteFrames) removed(id cdp.FrameID) {
	rf.mu.Lock()
	m := rf.moving[id]
	if rf.scripts[id] == nil {
		delete(rf.moving, id)
	}
	rf.mu.Unlock()
	if m != nil {
		m.shows()
	}
}

// movesOf is how a frame moves.
func (t *Tab) movesOf(id cdp.FrameID) *moves {
	if id == t.mainFrame() {
		return &t.Navigation.moves
	}
	t.remote.mu.Lock()
	defer t.remote.mu.Unlock()
	return t.remote.movesOf(id)
}

// restless are the frames below the main one that are about to show another document, or
// may be as soon as the one that has come is loaded.
func (rf *remoteFrames) restless() map[cdp.FrameID]*moves {
	rf.mu.Lock()
	defer rf.mu.Unlock()
	var all map[cdp.FrameID]*moves
	for id, m := range rf.moving {
		if m.restless() {
			if all == nil {
				all = map[cdp.FrameID]*moves{}
			}
			all[id] = m
		}
	}
	return all
}
