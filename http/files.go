package http

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strconv"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http/answer"
	"troupe/persistence"
)

// filesPath is where files are served. Each has an unguessable name: its address is the
// permission to read it.
const filesPath = "/files/"

// Keep returns what tasks keep their files with: they are stored for ttl and
// can be fetched below base, the address under which clients reach /files. Why one
// could not be kept is for the log: it names folders and hosts of the service. within
// is how much an account of a plan may keep; nil: any amount.
func Keep(files persistence.Files, base string, ttl time.Duration, within func(engine.Plan) persistence.Allowance, log zerolog.Logger) engine.SaveFile {
	base = strings.TrimRight(base, "/")
	if within == nil {
		within = func(engine.Plan) persistence.Allowance { return persistence.Allowance{} }
	}
	return func(ctx context.Context, f engine.File, r io.Reader) (string, error) {
		kept, err := files.Put(ctx, persistence.Blob{
			Account: f.Account, Label: f.Name, ContentType: f.ContentType, Inline: f.Inline,
			Expires: time.Now().Add(ttl), Within: within(f.Plan),
		}, r)
		switch {
		case err == nil:
			return base + "/" + kept.ID, nil
		case ctx.Err() != nil: // nobody waits for it any more
			return "", fmt.Errorf("keep a file: %w", err)
		}
		said := log.Error()
		if errors.Is(err, persistence.ErrQuota) { // which is the account's affair
			said = log.Debug()
		}
		said.Err(err).Str("account", persistence.AccountName(f.Account)).Msg("a file of a task was not kept")
		no := api.RefusalFor(err)
		return "", engine.Problemf(no.Code, "The file could not be kept: %s", no.Text)
	}
}

// file serves one file.
func (s *Server) file(ctx *fasthttp.RequestCtx, id string) *answer.Refusal {
	if s.cfg.Files == nil || !fileID(id) {
		return noFile()
	}
	blob, r, err := s.cfg.Files.Open(s.base, id)
	if errors.Is(err, persistence.ErrNotFound) {
		return noFile()
	}
	if err != nil {
		return s.faults.Refuse(ctx, "open a file", err)
	}
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
	shown, policy := blob.Inline && shows[blob.ContentType] != "", nothing
	if shown {
		policy = shows[blob.ContentType]
	}
	h.Set(fasthttp.HeaderContentSecurityPolicy, policy)
	h.Set(fasthttp.HeaderReferrerPolicy, "no-referrer")
	h.Set(fasthttp.HeaderCacheControl, "private, max-age=3600")
	h.Set(fasthttp.HeaderAcceptRanges, "bytes")
	if shown {
		ctx.SetContentType(blob.ContentType)
		h.Set(fasthttp.HeaderContentDisposition, "inline")
	} else {
		// Whatever a site called it: no browser may run it as one of ours.
		ctx.SetContentType("application/octet-stream")
		h.Set(fasthttp.HeaderContentDisposition, mime.FormatMediaType("attachment",
			map[string]string{"filename": label(blob.Label, id)}))
	}
	return sendRange(ctx, blob.Size, r)
}

// sendRange answers with the part of r that the request asks for, or all of it.
func sendRange(ctx *fasthttp.RequestCtx, size int64, r io.ReadSeekCloser) *answer.Refusal {
	first, last := int64(0), size-1
	// Several ranges at once, and other units than bytes, get the whole file.
	if want := ctx.Request.Header.Peek(fasthttp.HeaderRange); strings.HasPrefix(string(want), "bytes=") &&
		!strings.Contains(string(want), ",") {
		from, to, err := fasthttp.ParseByteRange(want, int(size))
		if err != nil {
			_ = r.Close()
			ctx.Response.Header.Set(fasthttp.HeaderContentRange, "bytes */"+strconv.FormatInt(size, 10))
			return answer.RefuseText(answer.CodeRangeNotSatisfiable, fmt.Sprintf("The file has %d bytes: the Range is outside it", size))
		}
		first, last = int64(from), int64(to)
		ctx.SetStatusCode(fasthttp.StatusPartialContent)
		ctx.Response.Header.Set(fasthttp.HeaderContentRange, fmt.Sprintf("bytes %d-%d/%d", first, last, size))
	}
	if _, err := r.Seek(first, io.SeekStart); err != nil {
		_ = r.Close()
		panic(fmt.Errorf("read a file: %w", err))
	}
	n := last - first + 1
	ctx.SetBodyStream(struct {
		io.Reader
		io.Closer
	}{io.LimitReader(r, n), r}, int(n))
	return nil
}

func noFile() *answer.Refusal {
	return answer.RefuseText(engine.CodeNotFound, "There is no such file: it has expired, or never existed")
}

// fileID reports whether a name can be that of a file at all.
func fileID(id string) bool {
	return len(id) <= 128 && answer.SaneID([]byte(id)) && !strings.HasPrefix(id, ".") && !strings.Contains(id, ":")
}

// shows are the types of files that a browser may show where the service made
// them, each with the policy that it is shown under: none lets anything in it
// run, fetch, or be of the service's origin.
var shows = map[string]string{
	"image/png":        nothing,
	"image/jpeg":       nothing,
	"image/webp":       nothing,
	"application/json": nothing,
	// A trace: text and pictures that are in the file itself.
	"text/html; charset=utf-8": nothing + "; img-src data:; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
}

// nothing is the policy for a file that needs nothing.
const nothing = "sandbox; default-src 'none'"
