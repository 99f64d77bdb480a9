package browser

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
)

// Node is an element anywhere in a page: in a frame of any origin, or in a
// closed shadow root.
type Node struct {
	s       *session
	id      cdp.BackendNodeID
	frame   cdp.FrameID
	origin  []frameOwner // the frames around it that are processes of their own
	Tag     string
	Attrs   map[string]string
	Context string // what stands around it: names of its hosts and frames
	Text    string // the text near it
}

type frameOwner struct {
	s  *session
	id cdp.BackendNodeID
}

// EveryNode goes through all elements of the page, shadow roots of every kind
// and frames of every origin included, until visit returns false.
func (t *Tab) EveryNode(ctx context.Context, visit func(Node) bool) error {
	if err := t.remote.attach(ctx); err != nil {
		return fmt.Errorf("attaching to the frames: %w", err)
	}
	w := &walker{tab: t, visit: visit}
	return w.document(ctx, t.s, t.mainFrame(), nil, "")
}

type walker struct {
	tab     *Tab
	visit   func(Node) bool
	stopped bool
}

// document goes through one process's part of the page.
func (w *walker) document(ctx context.Context, s *session, frame cdp.FrameID, origin []frameOwner, around string) error {
	depth := int64(-1)
	yes := true
	var res dom.GetDocumentResult
	if err := s.call(ctx, dom.CommandGetDocument, dom.GetDocumentParams{Depth: &depth, Pierce: &yes}, &res); err != nil {
		return fmt.Errorf("reading the document: %w", err)
	}
	defer s.send(dom.CommandDisable, nil)
	if !w.tab.context.Sites.AllowFrame(res.Root.DocumentURL) {
		return nil
	}
	return w.node(ctx, s, frame, res.Root, origin, around)
}

func (w *walker) node(ctx context.Context, s *session, frame cdp.FrameID, n *cdp.Node, origin []frameOwner, around string) error {
	if w.stopped || n == nil {
		return nil
	}
	if n.NodeType == 1 {
		attrs := map[string]string{}
		for i := 0; i+1 < len(n.Attributes); i += 2 {
			attrs[n.Attributes[i]] = n.Attributes[i+1]
		}
		tag := strings.ToLower(n.LocalName)
		if !w.visit(Node{s: s, id: n.BackendNodeID, frame: frame, origin: origin, Tag: tag, Attrs: attrs, Context: around}) {
			w.stopped = true
			return nil
		}
		name := strings.Join([]string{tag, attrs["id"], attrs["class"], attrs["name"], attrs["title"], attrs["src"], attrs["aria-label"]}, " ")
		if len(around) < 4000 {
			around += " " + strings.TrimSpace(name)
		}
		// The outermost element of a frame has its number too.
		if n.FrameID != "" && n.FrameID != frame && n.ContentDocument == nil {
			if child := w.tab.remote.of(n.FrameID); child != nil {
				inner := append(append([]frameOwner(nil), origin...), frameOwner{s, n.BackendNodeID})
				if err := w.document(ctx, child, n.FrameID, inner, around); err != nil {
					return nil // a frame that has just gone has nothing to click
				}
			}
		}
	}
	for _, list := range [][]*cdp.Node{n.ShadowRoots, n.Children} {
		for _, c := range list {
			if err := w.node(ctx, s, frame, c, origin, around); err != nil {
				return err
			}
		}
	}
	if d := n.ContentDocument; d != nil && !w.tab.context.Sites.AllowFrame(d.DocumentURL) {
		return nil
	}
	return w.node(ctx, s, n.FrameID, n.ContentDocument, origin, around)
}

// Box is where the node is in the main page's view; nil while it is not shown.
func (n Node) Box(ctx context.Context) (*Box, error) {
	x, y := 0.0, 0.0
	for _, o := range n.origin {
		var m dom.GetBoxModelResult
		if err := o.s.call(ctx, dom.CommandGetBoxModel, dom.GetBoxModelParams{BackendNodeID: o.id}, &m); err != nil {
			return nil, err
		}
		x += m.Model.Content[0]
		y += m.Model.Content[1]
	}
	var m dom.GetBoxModelResult
	if err := n.s.call(ctx, dom.CommandGetBoxModel, dom.GetBoxModelParams{BackendNodeID: n.id}, &m); err != nil {
		if ctx.Err() != nil {
			return nil, err
		}
		return nil, nil // "Could not compute box model": it is not shown
	}
	q := m.Model.Border
	b := &Box{X: x + q[0], Y: y + q[1], Width: q[2] - q[0], Height: q[5] - q[1]}
	if b.Width < 1 || b.Height < 1 {
		return nil, nil
	}
	return b, nil
}

// ScrollIntoView brings the node into view.
func (n Node) ScrollIntoView(ctx context.Context) error {
	return n.s.call(ctx, dom.CommandScrollIntoViewIfNeeded, dom.ScrollIntoViewIfNeededParams{BackendNodeID: n.id}, nil)
}

// Ask calls a function with the node as `this`, in a world of our own, and decodes
// its result.
func (n Node) Ask(ctx context.Context, function string, out any) error {
	var world page.CreateIsolatedWorldResult
	if err := n.s.call(ctx, page.CommandCreateIsolatedWorld, page.CreateIsolatedWorldParams{FrameID: n.frame, WorldName: worldName}, &world); err != nil {
		return err
	}
	var node dom.ResolveNodeResult
	if err := n.s.call(ctx, dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: n.id, ExecutionContextID: world.ExecutionContextID}, &node); err != nil {
		return err
	}
	yes := true
	var res struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
	}
	err := n.s.call(ctx, runtime.CommandCallFunctionOn, runtime.CallFunctionOnParams{
		FunctionDeclaration: function, ObjectID: node.Object.ObjectID, ReturnByValue: &yes,
	}, &res)
	if err != nil {
		return err
	}
	return json.Unmarshal(res.Result.Value, out)
}
