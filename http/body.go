package http

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/persistence"
)

// Limits of what a request may carry.
const (
	maxPayload = 1 << 20   // JSON, or the part "payload"
	maxFile    = 25 << 20  // a part "files"
	maxRequest = 100 << 20 // everything together
	maxFiles   = 1000      // parts "files": empty ones cost too

	maxPartHeader = 16 << 10 // the header of a part, as that of a request
	maxMediaType  = 255      // the media type of a file; RFC 6838 has 127 on each side

	// slowestUpload is how many bytes a second an upload must bring.
	slowestUpload = 128 << 10
)

// utf8Names are the names that clients give to what UTF-8 reads.
var utf8Names = []string{"", "utf-8", "utf8", "us-ascii", "ascii"}

// body is what a request carries: its own copy of the payload, and files on the
// disk.
type body struct {
	payload []byte
	files   []engine.Upload
	folder  string            // of the files; empty when there are none
	held    *persistence.Hold // room for them
}

// remove deletes the files. It is called once the task has ended.
func (b *body) remove() {
	if b.folder != "" {
		_ = os.RemoveAll(b.folder)
	}
	b.held.Release()
}

// within is how much an account may keep.
func (s *Server) within(a persistence.Account) persistence.Allowance {
	l := (*s.limits.Load())[engine.Plan(a.Plan)]
	return persistence.Allowance{Bytes: l.StorageBytes, Files: l.StorageFiles}
}

// readTask reads the body of a task's request, which may be a form with files. The
// caller removes it also when it is refused.
func (s *Server) readTask(ctx *fasthttp.RequestCtx, a persistence.Account, id string) (*body, *refusal) {
	boundary, no := contentOf(ctx, true)
	switch {
	case no != nil:
		return &body{}, no
	case boundary != "":
		return s.readForm(ctx, boundary, a, id)
	}
	return s.readJSON(ctx)
}

// readOrder reads a body that is JSON: whatever else is asked for uses no files.
func (s *Server) readOrder(ctx *fasthttp.RequestCtx) (*body, *refusal) {
	if _, no := contentOf(ctx, false); no != nil {
		return nil, no
	}
	return s.readJSON(ctx)
}

// contentOf tells what a body is by its headers alone: a form if it has a
// boundary, else JSON. What is neither, or a form where none is taken, is not read.
func contentOf(ctx *fasthttp.RequestCtx, forms bool) (boundary string, no *refusal) {
	if e := string(ctx.Request.Header.ContentEncoding()); e != "" && !strings.EqualFold(e, "identity") {
		return "", refuseText(engine.CodeUnsupportedMediaType, "Content-Encoding is not supported: send the body as it is")
	}
	kind, params, err := mime.ParseMediaType(string(ctx.Request.Header.ContentType()))
	switch {
	case err == nil && kind == "application/json":
		if c := params["charset"]; !slices.Contains(utf8Names, strings.ToLower(c)) {
			return "", refuseText(engine.CodeUnsupportedMediaType, fmt.Sprintf("The charset %q of the Content-Type is not supported: send JSON in UTF-8", c))
		}
		return "", nil
	case !forms:
		return "", refuseText(engine.CodeUnsupportedMediaType, `The Content-Type must be "application/json" (in UTF-8)`)
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		return params["boundary"], nil
	}
	return "", refuseText(engine.CodeUnsupportedMediaType,
		`The Content-Type must be "application/json" (in UTF-8) or "multipart/form-data" with a boundary`)
}

func (s *Server) readJSON(ctx *fasthttp.RequestCtx) (*body, *refusal) {
	b := &body{}
	size := ctx.Request.Header.ContentLength()
	if size > maxPayload {
		return b, tooLarge("The body", maxPayload)
	}
	r := bodyOf(ctx)
	if r == nil {
		return b, nil
	}
	if size >= 0 {
		b.payload = make([]byte, size)
		if _, err := io.ReadFull(r, b.payload); err != nil {
			return b, broken(err)
		}
		return b, nil
	}
	var err error
	b.payload, err = io.ReadAll(io.LimitReader(r, maxPayload+1))
	switch {
	case err != nil:
		return b, broken(err)
	case len(b.payload) > maxPayload:
		return b, tooLarge("The body", maxPayload)
	}
	return b, nil
}

// broken tells that a body did not arrive.
func broken(err error) *refusal {
	var timeout interface{ Timeout() bool }
	if errors.As(err, &timeout) && timeout.Timeout() {
		return refuseText(codeIncompleteRequest, "The body did not arrive in time")
	}
	return refuseText(codeIncompleteRequest, "The body ended too early, or its chunks are broken")
}

func tooLarge(what string, limit int) *refusal {
	return refuseText(engine.CodePayloadTooLarge, fmt.Sprintf("%s is larger than %d MiB", what, limit>>20))
}
