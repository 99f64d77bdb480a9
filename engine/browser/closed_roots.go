package browser

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/runtime"
)

//go:embed js/closed.js
var takeRootsJS string

// maxClosedRoots bounds the closed shadow roots that are opened at a time.
const maxClosedRoots = 2000

// openRootsSoon is openRoots in half of the time that is left, so that what is missing
// can still be told.
func (ps *PageScript) openRootsSoon(ctx context.Context) (bool, error) {
	deadline, bounded := ctx.Deadline()
	if !bounded {
		return ps.openRoots(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, time.Until(deadline)/2)
	defer cancel()
	opened, err := ps.openRoots(soon)
	if err != nil && soon.Err() != nil && ctx.Err() == nil {
		return false, nil
	}
	return opened, err
}

// openRoots hands the closed shadow roots of a document, and of the frames of its
// origin, to its page script, which cannot get at them itself. It reports false where
// the browser does not list them: the document is too large.
func (ps *PageScript) openRoots(ctx context.Context) (bool, error) {
	at, err := ps.enter(ctx)
	if err != nil {
		return false, ps.gone(err)
	}
	depth, pierce := int64(-1), true
	var res dom.GetDocumentResult
	err = at.s.call(ctx, dom.CommandGetDocument, dom.GetDocumentParams{Depth: &depth, Pierce: &pierce}, &res)
	defer at.s.send(dom.CommandDisable, nil)
	var roots []cdp.BackendNodeID
	told := true
	switch {
	case errors.Is(err, ErrLargeAnswer):
		told = false
	case err != nil && ctx.Err() != nil:
		return false, context.Cause(ctx)
	case err != nil:
		return false, ps.gone(err)
	default:
		roots = closedRoots(res.Root, nil)
	}
	sent := make([]*pending, len(roots))
	for i, id := range roots {
		sent[i] = at.s.send(dom.CommandResolveNode, dom.ResolveNodeParams{BackendNodeID: id, ExecutionContextID: at.id})
	}
	p := runtime.CallFunctionOnParams{FunctionDeclaration: takeRootsJS, ExecutionContextID: at.id}
	for _, call := range sent {
		var node dom.ResolveNodeResult
		if err := call.wait(ctx, &node); err == nil && node.Object != nil && node.Object.ObjectID != "" {
			p.Arguments = append(p.Arguments, &runtime.CallArgument{ObjectID: node.Object.ObjectID})
		} // else it has gone, or is in a frame of another origin
	}
	if err := at.s.call(ctx, runtime.CommandCallFunctionOn, p, nil); err != nil {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		return false, fmt.Errorf("handing over closed shadow roots: %w", ps.gone(err))
	}
	return told, nil
}

// closedRoots lists the closed shadow roots below a node, outer ones first.
func closedRoots(n *cdp.Node, all []cdp.BackendNodeID) []cdp.BackendNodeID {
	if n == nil || len(all) >= maxClosedRoots {
		return all
	}
	for _, r := range n.ShadowRoots {
		if r.ShadowRootType == cdp.ShadowRootTypeClosed {
			all = append(all, r.BackendNodeID)
		}
		if r.ShadowRootType != cdp.ShadowRootTypeUserAgent {
			all = closedRoots(r, all)
		}
	}
	for _, c := range n.Children {
		all = closedRoots(c, all)
	}
	return closedRoots(n.ContentDocument, all)
}
