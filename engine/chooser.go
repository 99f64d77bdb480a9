package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// How files get into what is no file input: a button whose page makes one when it
// is clicked, or a place that they are dropped on.

const (
	// soonChosen is how long a click on a button is given to open a chooser before the
	// files are dropped instead: most places for dropping open one, too.
	soonChosen = time.Second
	// nextChosen is the same where nothing is to be pressed. Pages that make a chooser
	// of a click there do so at once; later ones still get the files if they are not
	// taken by a drop.
	nextChosen = 100 * time.Millisecond
	// latestChosen is how long after a click a page may open a chooser at all: the
	// browser then forgets that there was a person.
	latestChosen = 5 * time.Second
)

// offer is one step that hands files to what is no file input.
type offer struct {
	run   *Run
	step  *Step
	into  lang.Selector
	paths []string
	over  *browser.Point // of the page, where the files were dragged to show the element
}

// answer clicks an element and gives the files to the chooser that this opens. Where
// none opens they are dropped on the element, if the page takes them there. what
// says what the element is, and button whether it is made to be pressed.
func (of *offer) answer(ctx context.Context, what string, button bool) error {
	tab, err := of.run.page.tab(ctx)
	if err != nil {
		return err
	}
	if dropped, err := of.dropUnseen(ctx, tab); dropped || err != nil {
		return err
	}
	opened, done, err := tab.FileInputs.Choosers(ctx)
	if err != nil {
		return err
	}
	defer done()
	err = of.run.pointer.clickAt(ctx, of.step, of.into, browser.Clicking{}, func(again bool) (spot, error) {
		return of.run.pointer.aim(ctx, of.step, "point", of.into, map[string]any{"guard": true, "again": again})
	}, (*browser.Input).Click)
	if err != nil {
		return err
	}
	clicked := time.Now()
	patience := min(latestChosen, time.Until(of.run.deadline))
	comes := func(within time.Duration) (browser.Chooser, bool, error) {
		select {
		case c := <-opened:
			return c, true, nil
		case <-time.After(within - time.Since(clicked)):
			return browser.Chooser{}, false, nil
		case <-ctx.Done():
			if time.Since(clicked) >= within { // both are over: why there is none is the better answer
				return browser.Chooser{}, false, nil
			}
			return browser.Chooser{}, false, context.Cause(ctx)
		}
	}
	soon := nextChosen
	if button {
		soon = soonChosen
	}
	c, came, err := comes(min(soon, patience/2))
	if err == nil && !came {
		var dropped bool
		if dropped, err = of.drop(ctx, tab, opened); !dropped && err == nil {
			c, came, err = comes(patience)
		} else if err == nil {
			return nil
		}
	}
	folder := false
	if err == nil && came && c.HasInput() {
		folder, err = tab.FileInputs.TakesFolder(ctx, c)
	}
	switch {
	case err != nil:
		return err
	case !came:
		return Problemf(CodeInvalidValue, "Element %q is %s, not a file input: a click on it opened no file chooser within %dms, and it accepts no dropped files", of.into.String(), what, Millis(patience))
	case !c.HasInput():
		return Problemf(CodeInvalidValue, "Element %q opens a picker that only a person can answer, such as showOpenFilePicker: want an element that opens a file input or accepts dropped files", of.into.String())
	case len(of.paths) > 1 && !c.Several && !folder:
		return Problemf(CodeInvalidValue, "Element %q takes one file, not %d", of.into.String(), len(of.paths))
	}
	of.run.page.input = sentAct
	give := of.paths
	if folder {
		path, err := of.run.tabs.Transfers.FolderOf(of.paths)
		if err != nil {
			return err
		}
		give = []string{path}
	}
	return tab.FileInputs.Choose(ctx, c, give)
}

// show drags the files over the middle of the page where the element cannot be seen: some
// pages show their place for files only then.
func (of *offer) show(ctx context.Context, tab *browser.Tab) error {
	var seen bool
	if err := of.run.page.ask(ctx, of.step, "visible", of.into, nil, &seen); err != nil || seen {
		return err
	}
	w, h := of.run.tabs.Size()
	middle := browser.Point{X: float64(w) / 2, Y: float64(h) / 2}
	if err := tab.Input.DragOver(ctx, middle, of.paths); err != nil {
		return err
	}
	of.over = &middle
	of.run.page.input = sentAct
	return nil
}

// dropUnseen drops the files on an element that can be seen only while files are dragged.
func (of *offer) dropUnseen(ctx context.Context, tab *browser.Tab) (dropped bool, err error) {
	if err := of.show(ctx, tab); err != nil || of.over == nil {
		return false, err
	}
	for range 5 { // pages draw it a little later
		if dropped, err = of.drop(ctx, tab, nil); dropped || err != nil {
			return dropped, err
		}
		if err := of.run.sleep(ctx, 50*time.Millisecond); err != nil {
			return false, err
		}
	}
	return false, of.away(ctx, tab)
}

// away takes the files away that were dragged over the page.
func (of *offer) away(ctx context.Context, tab *browser.Tab) error {
	if of.over == nil {
		return nil
	}
	return tab.Input.DragAway(ctx, *of.over, of.paths)
}

// drop lets the files go over an element, if the page takes them there and has
// opened no chooser meanwhile.
func (of *offer) drop(ctx context.Context, tab *browser.Tab, opened <-chan browser.Chooser) (bool, error) {
	if now, err := of.run.page.tab(ctx); err != nil || now != tab {
		return false, err // the click has led to another one
	}
	var at *browser.Point
	if err := of.run.page.ask(ctx, of.step, "drag", of.into, map[string]any{"files": true}, &at); err != nil || at == nil {
		return false, err
	}
	to, err := of.run.pointer.pointInPage(ctx, *at)
	if err != nil {
		return false, err
	}
	if err := tab.Input.DragOver(ctx, to, of.paths); err != nil {
		return false, err
	}
	is, err := of.dragged(ctx, false)
	if err != nil {
		return false, err
	}
	if !is.Taken || len(opened) > 0 {
		if err := tab.Input.DragAway(ctx, to, of.paths); err != nil {
			return false, err
		}
		_, err = of.dragged(ctx, true)
		return false, err
	}
	if err := tab.Input.Drop(ctx, to, of.paths); err != nil {
		return false, err
	}
	is, err = of.dragged(ctx, true)
	of.run.page.input = sentAct
	return is.Dropped || is.Gone, err
}

// dragging is what has become of files that are dragged over a page.
type dragging struct {
	Taken   bool `json:"taken"`
	Dropped bool `json:"dropped"`
	Gone    bool `json:"gone"` // with the document: a page may leave when it has files
}

func (of *offer) dragged(ctx context.Context, end bool) (is dragging, err error) {
	v, err := of.run.page.call(ctx, of.step, Call{Fn: "dragged", Arg: map[string]any{"end": end}})
	if err != nil {
		return is, err
	}
	if err := json.Unmarshal(v, &is); err != nil {
		return is, fmt.Errorf("reading what became of files that were dragged: %w", err)
	}
	return is, nil
}
