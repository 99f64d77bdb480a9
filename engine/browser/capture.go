package browser

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
)

// MaxPixels bounds one picture: 40 million pixels are a page of 1280 × 31250.
const MaxPixels = 40_000_000

// ErrTooLarge is the error of a picture beyond the limits.
var ErrTooLarge = errors.New("the picture is too large")

// maxStrip is how high a picture the browser can take at once: its textures
// end at 16384 pixels.
const maxStrip = 8000

// Picture describes a screenshot.
type Picture struct {
	Format  string // png, jpeg or webp
	Quality int    // 1 to 100, for jpeg and webp; zero: the browser's own
	Clip    *Box   // nil: what is visible
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
	if p.Clip != nil {
		if n := p.Clip.Width * p.Clip.Height; n > MaxPixels {
			return nil, fmt.Errorf("%w: it would have %.0f × %.0f pixels, and %d million are the limit", ErrTooLarge, p.Clip.Width, p.Clip.Height, MaxPixels/1_000_000)
		}
		if p.Clip.Height > maxStrip {
			if p.Format != "png" {
				return nil, fmt.Errorf("%w: at %.0f pixels height only a png can be made", ErrTooLarge, p.Clip.Height)
			}
			return t.stitch(ctx, *p.Clip)
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

// stitch takes a high picture in strips. Only one strip is in memory as pixels
// at a time: the encoder asks for the rows from top to bottom.
func (t *Tab) stitch(ctx context.Context, box Box) ([]byte, error) {
	s := &strips{ctx: ctx, tab: t, box: box, w: int(box.Width), h: int(box.Height)}
	var out bytes.Buffer
	enc := png.Encoder{CompressionLevel: png.BestSpeed}
	if err := enc.Encode(&out, s); err != nil {
		return nil, fmt.Errorf("writing the picture: %w", err)
	}
	if s.err != nil {
		return nil, s.err
	}
	return out.Bytes(), nil
}

// strips is a picture that is taken while it is read.
type strips struct {
	ctx  context.Context
	tab  *Tab
	box  Box
	w, h int
	top  int
	now  image.Image
	err  error
}

func (s *strips) ColorModel() color.Model { return color.NRGBAModel }
func (s *strips) Bounds() image.Rectangle { return image.Rect(0, 0, s.w, s.h) }

// Opaque spares the encoder a pass over all pixels.
func (s *strips) Opaque() bool { return true }

func (s *strips) At(x, y int) color.Color {
	if s.err != nil {
		return color.NRGBA{}
	}
	if s.now == nil || y < s.top || y >= s.top+s.now.Bounds().Dy() {
		s.load(y)
		if s.err != nil {
			return color.NRGBA{}
		}
	}
	return s.now.At(x, y-s.top)
}

func (s *strips) load(y int) {
	h := min(maxStrip, s.h-y)
	b, err := s.tab.capture(s.ctx, Picture{Format: "png", Clip: &Box{X: s.box.X, Y: s.box.Y + float64(y), Width: s.box.Width, Height: float64(h)}})
	if err != nil {
		s.err = err
		return
	}
	s.now, s.err = png.Decode(bytes.NewReader(b))
	s.top = y
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
