package http

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/answer"
	"troupe/persistence"
)

// form reads a multipart body part by part, so that files never lie in memory.
type form struct {
	*body
	whole *io.LimitedReader
	seen  bool                   // the payload
	bare  bool                   // it has no payload
	make  func() (string, error) // its folder
	// unkept is the answer where the disk does not take a file.
	unkept func(error) *answer.Refusal
}

// readForm reserves room for a form before it reads any of it: all that was
// announced, or what comes of chunks as it comes.
func (rd *bodyReader) readForm(ctx *fasthttp.RequestCtx, boundary string, a persistence.Account, id string) (*body, *answer.Refusal) {
	return rd.readFiles(ctx, a, id, func(f *form, r io.Reader) *answer.Refusal { return f.read(r, boundary) })
}

// readFiles lets read take a body that has files.
func (rd *bodyReader) readFiles(ctx *fasthttp.RequestCtx, a persistence.Account, id string, read func(*form, io.Reader) *answer.Refusal) (*body, *answer.Refusal) {
	f := newForm(func() (string, error) { return uploadFolder(rd.uploads, id) }, func(err error) *answer.Refusal {
		return rd.faults.Refuse(ctx, "keep an upload", persistence.Unwritten(err))
	})
	f.weight = rd.gate.Weigh(a.ID)
	ctx.SetUserValue(bodyKey{}, f.weight)
	size := ctx.Request.Header.ContentLength()
	if size > maxRequest {
		return f.body, tooLarge("The request", maxRequest)
	}
	r := bodyOf(ctx)
	if r == nil {
		return f.body, noPayload()
	}
	held, err := rd.ledger.Hold(a.ID, rd.within(a), int64(max(size, 0)), 0)
	if err != nil {
		return f.body, answer.RefuseBy(api.RefusalFor(err))
	}
	f.held = held
	if size < 0 {
		size, r = maxRequest, held.Reader(r)
	}
	allowed := rd.timeout + time.Duration(size/slowestUpload)*time.Second
	_ = ctx.Conn().SetReadDeadline(time.Now().Add(allowed))

	if no := read(f, r); no != nil {
		return f.body, no
	}
	var kept int64
	for _, up := range f.files {
		kept += up.Size
	}
	f.held.Shrink(kept)
	return f.body, nil
}

// newForm makes a form that is not read yet.
func newForm(folder func() (string, error), unkept func(error) *answer.Refusal) *form {
	return &form{body: &body{}, make: folder, unkept: unkept}
}

// read reads all parts.
func (f *form) read(r io.Reader, boundary string) *answer.Refusal {
	f.whole = &io.LimitedReader{R: r, N: maxRequest + 1}
	between := &limitedReader{r: f.whole}
	parts := multipart.NewReader(between, boundary)
	for {
		between.limit(maxPartHeader)
		part, err := parts.NextRawPart()
		between.unlimit()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return f.broken(err)
		}
		if no := f.take(part); no != nil {
			return no
		}
	}
	if !f.seen && !f.bare {
		return noPayload()
	}
	return nil
}

// errPartHeader is the error of a form with too much before or around its parts.
var errPartHeader = errors.New("the header of a part is too long")

// limitedReader bounds how much is read of headers, which the reader of parts keeps in
// memory.
type limitedReader struct {
	r       io.Reader
	left    int
	limited bool
}

func (b *limitedReader) limit(n int) { b.left, b.limited = n, true }
func (b *limitedReader) unlimit()    { b.limited = false }

func (b *limitedReader) Read(p []byte) (int, error) {
	if !b.limited {
		return b.r.Read(p)
	}
	if b.left <= 0 {
		return 0, errPartHeader
	}
	n, err := b.r.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

func (f *form) take(part *multipart.Part) *answer.Refusal {
	name := part.FormName()
	// A part with an unknown encoding would be stored encoded.
	switch code := part.Header.Get("Content-Transfer-Encoding"); strings.ToLower(code) {
	case "", "binary", "8bit", "7bit":
	default:
		return answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf(
			`The part %q has the Content-Transfer-Encoding %q: send it as it is, in binary`, label(name, ""), label(code, ""))})
	}
	switch {
	case f.bare && name != "files":
		return answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf(`The part %q is unknown: want any number of "files"`, label(name, ""))})
	case name == "payload" && f.seen:
		return answer.RefuseInvalid(lang.Fault{Message: `There is more than one part "payload": send one`})
	case name == "payload":
		f.seen = true
		b, err := io.ReadAll(io.LimitReader(&meteredReader{part, f.weight}, maxPayload+1))
		switch {
		case err != nil:
			return f.broken(err)
		case len(b) > maxPayload:
			return tooLarge(`The part "payload"`, maxPayload)
		}
		f.payload = bytes.TrimPrefix(b, []byte(byteOrderMark))
		return nil
	case name == "files":
		return f.keep(part, part.FileName(), part.Header.Get("Content-Type"))
	default:
		return answer.RefuseInvalid(lang.Fault{Message: fmt.Sprintf(
			`The part %q is unknown: want one "payload" and any number of "files"`, label(name, ""))})
	}
}

// keep writes a file of the request to the disk, under a name of our choice.
func (f *form) keep(r io.Reader, name, kind string) *answer.Refusal {
	n := len(f.files)
	if n == maxFiles {
		return answer.RefuseText(engine.CodePayloadTooLarge, fmt.Sprintf("There are more than %d files", maxFiles))
	}
	if f.folder == "" {
		dir, err := f.make()
		if err != nil {
			return f.unkept(err)
		}
		f.folder = dir
	}
	if err := f.held.Grow(0, 1); err != nil {
		return answer.RefuseBy(api.RefusalFor(err))
	}
	up := engine.Upload{
		Name: label(name, "file-"+strconv.Itoa(n)),
		Type: mediaType(kind),
		Path: filepath.Join(f.folder, strconv.Itoa(n)),
	}
	out, err := os.OpenFile(up.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return f.unkept(err)
	}
	src := &source{r: io.LimitReader(r, maxFile+1)}
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

// broken says what went wrong with the form.
func (f *form) broken(err error) *answer.Refusal {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, persistence.ErrQuota), errors.Is(err, persistence.ErrFull):
		return answer.RefuseBy(api.RefusalFor(err))
	case tooMuch(err) != nil:
		return broken(err)
	case errors.Is(err, errPartHeader):
		return answer.RefuseText(engine.CodePayloadTooLarge, fmt.Sprintf("The header of a part, or the text before it, is larger than %d KiB", maxPartHeader>>10))
	case f.whole.N <= 0:
		return tooLarge("The request", maxRequest)
	case errors.As(err, &timeout), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return broken(err)
	}
	return answer.RefuseInvalid(lang.Fault{Message: "The body is not valid multipart/form-data"})
}

func noPayload() *answer.Refusal {
	return answer.RefuseInvalid(lang.Fault{Message: `The part "payload" is missing: it holds the request as JSON`})
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
	if kind, _, err := mime.ParseMediaType(t); err == nil && len(kind) <= maxMediaType {
		return kind
	}
	return "application/octet-stream"
}
