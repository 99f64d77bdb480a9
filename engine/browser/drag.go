package browser

import (
	"context"

	"github.com/chromedp/cdproto/input"
)

// copied is what is done with files that are dragged, as the protocol numbers it.
const copied = 1

// DragOver drags files to a point, and Drop lets them go there, which a page must
// have agreed to: any other would be left for the first of them. DragAway takes
// them away again.
func (in *Input) DragOver(ctx context.Context, p Point, paths []string) error {
	return in.await(ctx, "dragging files", in.drag(input.DispatchDragEventTypeDragEnter, p, paths), in.drag(input.DispatchDragEventTypeDragOver, p, paths))
}

func (in *Input) Drop(ctx context.Context, p Point, paths []string) error {
	return in.await(ctx, "dropping files", in.drag(input.DispatchDragEventTypeDrop, p, paths))
}

func (in *Input) DragAway(ctx context.Context, p Point, paths []string) error {
	return in.await(ctx, "dragging files", in.drag(input.DispatchDragEventTypeDragCancel, p, paths))
}

func (in *Input) drag(kind input.DispatchDragEventType, p Point, paths []string) *pending {
	return in.tab.s.send(input.CommandDispatchDragEvent, input.DispatchDragEventParams{
		Type: kind, X: p.X, Y: p.Y, Data: &input.DragData{Items: []*input.DragDataItem{}, Files: paths, DragOperationsMask: copied},
	})
}
