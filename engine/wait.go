package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[time.Duration]{
	Name: "wait", Group: "Waiting",
	Doc:       "Waits for this many milliseconds, limited only by the task's time.",
	Value:     lang.PauseShape("milliseconds"),
	Unbounded: true,
	Example:   `{"wait":250}`,
	Run: func(ctx context.Context, r *Run, s *Step, v time.Duration) (Result, error) {
		return nil, r.sleep(ctx, v)
	},
})

// sleep waits as long as the page, the browser and the task live.
func (r *Run) sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	fallen := r.tabs.Fallen()
	for {
		select {
		case <-t.C:
			return nil
		case <-fallen:
			if r.tabs.Crashed() { // it is still the current tab
				return browser.ErrDetached
			}
			fallen = nil
		case <-r.tabs.Gone():
			return browser.ErrGone
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

var _ = define(Action[string]{
	Name: "waitForEvent", Group: "Waiting",
	Doc: "Waits for the page: with `load` until its load event, with `networkidle` until it has loaded and no request has been in progress for 500 ms. " +
		"Event streams, sockets and beacons do not count. After an action that starts a navigation, it waits for the new document.",
	Value:   lang.EnumShape("an event", "load", "networkidle"),
	Example: `{"waitForEvent":"load"}`,
	Check: func(d *decoder, n *lang.Node, s *Step, v string) {
		if v == "networkidle" {
			d.network = true
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v string) (Result, error) {
		t, err := r.page.tab(ctx)
		if err != nil {
			return nil, err
		}
		arg := map[string]any{"ms": max(0, Millis(time.Until(r.deadline)))}
		r.page.addSettle(arg)
		reply, err := t.Script.Call(ctx, "load", arg)
		if err != nil {
			return nil, err
		}
		at, err := readArrival(reply)
		if err != nil {
			return nil, err
		}
		if reply.Code != "" || at.State != stateLoaded {
			return nil, Problemf(CodeTimeout, "The load event did not come within %dms: the page still waits for resources", Millis(r.limit))
		}
		if v == "load" {
			return nil, nil
		}
		late, err := r.idle(ctx)
		if late != nil {
			return nil, late
		}
		return nil, err
	},
})

// idle waits for an idle network, as long as the step has time. If it has not become idle
// by then, late says what was still under way.
func (r *Run) idle(ctx context.Context) (late *Problem, err error) {
	sctx, cancel := r.page.strict(ctx)
	defer cancel()
	err = r.tabs.Network.WaitIdle(sctx)
	if err != nil && ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return Problemf(CodeTimeout, "The network was not idle for 500ms within %dms: %s", Millis(r.limit), r.underWay(r.tabs.Network.Active())), nil
	}
	return nil, err
}

// underWay names requests that keep a page from being idle.
func (r *Run) underWay(urls []string) string {
	if len(urls) == 0 {
		return "requests came again and again"
	}
	for i, u := range urls {
		urls[i] = r.mask.Text(u).Short(120).String()
	}
	if len(urls) > 3 {
		urls = append(urls[:3], "…")
	}
	return "still under way: " + strings.Join(urls, ", ")
}
