package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	_ "image/jpeg"
	_ "image/png"
	"strconv"
	"strings"
	"testing"
)

// picture compares the file kept last with what is wanted of it: "format",
// "width", "height", and "pixels", colours by place such as "10,20": "#ff0000".
// "name" is the file's. A colour may be off by a little: jpeg is not exact.
func (k *kept) picture(t *testing.T, want map[string]any) (diffs []string) {
	t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	data, ok := k.files[k.last]
	if !ok {
		return []string{"picture: none was kept"}
	}
	differ := func(format string, args ...any) { diffs = append(diffs, "picture: "+fmt.Sprintf(format, args...)) }
	got := map[string]any{"name": k.last[strings.Index(k.last, "-")+1:]}
	img, format, err := image.Decode(bytes.NewReader(data))
	if err != nil && bytes.HasPrefix(data, []byte("RIFF")) && len(data) > 30 && string(data[8:12]) == "WEBP" {
		format = "webp"
		if w, h, ok := webpSize(data); ok {
			got["width"], got["height"] = w, h
		}
	} else if err != nil {
		return []string{"picture: " + err.Error()}
	}
	got["format"] = format
	if img != nil {
		got["width"], got["height"] = float64(img.Bounds().Dx()), float64(img.Bounds().Dy())
	}
	for key, v := range want {
		pixels, isPixels := v.(map[string]any)
		if !isPixels {
			if got[key] != v {
				differ("%s: want %v, got %v", key, v, got[key])
			}
			continue
		}
		if img == nil {
			differ("the pixels of a %s cannot be read", format)
			continue
		}
		for at, colour := range pixels {
			x, y, _ := strings.Cut(at, ",")
			px, _ := strconv.Atoi(x)
			py, _ := strconv.Atoi(y)
			c := color.NRGBAModel.Convert(img.At(px, py)).(color.NRGBA)
			if !near(c, colour.(string)) {
				differ("pixel %s: want %s, got #%02x%02x%02x", at, colour, c.R, c.G, c.B)
			}
		}
	}
	return diffs
}

func near(c color.NRGBA, want string) bool {
	n, err := strconv.ParseUint(strings.TrimPrefix(want, "#"), 16, 32)
	if err != nil {
		return false
	}
	off := func(a uint8, b uint64) bool { return max(uint64(a), b&0xff)-min(uint64(a), b&0xff) > 6 }
	return !off(c.R, n>>16) && !off(c.G, n>>8) && !off(c.B, n)
}

// webpSize reads the size from a webp's first chunk.
func webpSize(b []byte) (w, h float64, ok bool) {
	switch string(b[12:16]) {
	case "VP8 ":
		return float64(binary.LittleEndian.Uint16(b[26:]) & 0x3fff), float64(binary.LittleEndian.Uint16(b[28:]) & 0x3fff), true
	case "VP8L":
		n := binary.LittleEndian.Uint32(b[21:])
		return float64(n&0x3fff + 1), float64(n>>14&0x3fff + 1), true
	case "VP8X":
		return float64(binary.LittleEndian.Uint32(b[24:])&0xffffff + 1), float64(binary.LittleEndian.Uint32(b[27:])&0xffffff + 1), true
	}
	return 0, 0, false
}
