package browser

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/target"
)

const (
	// maxSought bounds the frames of other origins that are looked through for one
	// thing: pages have many for advertisements.
	maxSought = 100
	// seekTime is how long one of them may take to answer. A frame can keep its process
	// busy, and must not hold up the others.
	seekTime = time.Second
)

// held is what a document, with the frames of its origin, has of what is looked for.
type held struct {
	Matches int    `json:"n"`
	Frames  []int  `json:"frames"` // of other origins in it
	At      string `json:"at"`
}

// search asks the frames of other origins below a document, one after the other, for
// matches of a selector, until visit returns false.
func (t *Tab) search(ctx context.Context, at *PageScript, target any, frames []int, visit func(*PageScript, held) bool) error {
	type frame struct {
		in     *PageScript
		number int
	}
	var all []frame
	add := func(in *PageScript, numbers []int) {
		for _, n := range numbers {
			all = append(all, frame{in, n})
		}
	}
	add(at, frames)
	for i := 0; i < len(all) && i < maxSought; i++ {
		ps, h, err := all[i].in.holding(ctx, all[i].number, target)
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.Is(err, ErrGone), err != nil && closed(t.closed):
			return err
		case err != nil:
			continue // it has gone, or does not answer
		case !visit(ps, h):
			return nil
		}
		add(ps, h.Frames)
	}
	return nil
}

// holding asks one frame.
func (ps *PageScript) holding(ctx context.Context, number int, target any) (*PageScript, held, error) {
	ctx, cancel := context.WithTimeout(ctx, seekTime)
	defer cancel()
	var h held
	frame, err := ps.child(ctx, number)
	if err != nil {
		return nil, h, err
	}
	h, err = frame.holds(ctx, target)
	return frame, h, err
}

//go:embed js/holds.js
var holdsJS string

// holds says what a document has of what is looked for.
func (ps *PageScript) holds(ctx context.Context, target any) (h held, err error) {
	arg, err := json.Marshal(target)
	if err != nil {
		return h, fmt.Errorf("encoding what is looked for: %w", err)
	}
	err = ps.evaluate(ctx, "("+strings.TrimSpace(holdsJS)+")("+string(arg)+")", &h)
	return h, err
}

// seek finds the frame of another origin that has a match for a part of a place, nil
// where none has.
func (t *Tab) seek(ctx context.Context, at *PageScript, part Part, frames []int) (found *PageScript, err error) {
	err = t.search(ctx, at, part, frames, func(ps *PageScript, h held) bool {
		if h.Matches > 0 {
			found = ps
		}
		return found == nil
	})
	return found, err
}

// MatchesElsewhere says in which frames of other origins a selector has matches, in
// words; empty where it has none, and in the time there is.
func (t *Tab) MatchesElsewhere(ctx context.Context, target any, but *PageScript) string {
	var all []string
	add := func(n int, where string) {
		if n > 0 && len(all) < 3 {
			all = append(all, fmt.Sprintf("%d %s in %s", n, map[bool]string{true: "match", false: "matches"}[n == 1], where))
		}
	}
	h, err := t.Script.holds(ctx, target)
	if err != nil {
		return ""
	}
	if but != &t.Script {
		add(h.Matches, "the main page")
	}
	_ = t.search(ctx, &t.Script, target, h.Frames, func(ps *PageScript, h held) bool {
		if ps != but {
			add(h.Matches, "the frame of another site at "+t.context.clean(h.At).Short(200).String())
		}
		return len(all) < 3
	})
	return strings.Join(all, ", ")
}

// frameInfo is one frame of a tab, whichever process it is in.
type frameInfo struct {
	id, around cdp.FrameID
	url        string
}

// tree lists the frames of a tab, each after the one that it is in.
func (t *Tab) tree(ctx context.Context) (all []frameInfo, err error) {
	if err := t.remote.attach(ctx); err != nil {
		return nil, err
	}
	around := map[cdp.FrameID]cdp.FrameID{}
	for _, f := range t.remote.all() {
		around[f.id] = f.around
	}
	var sent []*pending
	t.everyProcess(func(s *session) { sent = append(sent, s.send(page.CommandGetFrameTree, nil)) })
	below := map[cdp.FrameID][]frameInfo{}
	var add func(*page.FrameTree)
	add = func(n *page.FrameTree) {
		if n == nil || n.Frame == nil {
			return
		}
		f := frameInfo{n.Frame.ID, n.Frame.ParentID, n.Frame.URL + n.Frame.URLFragment}
		if p, remote := around[f.id]; remote {
			f.around = p
		}
		below[f.around] = append(below[f.around], f)
		for _, c := range n.ChildFrames {
			add(c)
		}
	}
	for i, p := range sent {
		var res page.GetFrameTreeResult
		if err := p.wait(ctx, &res); err == nil {
			add(res.FrameTree)
		} else if i == 0 || ctx.Err() != nil {
			return nil, fmt.Errorf("listing the frames: %w", err)
		}
	}
	all = below[""]
	for i := 0; i < len(all); i++ {
		all = append(all, below[all[i].id]...)
	}
	return all, nil
}

// childByURL finds a frame with an address right in the main document, nil where that
// has none. It asks two processes, however many frames there are: each process that is
// asked has to wake up. Those of the frames that are asked for next do so meanwhile.
func (t *Tab) childByURL(ctx context.Context, matches func(string) bool, next func() []Part) (cdp.FrameID, error) {
	if err := t.remote.attach(ctx); err != nil {
		return "", err
	}
	var own page.GetFrameTreeResult
	var all target.GetTargetsResult
	sent := t.s.send(page.CommandGetFrameTree, nil)
	err := t.context.b.root.call(ctx, target.CommandGetTargets, target.GetTargetsParams{Filter: target.Filter{{Type: "iframe"}}}, &all)
	if err := errors.Join(err, sent.wait(ctx, &own)); err != nil {
		return "", fmt.Errorf("listing the frames: %w", err)
	}
	for _, c := range own.FrameTree.ChildFrames {
		if matches(c.Frame.URL + c.Frame.URLFragment) {
			return c.Frame.ID, nil
		}
	}
	urls := map[cdp.FrameID]string{}
	for _, i := range all.TargetInfos {
		urls[cdp.FrameID(i.TargetID)] = i.URL
	}
	remote := slices.DeleteFunc(t.remote.all(), func(f *remoteFrame) bool {
		return urls[f.id] == "" || f.around != own.FrameTree.Frame.ID
	})
	find := func(matches func(string) bool) *remoteFrame {
		for _, f := range remote {
			if matches(urls[f.id]) {
				return f
			}
		}
		return nil
	}
	found := find(matches)
	if found == nil {
		return "", nil
	}
	for _, p := range next() {
		if f := find(p.URL); f != nil && f != found {
			t.remote.script(f.id, &t.Script).prepare(f.s)
		}
	}
	return found.id, nil
}

// byURL finds the frame with an address below a document, or below one of the frames
// in it, by the page script's number for that. Without one it says which there are.
func (t *Tab) byURL(ctx context.Context, at *PageScript, number int, part Part, soon func() []Part) (next *PageScript, why string, err error) {
	base := at.frame
	if at.parent == nil {
		base = t.mainFrame()
	}
	if number != 0 {
		if base, err = at.frameNumbered(ctx, number); err != nil {
			return nil, "", err
		}
	}
	if base == t.mainFrame() {
		id, err := t.childByURL(ctx, part.URL, soon)
		if err != nil {
			return nil, "", err
		}
		if id != "" {
			return t.remote.script(id, &t.Script), "", nil
		}
	}
	all, err := t.tree(ctx)
	if err != nil {
		return nil, "", err
	}
	scripts := map[cdp.FrameID]*PageScript{t.mainFrame(): &t.Script}
	within := map[cdp.FrameID]bool{base: true}
	var are []string
	for _, f := range all {
		if parent := scripts[f.around]; parent != nil {
			scripts[f.id] = t.remote.script(f.id, parent)
		}
		if !within[f.around] {
			continue
		}
		within[f.id] = true
		if part.URL(f.url) {
			return scripts[f.id], "", nil
		}
		if len(are) < 5 {
			are = append(are, t.context.clean(f.url).Short(200).String())
		}
	}
	if err := at.rouse(ctx, part.URL); err != nil {
		return nil, "", err
	}
	why = fmt.Sprintf("Iframe not found: no frame's address matches %q", part.As)
	if len(are) == 0 {
		return nil, why + ", for there are no frames", nil
	}
	return nil, why + "; there are " + strings.Join(are, ", "), nil
}

// rouse brings the lazy frame with an address into view, if there is one that rests: its
// document comes then. Until it does, the frame has no address that the browser knows.
func (ps *PageScript) rouse(ctx context.Context, matches func(string) bool) error {
	r, err := ps.Call(ctx, "lazyOnes", map[string]any{})
	if err != nil || r.Value == nil {
		return err
	}
	var resting []struct {
		Frame int    `json:"frame"`
		URL   string `json:"url"`
	}
	if err := json.Unmarshal(r.Value, &resting); err != nil {
		return fmt.Errorf("reading which frames rest: %w", err)
	}
	for _, f := range resting {
		if matches(f.URL) {
			_, err := ps.Call(ctx, "rouse", map[string]any{"frame": f.Frame})
			return err
		}
	}
	return nil
}

// readTime is how long a frame of another origin may take to be read.
const readTime = 3 * time.Second

// CallWithin calls a function of the page script in a frame of another origin, by this
// script's number for it. It returns that frame's script, which has numbers of its own.
func (ps *PageScript) CallWithin(ctx context.Context, number int, fn string, arg map[string]any) (*Reply, *PageScript, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	frame, err := ps.child(ctx, number)
	if err != nil {
		return nil, nil, err
	}
	r, err := frame.Call(ctx, fn, arg)
	if err != nil || r.Hop == nil || !r.Hop.Closed {
		return r, frame, err
	}
	if _, err := frame.openRootsSoon(ctx); err != nil {
		return nil, nil, err
	}
	arg = maps.Clone(arg)
	arg["opened"] = true
	r, err = frame.Call(ctx, fn, arg)
	return r, frame, err
}
