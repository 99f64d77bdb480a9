package http

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors"
	"troupe/engine"
	"troupe/persistence"
)

// Limits of what a request may carry.
const (
	maxPayload = 1 << 20   // JSON, or the part "payload"
	maxFile    = 25 << 20  // a part "files"
	maxRequest = 100 << 20 // everything together
	maxFiles   = 1000      // parts "files": empty ones cost too

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

// form reads a multipart body part by part, so that files never lie in memory.
type form struct {
	*body
	whole *io.LimitedReader
	seen  bool                   // the payload
	make  func() (string, error) // its folder
	// unkept is the answer where the disk does not take a file.
	unkept func(error) *refusal
}

// readForm reserves room for a form before it reads any of it: all that was
// announced, or what comes of chunks as it comes.
func (s *Server) readForm(ctx *fasthttp.RequestCtx, boundary string, a persistence.Account, id string) (*body, *refusal) {
	f := &form{body: &body{}, make: func() (string, error) { return uploadFolder(s.cfg.Uploads, id) }, unkept: func(err error) *refusal {
		return s.failed(ctx, "keep an upload", persistence.Unwritten(err))
	}}
	size := ctx.Request.Header.ContentLength()
	if size > maxRequest {
		return f.body, tooLarge("The request", maxRequest)
	}
	r := bodyOf(ctx)
	if r == nil {
		return f.body, noPayload()
	}
	held, err := s.cfg.Ledger.Hold(a.ID, s.within(a), int64(max(size, 0)), 0)
	if err != nil {
		return f.body, refuseBy(actors.Unkept(err))
	}
	f.held = held
	if size < 0 {
		size, r = maxRequest, held.Reader(r)
	}
	allowed := s.cfg.RequestTimeout + time.Duration(size/slowestUpload)*time.Second
	_ = ctx.Conn().SetReadDeadline(time.Now().Add(allowed))

	f.whole = &io.LimitedReader{R: r, N: maxRequest + 1}
	parts := multipart.NewReader(f.whole, boundary)
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f.body, f.broken(err)
		}
		if no := f.take(part); no != nil {
			return f.body, no
		}
	}
	if !f.seen {
		return f.body, noPayload()
	}
	var kept int64
	for _, up := range f.files {
		kept += up.Size
	}
	f.held.Shrink(kept)
	return f.body, nil
}

func (f *form) take(part *multipart.Part) *refusal {
	name := part.FormName()
	// What is not known to be the part itself would be kept in its disguise.
	switch code := part.Header.Get("Content-Transfer-Encoding"); strings.ToLower(code) {
	case "", "binary", "8bit", "7bit":
	default:
		return refuseInvalid(engine.Fault{Message: fmt.Sprintf(
			`The part %q has the Content-Transfer-Encoding %q: send it as it is, in binary`, name, code)})
	}
	switch {
	case name == "payload" && f.seen:
		return refuseInvalid(engine.Fault{Message: `There is more than one part "payload": send one`})
	case name == "payload":
		f.seen = true
		b, err := io.ReadAll(io.LimitReader(part, maxPayload+1))
		switch {
		case err != nil:
			return f.broken(err)
		case len(b) > maxPayload:
			return tooLarge(`The part "payload"`, maxPayload)
		}
		f.payload = b
		return nil
	case name == "files":
		return f.keep(part)
	default:
		return refuseInvalid(engine.Fault{Message: fmt.Sprintf(
			`The part %q is unknown: want one "payload" and any number of "files"`, name)})
	}
}

// keep writes a file of the request to the disk, under a name of our choice.
func (f *form) keep(part *multipart.Part) *refusal {
	n := len(f.files)
	if n == maxFiles {
		return refuseText(engine.CodePayloadTooLarge, fmt.Sprintf("There are more than %d files", maxFiles))
	}
	if f.folder == "" {
		dir, err := f.make()
		if err != nil {
			return f.unkept(err)
		}
		f.folder = dir
	}
	if err := f.held.Grow(0, 1); err != nil {
		return refuseBy(actors.Unkept(err))
	}
	up := engine.Upload{
		Name: label(part.FileName(), "file-"+strconv.Itoa(n)),
		Type: mediaType(part.Header.Get("Content-Type")),
		Path: filepath.Join(f.folder, strconv.Itoa(n)),
	}
	out, err := os.OpenFile(up.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return f.unkept(err)
	}
	src := &source{r: io.LimitReader(part, maxFile+1)}
	up.Size, err = io.Copy(out, src)
	if closed := out.Close(); err == nil {
		err = closed
	}
	switch {
	case src.err != nil:
		return f.broken(src.err)
	case err != nil:
		return f.unkept(err)
	case up.Size > maxFile:
		return tooLarge(fmt.Sprintf("The file %q", up.Name), maxFile)
	}
	f.files = append(f.files, up)
	return nil
}

// folderName is the form of the name of a folder for uploads: that of a task's id.
var folderName = regexp.MustCompile(`^task_[0-9a-f]{16}_[0-9]{1,20}$`)

// uploadFolder makes the folder for the files of one request. It is removed with
// all that is in it, so that it has to be a folder of its own, directly below root.
func uploadFolder(root, id string) (string, error) {
	if !folderName.MatchString(id) {
		return "", fmt.Errorf("make a folder for uploads: %q is not the id of a task", id)
	}
	dir := filepath.Join(root, id)
	if err := errors.Join(os.MkdirAll(root, 0o700), os.Mkdir(dir, 0o700)); err != nil {
		return "", fmt.Errorf("make a folder for uploads: %w", err)
	}
	return dir, nil
}

// source remembers whether it was the client that failed, and not our disk.
type source struct {
	r   io.Reader
	err error
}

func (s *source) Read(p []byte) (int, error) {
	n, err := s.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.err = err
	}
	return n, err
}

// broken tells what went wrong with the form.
func (f *form) broken(err error) *refusal {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, persistence.ErrQuota), errors.Is(err, persistence.ErrFull):
		return refuseBy(actors.Unkept(err))
	case f.whole.N <= 0:
		return tooLarge("The request", maxRequest)
	case errors.As(err, &timeout), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return broken(err)
	}
	return refuseInvalid(engine.Fault{Message: "The body is not valid multipart/form-data"})
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

func noPayload() *refusal {
	return refuseInvalid(engine.Fault{Message: `The part "payload" is missing: it holds the request as JSON`})
}

// label makes a file name of a client fit to be shown, or returns other.
func label(name, other string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || strings.ContainsRune(`/\`, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(name, ""))
	if len(name) > 200 {
		name = strings.ToValidUTF8(name[:200], "")
	}
	if strings.Trim(name, ". ") == "" {
		return other
	}
	return name
}

// mediaType returns the type that a client names, if it is one.
func mediaType(t string) string {
	if kind, _, err := mime.ParseMediaType(t); err == nil {
		return kind
	}
	return "application/octet-stream"
}
