package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"troupe/engine/browser"
)

// pageMark tells one page of a pager from the next.
type pageMark struct {
	Document string `json:"document"` // of the same page by its content: another one
	Content  string `json:"content"`  // what it says, and what it shows and leads to
}

// forPages goes through the pages of a pager.
func (l *loopState) forPages(ctx context.Context, s *Step, v iteration) error {
	for {
		if !l.run.cache.Set(v.as, strconv.AppendInt(nil, int64(l.i)+1, 10)) {
			return errCacheFull
		}
		over, err := l.turn(ctx, v.do)
		if err != nil {
			return err
		}
		if l.i++; over {
			return nil
		}
		l.run.path = s.Path
		goes, err := l.turnPage(ctx, s, v)
		if err != nil || !goes {
			return err
		}
	}
}

// turnPage goes to the next page and reports whether there is one.
func (l *loopState) turnPage(ctx context.Context, s *Step, v iteration) (bool, error) {
	r := l.run
	ctx, cancel := r.bound(ctx, s)
	defer cancel()
	var now struct {
		There bool     `json:"there"`
		Mark  pageMark `json:"mark"`
	}
	if err := r.page.ask(ctx, s, "pager", *v.next, nil, &now); err != nil || !now.There {
		return false, err
	}
	if l.i == v.max {
		r.warn("there is a next page, and it was left: max is %d", v.max)
		return false, nil
	}
	if err := r.pointer.click(ctx, s, *v.next, browser.Clicking{Times: 1}); err != nil {
		return false, err
	}
	return l.turned(ctx, s, now.Mark)
}

// turnTime is how long a click may seem to do nothing while no request is under way.
const turnTime = time.Second

// turned waits until a page has another content than before and has loaded, and
// reports false if nothing changes.
func (l *loopState) turned(ctx context.Context, s *Step, before pageMark) (bool, error) {
	r := l.run
	for {
		look := min(turnTime, max(0, time.Until(r.deadline)))
		now, err := l.mark(ctx, s, &before, look)
		switch {
		case err != nil:
			return false, err
		case now.Document != before.Document:
			return true, r.page.loaded(ctx)
		case now.Content != before.Content:
			// What shows that something is on its way is no page yet.
			if _, err := r.idle(ctx); err != nil { // late: what has come is what there is
				return false, err
			}
			now, err := l.mark(ctx, s, nil, 0)
			return now != before, err
		case time.Until(r.deadline) <= 0, r.tabs.Network.IdleFor() >= browser.IdleWindow:
			return false, nil
		}
	}
}

// mark is the mark of the page, as soon as it is another one than before or the time
// is over.
func (l *loopState) mark(ctx context.Context, s *Step, before *pageMark, most time.Duration) (m pageMark, err error) {
	r := l.run
	arg := map[string]any{"ms": Millis(most)}
	r.page.addSettle(arg)
	if before != nil {
		arg["before"] = before
	}
	place, err := r.page.way(r.page.frames(s, nil))
	if err != nil {
		return m, err
	}
	if place != nil {
		arg["in"] = place
	}
	tab, err := r.page.tab(ctx)
	if err != nil {
		return m, err
	}
	reply, err := r.page.follow(ctx, tab, "turned", arg)
	if err != nil {
		return m, err
	}
	v, err := r.page.replied(reply)
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(v, &m); err != nil {
		return m, fmt.Errorf("reading the page's answer to turned: %w", err)
	}
	return m, nil
}

// loaded waits for the load event, as long as there is time.
func (pc *pageCalls) loaded(ctx context.Context) error {
	tab, err := pc.tab(ctx)
	if err != nil {
		return err
	}
	_, err = tab.Script.Call(ctx, "load", map[string]any{"ms": max(0, Millis(time.Until(pc.run.deadline)))})
	return err
}

// scrollOn scrolls to the end of an endless list, and gives how many elements the
// loop has then.
func (l *loopState) scrollOn(ctx context.Context, s *Step) (int, error) {
	r := l.run
	r.path = s.Path
	ctx, cancel := r.bound(ctx, s)
	defer cancel()
	l.i-- // the last element is the current one
	defer func() { l.i++ }()
	v, err := r.page.callOnce(ctx, s, Call{Fn: "more"})
	if err != nil {
		return 0, err
	}
	var n int
	if err := json.Unmarshal(v, &n); err != nil {
		return 0, fmt.Errorf("reading the page's answer to more: %w", err)
	}
	l.each.Count = n
	return n, nil
}
