package engine

import (
	"context"
	"errors"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// coverTime is how long something may lie over an element before the click goes
// through the DOM: the page script has the same.
const coverTime = time.Second

// retryTime is how long nothing is asked while a frame cannot be used.
const retryTime = 50 * time.Millisecond

// inPage takes what look finds in a frame of another origin to the main page: as often
// as that frame is lost, moves, or lies under something else, and there is time. What
// is found in the page itself is there already. covered is what lies over the frame for
// a second, and that is not waited for with force.
func (pt *pointer) inPage(ctx context.Context, as string, force bool, look func() (browser.Aim, error)) (seen browser.Seen, err error) {
	r := pt.run
	var since time.Time
	for {
		aim, err := look()
		if err != nil || r.page.at == nil || r.page.at.IsMain() || len(aim.Points) == 0 && aim.Box == nil {
			return browser.Seen{Points: aim.Points, Box: aim.Box}, err
		}
		seen, err = r.page.at.Outward(ctx, aim)
		lost := errors.Is(err, browser.ErrFrameLost)
		switch late := time.Now().After(r.deadline); {
		case err != nil && !lost:
			return seen, err
		case lost && late:
			return seen, Problemf(CodeElementGone, "Element %q is gone: its frame was replaced again and again for %dms", as, Millis(r.limit))
		case lost:
		case seen.Why != "" && late:
			return seen, Problemf(CodeTimeout, "Element %q cannot be reached after %dms: %s", as, Millis(r.limit), seen.Why)
		case seen.Why != "":
		case seen.Covered == "":
			return seen, nil
		case since.IsZero():
			since = time.Now()
		case force && time.Since(since) > coverTime:
			return seen, nil
		case late:
			return seen, Problemf(CodeElementCovered, "Element %q is covered by %s after %dms", as, seen.Covered, Millis(r.limit))
		}
		select {
		case <-time.After(retryTime):
		case <-ctx.Done():
			return seen, context.Cause(ctx)
		}
	}
}

// pointInPage is inPage for one point that was found, whatever lies over it.
func (pt *pointer) pointInPage(ctx context.Context, p browser.Point) (browser.Point, error) {
	r := pt.run
	if r.page.at == nil || r.page.at.IsMain() {
		return p, nil
	}
	seen, err := r.page.at.Outward(ctx, browser.Aim{Points: []browser.Point{p}})
	if err == nil && len(seen.Points) == 0 {
		return p, Problemf(CodeTimeout, "The frame cannot be reached: %s", seen.Why)
	}
	if errors.Is(err, browser.ErrFrameLost) {
		return p, Problemf(CodeElementGone, "The frame was replaced while it was aimed at")
	}
	if err != nil {
		return p, err
	}
	return seen.Points[0], nil
}

// maxRefocus bounds how often something in a frame gets the focus again.
const maxRefocus = 3

// focus gives the focus to something until the browser sends keys there, and reports
// whether it does.
func (pc *pageCalls) focus(ctx context.Context, give func() error) (bool, error) {
	for n := 0; ; n++ {
		if err := give(); err != nil {
			return false, err
		}
		if pc.at == nil || pc.at.TakesKeys(ctx) {
			return true, nil
		}
		if n == maxRefocus {
			return false, nil
		}
	}
}

// focusTold is focus for keys that nobody follows: it warns where they may go elsewhere.
func (pc *pageCalls) focusTold(ctx context.Context, into lang.Selector, give func() error) error {
	focused, err := pc.focus(ctx, give)
	if err == nil && !focused {
		pc.run.warn("%q is in a frame that does not keep the focus: the keys may go elsewhere", into.String())
	}
	return err
}
