package browser

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/chromedp/cdproto/input"
)

// anyway is what may be done with files that are dragged, as the protocol numbers it:
// they may be copied, linked to and moved. The page chooses.
const anyway = 1 | 2 | 16

// DragOver drags files to a point, and Drop lets them go there, which a page must
// have agreed to: any other would be left for the first of them. DragAway takes
// them away again.
func (in *Input) DragOver(ctx context.Context, p Point, paths []string) error {
	if err := in.PointMayGo(ctx, p); err != nil {
		return err
	}
	data := filesOf(paths)
	return in.await(ctx, "dragging files", in.drag(input.DispatchDragEventTypeDragEnter, p, data), in.drag(input.DispatchDragEventTypeDragOver, p, data))
}

func (in *Input) Drop(ctx context.Context, p Point, paths []string) error {
	if err := in.PointMayGo(ctx, p); err != nil {
		return err
	}
	return in.await(ctx, "dropping files", in.drag(input.DispatchDragEventTypeDrop, p, filesOf(paths)))
}

func (in *Input) DragAway(ctx context.Context, p Point, paths []string) error {
	return in.await(ctx, "dragging files", in.drag(input.DispatchDragEventTypeDragCancel, p, filesOf(paths)))
}

func filesOf(paths []string) *input.DragData {
	return &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: anyway}
}

func (in *Input) drag(kind input.DispatchDragEventType, p Point, data *input.DragData) *pending {
	return in.tab.s.send(input.CommandDispatchDragEvent, input.DispatchDragEventParams{Type: kind, X: p.X, Y: p.Y, Data: data})
}

// Take presses the primary button at a point and keeps it down. What the browser would
// drag itself then is handed to [Input.AwaitDragged] instead. The returned function
// releases the button at a point; it does so also when ctx has ended.
func (in *Input) Take(ctx context.Context, p Point) (release func(context.Context, Point) error, err error) {
	if err := in.PointMayGo(ctx, p); err != nil {
		return nil, err
	}
	in.mu.Lock()
	in.dragged, in.taken = nil, make(chan *input.DragData, 1)
	in.mu.Unlock()
	if err := in.await(ctx, "dragging", in.tab.s.send(input.CommandSetInterceptDrags, input.SetInterceptDragsParams{Enabled: true})); err != nil {
		return nil, err
	}
	release = func(ctx context.Context, p Point) error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
		defer cancel()
		var sent []*pending
		if in.dragged != nil { // it was not dropped
			sent = append(sent, in.drag(input.DispatchDragEventTypeDragCancel, p, in.dragged))
			in.dragged = nil
		}
		return in.await(ctx, "letting go", append(sent, in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMouseReleased, at: p, of: LeftButton, count: 1}),
			in.tab.s.send(input.CommandSetInterceptDrags, input.SetInterceptDragsParams{Enabled: false}))...)
	}
	in.pointAt(p)
	err = in.await(ctx, "dragging", in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMouseMoved, at: p}),
		in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMousePressed, at: p, of: LeftButton, down: true, count: 1}))
	if err != nil {
		_ = release(ctx, p)
	}
	return release, err
}

// Drag moves the pointer along a path while the button is down. The page sees each
// move: of those that come together it would see only the last.
func (in *Input) Drag(ctx context.Context, path ...Point) error {
	if err := in.PointMayGo(ctx, path[len(path)-1]); err != nil {
		return err
	}
	for _, p := range path {
		in.pointAt(p)
		if err := in.await(ctx, "dragging", in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMouseMoved, at: p, of: LeftButton, down: true})); err != nil {
			return err
		}
	}
	return nil
}

// intercepted takes in what the browser would drag.
func (in *Input) intercepted(e *input.EventDragIntercepted) {
	in.mu.Lock()
	taken := in.taken
	in.mu.Unlock()
	select {
	case taken <- e.Data:
	default: // nobody drags, or it was told before
	}
}

// AwaitDragged waits for what the browser drags now that the page has let it.
func (in *Input) AwaitDragged(ctx context.Context) error {
	select {
	case in.dragged = <-in.taken:
		return nil
	case <-in.tab.closed:
		return fmt.Errorf("dragging: %w", ErrDetached)
	case <-ctx.Done():
		return fmt.Errorf("dragging: %w", context.Cause(ctx))
	}
}

const (
	// aMove is how long a move takes, as with a real pointer: pages that reorder what
	// is dragged over look away for a moment after each change, SortableJS for 30 ms.
	aMove = time.Second / 60
	// aRest is how often a browser tells the page of a drag whose pointer rests.
	aRest = 50 * time.Millisecond
)

// DragElementTo drags what was taken along a path, rests at its end, and DropElement lets
// it go.
func (in *Input) DragElementTo(ctx context.Context, path ...Point) error {
	if err := in.PointMayGo(ctx, path[len(path)-1]); err != nil {
		return err
	}
	if err := in.await(ctx, "dragging", in.drag(input.DispatchDragEventTypeDragEnter, path[0], in.dragged)); err != nil {
		return err
	}
	for _, p := range path {
		if err := in.dragElementOver(ctx, p); err != nil {
			return err
		}
		if err := pause(ctx, aMove); err != nil {
			return err
		}
	}
	if err := pause(ctx, aRest); err != nil {
		return err
	}
	return in.dragElementOver(ctx, path[len(path)-1])
}

func (in *Input) dragElementOver(ctx context.Context, p Point) error {
	in.pointAt(p)
	return in.await(ctx, "dragging", in.drag(input.DispatchDragEventTypeDragOver, p, in.dragged))
}

// DropElement lets go at a point what was dragged there.
func (in *Input) DropElement(ctx context.Context, p Point) error {
	if err := in.PointMayGo(ctx, p); err != nil {
		return err
	}
	data := in.dragged
	in.dragged = nil
	return in.await(ctx, "dropping", in.drag(input.DispatchDragEventTypeDrop, p, data))
}

// Toward is the point so many pixels from p on the way to another, or that one.
func (p Point) Toward(to Point, far float64) Point {
	all := math.Hypot(to.X-p.X, to.Y-p.Y)
	if all <= far {
		return to
	}
	return Point{X: p.X + (to.X-p.X)*far/all, Y: p.Y + (to.Y-p.Y)*far/all}
}

// steps is in how many moves the pointer goes from one point to another while it drags.
const steps = 8

// Way is the points on the way to another one, and that one twice: some pages look
// where the pointer rests.
func (p Point) Way(to Point) (all []Point) {
	for n := 1.0; n <= steps; n++ {
		all = append(all, Point{X: p.X + (to.X-p.X)*n/steps, Y: p.Y + (to.Y-p.Y)*n/steps})
	}
	return append(all, to)
}
