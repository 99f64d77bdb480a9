package browser

import (
	"context"
	"fmt"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/page"
)

// Chooser is a question for files that a page has opened.
type Chooser struct {
	Several bool              // it takes more than one
	input   cdp.BackendNodeID // the file input that has opened it; zero: the page wants handles to files, and not their bytes
}

// HasInput reports whether the chooser was opened by a file input, wherever that
// is: others cannot be given files.
func (c Chooser) HasInput() bool { return c.input != 0 }

// Choosers has the page's choosers told of from now on instead of being shown,
// until done is called.
func (t *Tab) Choosers(ctx context.Context) (opened <-chan Chooser, done func(), err error) {
	all := make(chan Chooser, 1)
	t.mu.Lock()
	t.choosers = all
	t.mu.Unlock()
	done = func() {
		t.s.send(page.CommandSetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{})
		t.mu.Lock()
		t.choosers = nil
		t.mu.Unlock()
	}
	if err := t.s.call(ctx, page.CommandSetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true}, nil); err != nil {
		done()
		return nil, nil, fmt.Errorf("waiting for a file chooser: %w", err)
	}
	return all, done, nil
}

func (t *Tab) chooserOpened(e page.EventFileChooserOpened) {
	t.mu.Lock()
	defer t.mu.Unlock()
	select {
	case t.choosers <- Chooser{Several: e.Mode == page.FileChooserOpenedModeSelectMultiple, input: e.BackendNodeID}:
	default: // nobody has files, or there was one before
	}
}

// Choose answers a chooser with files.
func (t *Tab) Choose(ctx context.Context, c Chooser, paths []string) error {
	return t.setFiles(ctx, dom.SetFileInputFilesParams{Files: paths, BackendNodeID: c.input})
}

// copied is what is done with files that are dragged, as the protocol numbers it.
const copied = 1

// DragOver drags files to a point, and Drop lets them go there, which a page must
// have agreed to: any other would be left for the first of them. DragAway takes
// them away again.
func (t *Tab) DragOver(ctx context.Context, p Point, paths []string) error {
	return t.settle(ctx, "dragging files", t.drag(input.DispatchDragEventTypeDragEnter, p, paths), t.drag(input.DispatchDragEventTypeDragOver, p, paths))
}

func (t *Tab) Drop(ctx context.Context, p Point, paths []string) error {
	return t.settle(ctx, "dropping files", t.drag(input.DispatchDragEventTypeDrop, p, paths))
}

func (t *Tab) DragAway(ctx context.Context, p Point, paths []string) error {
	return t.settle(ctx, "dragging files", t.drag(input.DispatchDragEventTypeDragCancel, p, paths))
}

func (t *Tab) drag(kind input.DispatchDragEventType, p Point, paths []string) *pending {
	return t.s.send(input.CommandDispatchDragEvent, input.DispatchDragEventParams{
		Type: kind, X: p.X, Y: p.Y, Data: &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: copied},
	})
}
