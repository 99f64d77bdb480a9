package http

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/admin"
	"troupe/http/answer"
	"troupe/http/flows"
	"troupe/http/gate"
	"troupe/persistence"
)

// Limits of what a request may carry.
const (
	maxPayload  = 1 << 20       // JSON, or the part "payload"
	maxJSONBody = admin.MaxBody // JSON that is no task, as over the private socket
	maxFile     = 25 << 20      // a part "files"
	maxRequest  = 100 << 20     // everything together
	maxFiles    = 1000          // parts "files": empty ones cost too

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
	weight  *gate.Weight      // of the payload, and of the flows that it runs
}

// remove deletes the files. It is called once the task has ended.
func (b *body) remove() {
	if b.folder != "" {
		_ = os.RemoveAll(b.folder)
	}
	b.held.Release()
	b.weight.Release()
}

// bodyReader reads the bodies of requests.
type bodyReader struct {
	gate        *gate.Gate // of what open requests have in memory
	uploads     string     // the folder for files
	ledger      *persistence.Ledger
	within      func(persistence.Account) persistence.Allowance
	timeout     time.Duration // for headers and a small body to arrive
	disconnects *disconnectDetector
	base        context.Context // of every request
	faults      *answer.Faults
}

// within is how much an account may keep.
func (s *Server) within(a persistence.Account) persistence.Allowance {
	l := (*s.limits.Load())[engine.Plan(a.Plan)]
	return persistence.Allowance{Bytes: l.StorageBytes, Files: l.StorageFiles}
}

// readTask reads the body of a task's request, which may be a form with files. The
// caller removes it also when it is refused.
func (rd *bodyReader) readTask(ctx *fasthttp.RequestCtx, a persistence.Account, id string) (*body, *answer.Refusal) {
	boundary, no := contentOf(ctx, true)
	switch {
	case no != nil:
		return &body{}, no
	case boundary != "":
		return rd.readForm(ctx, boundary, a, id)
	}
	return rd.readJSON(ctx, maxPayload, a.ID)
}

// readJSONBody reads a body that is JSON: whatever else is asked for uses no files, and
// says it in few words.
func (rd *bodyReader) readJSONBody(ctx *fasthttp.RequestCtx, account string) (*body, *answer.Refusal) {
	if _, no := contentOf(ctx, false); no != nil {
		return &body{}, no
	}
	return rd.readJSON(ctx, maxJSONBody, account)
}

// contentOf says what a body is by its headers alone: a form if it has a
// boundary, else JSON. Other bodies, and forms where none is accepted, are not read.
func contentOf(ctx *fasthttp.RequestCtx, forms bool) (boundary string, no *answer.Refusal) {
	if e := string(ctx.Request.Header.ContentEncoding()); e != "" && !strings.EqualFold(e, "identity") {
		return "", answer.RefuseText(engine.CodeUnsupportedMediaType, "Content-Encoding is not supported: send the body as it is")
	}
	kind, params, err := mime.ParseMediaType(string(ctx.Request.Header.ContentType()))
	if err != nil {
		if b := bareBoundary(string(ctx.Request.Header.ContentType())); b != "" {
			kind, params, err = "multipart/form-data", map[string]string{"boundary": b}, nil
		}
	}
	switch {
	case err == nil && kind == "application/json":
		if c := params["charset"]; !slices.Contains(utf8Names, strings.ToLower(c)) {
			return "", answer.RefuseText(engine.CodeUnsupportedMediaType, fmt.Sprintf("The charset %q of the Content-Type is not supported: send JSON in UTF-8", c))
		}
		return "", nil
	case !forms:
		return "", answer.RefuseText(engine.CodeUnsupportedMediaType, `The Content-Type must be "application/json" (in UTF-8)`)
	case err == nil && kind == "multipart/form-data" && params["boundary"] != "":
		return params["boundary"], nil
	}
	return "", answer.RefuseText(engine.CodeUnsupportedMediaType,
		`The Content-Type must be "application/json" (in UTF-8) or "multipart/form-data" with a boundary`)
}

// bareBoundary finds the boundary of a form whose Content-Type has it without quotes,
// though it has characters that want them, such as "=": many clients send it so.
func bareBoundary(contentType string) string {
	kind, rest, _ := strings.Cut(contentType, ";")
	if !strings.EqualFold(strings.TrimSpace(kind), "multipart/form-data") {
		return ""
	}
	for part := range strings.SplitSeq(rest, ";") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		if strings.EqualFold(strings.TrimSpace(name), "boundary") && boundaryShape.MatchString(value) {
			return value
		}
	}
	return ""
}

// boundaryShape is a boundary as RFC 2046 has it.
var boundaryShape = regexp.MustCompile(`^[0-9A-Za-z'()+_,./:=? -]{0,69}[0-9A-Za-z'()+_,./:=?-]$`)

// readJSON reads a body of JSON, which counts for an account. The caller removes it.
func (rd *bodyReader) readJSON(ctx *fasthttp.RequestCtx, most int, account string) (*body, *answer.Refusal) {
	b := &body{weight: rd.gate.Weigh(account)}
	ctx.SetUserValue(bodyKey{}, b.weight)
	size := ctx.Request.Header.ContentLength()
	if size > most {
		return b, tooLarge("The body", most)
	}
	r := bodyOf(ctx)
	if r == nil {
		return b, nil
	}
	var err error
	if r = (&meteredReader{r, b.weight}); size >= 0 {
		b.payload, err = readAnnounced(r, size)
	} else {
		b.payload, err = io.ReadAll(io.LimitReader(r, int64(most)+1))
	}
	switch {
	case err != nil:
		return b, broken(err)
	case len(b.payload) > most:
		return b, tooLarge("The body", most)
	}
	b.payload = bytes.TrimPrefix(b.payload, []byte(byteOrderMark))
	return b, nil
}

// beginParse waits for the turn of a large payload, as long as a request may take
// to arrive. Small ones have no turns.
func (rd *bodyReader) beginParse(ctx *fasthttp.RequestCtx, b *body) (end func(), no *answer.Refusal) {
	return rd.turn(ctx, len(b.payload))
}

// turn waits for the turn of so many bytes.
func (rd *bodyReader) turn(ctx *fasthttp.RequestCtx, size int) (end func(), no *answer.Refusal) {
	if size <= engine.SmallBody {
		return func() {}, nil
	}
	listening, stop := rd.disconnects.track(rd.base, ctx.Conn())
	defer stop()
	patient, cancel := context.WithTimeout(listening, rd.timeout)
	defer cancel()
	end, err := engine.BeginParse(patient, size)
	switch {
	case err != nil && listening.Err() != nil:
		return nil, rd.faults.Refuse(ctx, "parse a request", err)
	case err != nil:
		return nil, answer.RefuseText(engine.CodeRateLimited, fmt.Sprintf(
			"The service already reads as many requests above %d KiB as it can: retry, or send a smaller one", engine.SmallBody>>10))
	}
	return end, nil
}

// stored are the flows of an account for a request with a body. Those that it runs count
// like the body: their bytes for the account, and together with it for the turn of large
// requests. The caller calls end when the request was read.
func (s *Server) stored(ctx *fasthttp.RequestCtx, b *body, account persistence.Account) (_ engine.Flows, end func()) {
	from := flows.Of(s.base, s.cfg.Flows, account.ID)
	if from == nil {
		return nil, func() {}
	}
	l := &weighedFlows{Flows: from, account: account, rd: s.bodies, ctx: ctx, body: b, bytes: len(b.payload), end: func() {}}
	return l, func() { l.end() }
}

// weighedFlows are flows that count for a request, and that its token may use.
type weighedFlows struct {
	engine.Flows
	account persistence.Account
	rd      *bodyReader
	ctx     *fasthttp.RequestCtx
	body    *body
	bytes   int
	turn    bool
	end     func() // of the turn
}

// Flow is part of [engine.Flows].
func (l *weighedFlows) Flow(name string, version int) (engine.StoredFlow, error) {
	f, err := l.Flows.Flow(name, version)
	if err == nil && !engine.SitesWithin(f.Sites, l.account.Sites) {
		return f, api.OutsideOf(fmt.Sprintf("the flow %q", name))
	}
	return f, err
}

// Loads is part of [engine.FlowLoader].
func (l *weighedFlows) Loads(n int) error {
	if err := l.body.weight.Add(int64(n)); err != nil {
		return tooMuch(err)
	}
	if l.bytes += n; l.turn || l.bytes <= engine.SmallBody || len(l.body.payload) > engine.SmallBody { // the body has a turn of its own
		return nil
	}
	end, no := l.rd.turn(l.ctx, l.bytes)
	if no != nil {
		return &api.Refusal{Code: no.Code, Text: no.Error, RetryAfter: no.RetryAfter}
	}
	l.turn, l.end = true, end
	return nil
}

// readAnnounced reads as many bytes as were announced. Memory grows with what
// arrives: an announcement costs the client nothing.
func readAnnounced(r io.Reader, size int) ([]byte, error) {
	const first = 16 << 10
	b := make([]byte, min(size, first))
	for have := 0; ; b = append(make([]byte, 0, min(size, 2*have)), b...)[:min(size, 2*have)] {
		n, err := io.ReadFull(r, b[have:])
		if have += n; err != nil || have == size {
			return b[:have], err
		}
	}
}

// broken tells that a body did not arrive.
func broken(err error) *answer.Refusal {
	var timeout interface{ Timeout() bool }
	switch {
	case tooMuch(err) != nil:
		return answer.RefuseBy(tooMuch(err))
	case errors.As(err, &timeout) && timeout.Timeout():
		return answer.RefuseText(answer.CodeIncompleteRequest, "The body did not arrive in time")
	}
	return answer.RefuseText(answer.CodeIncompleteRequest, "The body ended too early, or its chunks are broken")
}

func tooLarge(what string, limit int) *answer.Refusal {
	size := fmt.Sprintf("%d MiB", limit>>20)
	if limit < 1<<20 {
		size = fmt.Sprintf("%d KiB", limit>>10)
	}
	return answer.RefuseText(engine.CodePayloadTooLarge, what+" is larger than "+size)
}
