package browser

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"math/rand/v2"
	"testing"
)

// TestPicturesInParts: what is written part by part is read as the same pixels, whatever
// they are like: flat, with text, noise, and of one pixel's width.
func TestPicturesInParts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct{ w, h, noise int }{{1, 1, 256}, {1, 40, 256}, {2, 3, 1}, {640, 211, 1}, {640, 211, 256}, {33, 1000, 3}} {
		whole := image.NewRGBA(image.Rect(0, 0, c.w, c.h))
		for y := range c.h {
			for x := range c.w {
				v := uint8(y / 7 * 9)
				whole.SetRGBA(x, y, color.RGBA{v + uint8(r.IntN(c.noise)), uint8(x) * v, uint8(r.IntN(c.noise)) - v, 255})
			}
		}
		var out bytes.Buffer
		f, err := newPNG(&out, c.w, c.h)
		if err != nil {
			t.Fatal(err)
		}
		for y := 0; y < c.h; {
			high := 1 + r.IntN(c.h-y)
			if err := f.add(whole.SubImage(image.Rect(0, y, c.w, y+high)).(*image.RGBA)); err != nil {
				t.Fatal(err)
			}
			y += high
		}
		if err := f.close(); err != nil {
			t.Fatal(err)
		}
		got, err := png.Decode(&out)
		if err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if rgba, ok := got.(*image.RGBA); !ok || !bytes.Equal(rgba.Pix, whole.Pix) || rgba.Bounds() != whole.Bounds() {
			t.Errorf("%+v: other pixels", c)
		}
	}
}
