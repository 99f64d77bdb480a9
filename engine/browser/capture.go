package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
)

// MaxPixels bounds one picture: 40 million pixels are a page of 1280 × 31250.
const MaxPixels = 40_000_000

// ErrTooLarge is the error of a picture beyond the limits.
var ErrTooLarge = errors.New("the picture is too large")

// maxStrip is how wide and high a picture the browser can take at once, in pixels of the
// screen: its textures end at 16384.
const maxStrip = 8000

// Picture describes a screenshot.
type Picture struct {
	Format  string // png, jpeg or webp
	Quality int    // 1 to 100, for jpeg and webp; zero: the browser's own
	Clip    *Box   // nil: what is visible
	CSS     bool   // one pixel for each CSS pixel, whatever the screen has
}

// Box is a part of a page, in CSS pixels of its whole document.
type Box struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Screenshot takes a picture of the page.
func (t *Tab) Screenshot(ctx context.Context, p Picture) ([]byte, error) {
	if p.CSS && p.Clip == nil && t.context.scale() != 1 {
		seen, _, err := t.Visible(ctx)
		if err != nil {
			return nil, err
		}
		p.Clip = &seen
	}
	if p.Clip != nil {
		if n := p.Clip.Width * p.Clip.Height; n > MaxPixels {
			return nil, fmt.Errorf("%w: it would have %.0f × %.0f pixels, and %d million are the limit", ErrTooLarge, p.Clip.Width, p.Clip.Height, MaxPixels/1_000_000)
		}
		scale := t.context.scale()
		if p.CSS {
			scale = 1
		}
		switch {
		case p.Format != "png" && p.Clip.Height > maxStrip:
			return nil, fmt.Errorf("%w: at %.0f pixels height only a png can be made", ErrTooLarge, p.Clip.Height)
		case p.Format == "png" && max(p.Clip.Width, p.Clip.Height)*scale > maxStrip:
			return t.stitch(ctx, p, scale)
		}
	}
	return t.capture(ctx, p)
}

func (t *Tab) capture(ctx context.Context, p Picture) ([]byte, error) {
	yes := true
	params := page.CaptureScreenshotParams{Format: page.CaptureScreenshotFormat(p.Format), OptimizeForSpeed: &yes}
	if p.Quality > 0 && p.Format != "png" {
		q := int64(p.Quality)
		params.Quality = &q
	}
	if p.Clip != nil {
		params.CaptureBeyondViewport = &yes
		params.Clip = &page.Viewport{X: p.Clip.X, Y: p.Clip.Y, Width: p.Clip.Width, Height: p.Clip.Height, Scale: 1}
		if p.CSS {
			params.Clip.Scale /= t.context.scale()
		}
	}
	var res struct {
		Data jsonv2.Value `json:"data"`
	}
	call := t.s.send(page.CommandCaptureScreenshot, params)
	err := call.wait(ctx, &res)
	if errors.Is(err, ErrLargeAnswer) {
		return nil, fmt.Errorf("%w: its file has more than %d MiB, which are the limit", ErrTooLarge, maxLong["data"]/4*3>>20)
	}
	var text, picture []byte
	if err == nil {
		text, err = call.text(res.Data)
	}
	if err == nil {
		picture, err = base64.StdEncoding.AppendDecode(nil, text)
	}
	if err != nil {
		return nil, fmt.Errorf("taking the picture: %w", err)
	}
	return picture, nil
}

// Visible is the part of the page that can be seen, and how much larger than usual it is
// drawn: phones draw pages that are not made for them smaller.
func (t *Tab) Visible(ctx context.Context) (seen Box, zoom float64, err error) {
	var m struct {
		Seen page.VisualViewport `json:"cssVisualViewport"`
	}
	if err := t.s.send(page.CommandGetLayoutMetrics, nil).wait(ctx, &m); err != nil {
		return Box{}, 0, fmt.Errorf("asking what can be seen of the page: %w", err)
	}
	return Box{X: m.Seen.PageX, Y: m.Seen.PageY, Width: m.Seen.ClientWidth, Height: m.Seen.ClientHeight}, m.Seen.Scale, nil
}

// scale is how many pixels of the screen a CSS pixel is wide.
func (c *Context) scale() float64 {
	if s := c.Surrounded(); s != nil && s.Device != nil && s.Device.Scale > 0 {
		return s.Device.Scale
	}
	return 1
}

// Unroll scrolls through the whole page so that lazy content loads, and returns
// the page's size.
func (t *Tab) Unroll(ctx context.Context, ms int64) (Box, error) {
	r, err := t.Script.Call(ctx, "unroll", map[string]any{"ms": ms, "max": MaxPixels / 320})
	if err != nil {
		return Box{}, err
	}
	var b Box
	if err := json.Unmarshal(r.Value, &b); err != nil {
		return Box{}, fmt.Errorf("reading the page's size: %w", err)
	}
	return b, nil
}
