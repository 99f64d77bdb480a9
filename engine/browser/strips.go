package browser

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/draw"
	"image/png"
	"io"
	"math"

	"github.com/klauspost/compress/zlib"
)

// stitch takes a large picture in strips, one below the other. Only one strip is in memory
// as pixels at a time.
func (t *Tab) stitch(ctx context.Context, p Picture, scale float64) ([]byte, error) {
	s := &strips{tab: t, box: *p.Clip, css: p.CSS, scale: scale, w: int(math.Round(p.Clip.Width * scale)), h: int(math.Round(p.Clip.Height * scale))}
	var out bytes.Buffer
	file, err := newPNG(&out, s.w, s.h)
	if err != nil {
		return nil, fmt.Errorf("writing the picture: %w", err)
	}
	for y := 0; y < s.h; {
		strip, err := s.load(ctx, y)
		if err != nil {
			return nil, err
		}
		if err := file.add(strip); err != nil {
			return nil, fmt.Errorf("writing the picture: %w", err)
		}
		y += strip.Bounds().Dy()
	}
	if err := file.close(); err != nil {
		return nil, fmt.Errorf("writing the picture: %w", err)
	}
	return out.Bytes(), nil
}

// strips is a picture that is taken in parts. Its pixels are those of the screen, of which
// a CSS pixel has scale × scale.
type strips struct {
	tab   *Tab
	box   Box
	css   bool
	scale float64
	w, h  int
}

// load takes the strip that begins at a row, in pieces where it is wide too. Strips have
// less rows where more than one piece is beside the other.
func (s *strips) load(ctx context.Context, y int) (*image.RGBA, error) {
	most := maxStrip
	if s.w > maxStrip {
		most = max(1, maxStrip*maxStrip/s.w)
	}
	high := s.whole(min(most, s.h-y), s.h-y)
	var strip *image.RGBA
	for x := 0; x < s.w; {
		wide := s.whole(min(maxStrip, s.w-x), s.w-x)
		b, err := s.tab.capture(ctx, Picture{Format: "png", CSS: s.css, Clip: &Box{
			X: s.box.X + float64(x)/s.scale, Y: s.box.Y + float64(y)/s.scale, Width: float64(wide) / s.scale, Height: float64(high) / s.scale,
		}})
		if err != nil {
			return nil, err
		}
		piece, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			return nil, fmt.Errorf("reading a piece of the picture: %w", err)
		}
		if whole, ok := piece.(*image.RGBA); ok && whole.Bounds() == image.Rect(0, 0, s.w, high) {
			return whole, nil
		}
		if strip == nil {
			strip = image.NewRGBA(image.Rect(0, 0, s.w, high))
		}
		draw.Draw(strip, image.Rect(x, 0, x+wide, high), piece, piece.Bounds().Min, draw.Src)
		x += wide
	}
	return strip, nil
}

// whole makes a number of pixels one of whole CSS pixels, where there are more after it.
func (s *strips) whole(n, left int) int {
	if n == left {
		return n
	}
	for k := n; k > n*3/4; k-- {
		if css := float64(k) / s.scale; math.Abs(css-math.Round(css)) < 1e-6 {
			return k
		}
	}
	return n
}

// pngFile writes an opaque picture row by row. The standard library's encoder asks for a
// picture as a whole, or for one pixel at a time, which takes longer than the browser needs
// to draw it.
type pngFile struct {
	out    io.Writer
	chunks *bufio.Writer // gives idat its pieces
	idat   io.WriteCloser
	above  []byte // the row before, as red, green, blue
	row    []byte
	sub    []byte // rows as they are written: the kind of filter, and what it leaves
	up     []byte
}

func newPNG(out io.Writer, w, h int) (*pngFile, error) {
	if _, err := io.WriteString(out, "\x89PNG\r\n\x1a\n"); err != nil {
		return nil, err
	}
	head := binary.BigEndian.AppendUint32(nil, uint32(w))
	head = binary.BigEndian.AppendUint32(head, uint32(h))
	head = append(head, 8, 2, 0, 0, 0) // eight bits, red, green and blue, not interlaced
	if err := pngChunk(out, "IHDR", head); err != nil {
		return nil, err
	}
	f := &pngFile{out: out, above: make([]byte, 3*w), row: make([]byte, 3*w), sub: make([]byte, 1+3*w), up: make([]byte, 1+3*w)}
	f.sub[0], f.up[0] = 1, 2 // as the format numbers its filters
	f.chunks = bufio.NewWriterSize(chunkWriter{out}, 64<<10)
	var err error
	f.idat, err = zlib.NewWriterLevel(f.chunks, zlib.BestSpeed)
	return f, err
}

// add writes the rows of a part below those before.
func (f *pngFile) add(part *image.RGBA) error {
	b := part.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		pix := part.Pix[part.PixOffset(b.Min.X, y):][:4*b.Dx()]
		for from, to := 0, 0; from < len(pix); from, to = from+4, to+3 {
			f.row[to], f.row[to+1], f.row[to+2] = pix[from], pix[from+1], pix[from+2]
		}
		if _, err := f.idat.Write(f.filtered()); err != nil {
			return err
		}
		f.row, f.above = f.above, f.row
	}
	return nil
}

// filtered is the row as differences to the pixel before or to the row above, whichever are
// smaller.
func (f *pngFile) filtered() []byte {
	row, above := f.row, f.above[:len(f.row)]
	sub, up := f.sub[1:][:len(row)], f.up[1:][:len(row)]
	var subs, ups int
	for i, v := range row {
		d := v - above[i]
		up[i] = d
		ups += int(min(d, -d)) // as far from zero as it is
	}
	if ups == 0 {
		return f.up
	}
	copy(sub, row[:min(3, len(row))])
	for i := 3; i < len(row); i++ {
		d := row[i] - row[i-3]
		sub[i] = d
		subs += int(min(d, -d))
	}
	if subs < ups {
		return f.sub
	}
	return f.up
}

func (f *pngFile) close() error {
	if err := f.idat.Close(); err != nil {
		return err
	}
	if err := f.chunks.Flush(); err != nil {
		return err
	}
	return pngChunk(f.out, "IEND", nil)
}

// chunkWriter writes each piece as a chunk of pixels.
type chunkWriter struct{ out io.Writer }

func (c chunkWriter) Write(b []byte) (int, error) { return len(b), pngChunk(c.out, "IDAT", b) }

func pngChunk(out io.Writer, kind string, data []byte) error {
	b := binary.BigEndian.AppendUint32(nil, uint32(len(data)))
	b = append(append(b, kind...), data...)
	b = binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b[4:]))
	_, err := out.Write(b)
	return err
}
