package engine

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"
	"unicode/utf8"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// given is a body as the action is to give it.
func (cs *captures) given(ctx context.Context, c *capture, w *browser.Wanted, b []byte) (json.RawMessage, error) {
	m := cs.run.mask
	clean := func() []byte { // before it is turned into something that does not show what is in it
		if utf8.Valid(b) && m.Holds(string(b)) {
			return []byte(m.Text(string(b)).String())
		}
		return b
	}
	switch c.as {
	case "json":
		if b = bytes.TrimPrefix(b, byteOrderMark); !json.Valid(b) || !utf8.Valid(b) {
			return nil, Problemf(CodeInvalidValue, "The response to %q is no JSON: as text or base64 it can be read", c.pattern)
		}
		return json.RawMessage(browser.WellFormed(b)), nil
	case "text":
		if !utf8.Valid(b) {
			return nil, Problemf(CodeInvalidValue, "The response to %q is no text in UTF-8: as base64 or file it can be read", c.pattern)
		}
		return json.Marshal(string(b))
	case "base64":
		return json.Marshal(base64.StdEncoding.EncodeToString(clean()))
	case "file":
		return cs.file(ctx, c, w, clean())
	}
	if !utf8.Valid(b) {
		cs.run.path = c.step.Path
		cs.run.warn("the response to %q is no text, and what is no UTF-8 in it was replaced: as base64 or file gives its bytes", c.pattern)
	}
	return bodyJSON(b), nil
}

// file keeps a body as a file.
func (cs *captures) file(ctx context.Context, c *capture, w *browser.Wanted, b []byte) (json.RawMessage, error) {
	r := cs.run
	if r.env.SaveFile == nil {
		return nil, Problemf(CodeInvalidValue, "the response cannot be kept: this service has no storage for files")
	}
	address, kind := w.Answer()
	d := Downloaded{Name: "response", Size: int64(len(b)), Type: kind, Hash: fmt.Sprintf("%x", sha256.Sum256(b))}
	if u, err := url.Parse(address); err == nil {
		if name := path.Base(u.Path); name != "." && name != "/" {
			d.Name = r.mask.Text(lang.Short(name, 100)).String()
		}
	}
	var err error
	d.URL, err = r.env.SaveFile(ctx, File{Account: r.env.Account, Plan: r.env.Plan, Name: d.Name, ContentType: "application/octet-stream"}, bytes.NewReader(b))
	if err != nil {
		return nil, Problemf(CodeInternal, "the response could not be kept: %s", ErrorText(err))
	}
	return json.Marshal(d)
}

// bodyJSON is a body as JSON: itself if it is, else as a string.
func bodyJSON(b []byte) json.RawMessage {
	if json.Valid(b) && utf8.Valid(b) {
		return json.RawMessage(browser.WellFormed(b))
	}
	s, _ := json.Marshal(strings.ToValidUTF8(string(b), "\uFFFD"))
	return s
}
