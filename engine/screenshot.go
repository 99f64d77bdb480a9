package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// maxPictures bounds the pictures of one task: in its list, and as it runs.
const maxPictures = 100

// shot is what to take a picture of.
type shot struct {
	what    string // viewport, fullpage, or empty for an element
	element lang.Selector
}

func (s shot) Keys(to map[string]bool) { s.element.Keys(to) }

var _ = define(Action[shot]{
	Name: "screenshot", Group: "Screenshot",
	Doc: "Takes a picture and returns its URL. `viewport` is the visible area; `fullpage` is the whole page, scrolled through first so that lazy content loads; a selector is one element. " +
		"`fullpage` waits for the pictures that scrolling asks for, and up to 3 s for backgrounds and for animations that end. " +
		"A picture has at most 40 million CSS pixels, and a task at most 100 pictures.",
	Value: lang.Shape[shot]{
		Words: "viewport, fullpage or selector", Schema: lang.SelectorShape.Schema,
		Read: func(d *lang.Decoder, n *lang.Node) shot {
			if n.IsString() && (n.Text == "viewport" || n.Text == "fullpage") {
				return shot{what: n.Text}
			}
			for _, what := range []string{"viewport", "fullpage"} { // no element is called so
				if n.IsString() && strings.EqualFold(n.Text, what) {
					d.Fault(n, "want viewport, fullpage or a selector, not %q; did you mean %q?", n.Text, what)
				}
			}
			return shot{element: lang.SelectorShape.Read(d, n)}
		},
	},
	Opts: []Opt{
		opt("format", lang.EnumShape("a format", "png", "jpeg", "webp"), "Default: `png`."),
		opt("quality", lang.IntShape("quality", 1, 100), "1 to 100, for jpeg and webp."),
		opt("scale", lang.EnumShape("a scale", "device", "css"), "`css` gives one pixel for each CSS pixel, whatever screen the device has: places in the picture are coordinates for `mouse`. Default: `device`."),
	},
	Not:     NotInLoop,
	Result:  `{"success":true,"url":string}`,
	Example: `{"screenshot":"viewport"}`,
	Check: func(d *decoder, n *lang.Node, s *Step, v shot) {
		if d.pictures++; d.pictures == maxPictures+1 {
			d.Fault(n, "want at most %d screenshots in one task", maxPictures)
		}
		if _, ok := s.Options.own["quality"]; ok && own(s, "format", "png") == "png" {
			d.Fault(n, "quality is for jpeg and webp: a png has none")
		}
	},
	Run: func(ctx context.Context, r *Run, s *Step, v shot) (Result, error) {
		if len(r.effects.pictures) >= maxPictures {
			return nil, Problemf(CodeStorageQuota, "The picture was not taken: one task has at most %d", maxPictures)
		}
		p := browser.Picture{Format: own(s, "format", "png"), Quality: own(s, "quality", 0), CSS: own(s, "scale", "device") == "css"}
		t, err := r.page.tab(ctx)
		if err != nil {
			return nil, err
		}
		if r.page.input != sentNothing || r.page.script || t.Navigation.Loading() {
			// The page may be on its way to another: that one is meant, and all of it.
			if err := r.page.awaitLoaded(ctx, t); err != nil {
				return nil, err
			}
		}
		switch v.what {
		case "fullpage":
			// The page gets most of the time to unroll, the picture the rest.
			whole, err := t.Unroll(ctx, Millis(time.Until(r.deadline)*7/10))
			if err != nil {
				return nil, err
			}
			p.Clip = &whole
		case "":
			if p.Clip, err = r.clip(ctx, s, v.element); err != nil {
				return nil, err
			}
		}
		picture, err := t.Screenshot(ctx, p)
		if err != nil {
			if errors.Is(err, browser.ErrTooLarge) {
				return nil, Problemf(CodeInvalidValue, "%s", err)
			}
			return nil, err
		}
		return r.effects.savePicture(ctx, File{Account: r.env.Account, Plan: r.env.Plan, Name: "screenshot." + p.Format, ContentType: "image/" + p.Format, Inline: true}, picture)
	},
})

// clip is where an element is in the page, for a picture of it.
func (r *Run) clip(ctx context.Context, s *Step, v lang.Selector) (*browser.Box, error) {
	seen, err := r.pointer.inPage(ctx, v.String(), true, func() (browser.Aim, error) {
		box := new(browser.Box)
		err := r.page.ask(ctx, s, "box", v, nil, box)
		return browser.Aim{Box: box}, err
	})
	if err != nil || r.page.at.IsMain() {
		return seen.Box, err
	}
	var by browser.Point // how far what is seen is from the page's edges
	t, err := r.tabs.Tab(ctx)
	if err != nil {
		return nil, err
	}
	reply, err := t.Script.Call(ctx, "scrolled", map[string]any{})
	if err == nil {
		err = json.Unmarshal(reply.Value, &by)
	}
	if err != nil {
		return nil, fmt.Errorf("reading how far the page is scrolled: %w", err)
	}
	seen.Box.X, seen.Box.Y = seen.Box.X+by.X, seen.Box.Y+by.Y
	return seen.Box, nil
}

// savePicture keeps a picture and gives its address.
func (se *sideEffects) savePicture(ctx context.Context, f File, b []byte) (Result, error) {
	if se.run.env.SaveFile == nil {
		return nil, Problemf(CodeInternal, "this service has no storage for files")
	}
	url, err := se.run.env.SaveFile(ctx, f, bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("keeping the file: %w", err)
	}
	se.pictures = append(se.pictures, url)
	return json.Marshal(struct {
		Success bool   `json:"success"`
		URL     string `json:"url"`
	}{true, url})
}
