package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"
)

const (
	// leastCompressed is how large an answer must be to be compressed. Smaller ones fit
	// into a packet or two, and are not worth the time.
	leastCompressed = 4 << 10
	// zstdWindow bounds the memory of an encoder.
	zstdWindow = 1 << 20
)

// zstdEncoder encodes whole answers. It has as many states as answers are compressed at once.
var zstdEncoder = sync.OnceValue(func() *zstd.Encoder {
	e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithWindowSize(zstdWindow),
		zstd.WithEncoderConcurrency(cap(compressing)), zstd.WithLowerEncoderMem(true))
	if err != nil {
		panic(fmt.Errorf("make an encoder: %w", err)) // its options are ours
	}
	return e
})

// compressing bounds how many answers are compressed at once: browsers need the
// processors more. Further answers go out as they are.
var compressing = make(chan struct{}, max(1, runtime.GOMAXPROCS(0)/2))

// compress makes an answer smaller for a client that understands it. Answers that are
// sent while they are made stay as they are, as do parts of files, and what names its
// content by a tag.
func compress(ctx *fasthttp.RequestCtx) {
	r := &ctx.Response
	if r.IsBodyStream() || ctx.UserValue(sharedBody{}) != nil || ctx.IsHead() || len(r.Body()) < leastCompressed || !shrinks(r.Header.ContentType()) ||
		len(r.Header.ContentEncoding()) > 0 || len(r.Header.Peek(fasthttp.HeaderETag)) > 0 || len(r.Header.Peek(fasthttp.HeaderContentRange)) > 0 {
		return
	}
	r.Header.Add(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	coding := codingFor(ctx.Request.Header.PeekAll(fasthttp.HeaderAcceptEncoding))
	if coding == "" {
		return
	}
	select {
	case compressing <- struct{}{}:
		defer func() { <-compressing }()
	default:
		return
	}
	var small []byte
	if coding == "zstd" {
		small = zstdEncoder().EncodeAll(r.Body(), nil)
	} else {
		small = zip(r.Body())
	}
	r.SetBodyRaw(small)
	r.Header.Set(fasthttp.HeaderContentEncoding, coding)
}

// gzipWriters are those that no answer needs now. They are as fast as a network at their
// level.
var gzipWriters = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // which is a level
	return w
}}

func zip(b []byte) []byte {
	var to bytes.Buffer
	w := gzipWriters.Get().(*gzip.Writer)
	defer gzipWriters.Put(w)
	w.Reset(&to)
	_, err := w.Write(b)
	if err = errors.Join(err, w.Close()); err != nil {
		panic(fmt.Errorf("compress an answer: %w", err)) // memory takes all
	}
	return to.Bytes()
}

// shrinks reports whether contents of a media type become smaller.
func shrinks(contentType []byte) bool {
	kind, _, _ := bytes.Cut(contentType, []byte(";"))
	switch string(bytes.TrimSpace(kind)) {
	case "application/json", "text/plain", "text/html", "text/markdown", "image/svg+xml":
		return true
	}
	return false
}

// codingFor is the coding that a client likes best of those that are made here; empty:
// none. A client that only takes anything gets the one that all know.
func codingFor(accepted [][]byte) (best string) {
	quality := map[string]float64{}
	for _, line := range accepted {
		for one := range strings.SplitSeq(string(line), ",") {
			name, rest, _ := strings.Cut(one, ";")
			q := 1.0
			if key, value, ok := strings.Cut(strings.TrimSpace(rest), "="); ok && strings.EqualFold(strings.TrimSpace(key), "q") {
				var err error
				if q, err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
					q = 0
				}
			}
			quality[strings.ToLower(strings.TrimSpace(name))] = q
		}
	}
	if _, named := quality["gzip"]; !named {
		quality["gzip"] = max(quality["x-gzip"], quality["*"])
	}
	if quality["zstd"] > 0 && quality["zstd"] >= quality["gzip"] {
		return "zstd"
	}
	if quality["gzip"] > 0 {
		return "gzip"
	}
	return ""
}
