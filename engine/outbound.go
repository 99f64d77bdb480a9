package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"strings"

	"troupe/engine/browser"
	"troupe/engine/egress"
)

// NewChromium is the engine whose browsers, and whose own fetches, reach the
// world through the proxy and nowhere else.
func NewChromium(o browser.Options, out *egress.Proxy) *Chromium {
	o.Proxy = out.Addr()
	out.Admit(o.User())
	return &Chromium{
		Options: o,
		Log:     o.Log,
		out:     out,
	}
}

// newContext makes a context whose traffic goes through the worker's own door.
func (in *instance) newContext(ctx context.Context, b *browser.Browser) (*browser.Context, error) {
	c, err := b.NewContext(ctx, in.proxy)
	if err != nil {
		return c, err
	}
	if in.door != nil {
		c.SetExplain(in.explain)
	}
	if in.mayKeep() {
		err = c.Keep(ctx, in.engine.Isolation != IsolateNone)
	}
	return c, err
}

// explain says why a request through the door failed just now.
func (in *instance) explain(url string) (name, text string) {
	f, ok := in.door.Failure(url)
	if !ok {
		return "", ""
	}
	return f.Net, f.Text
}

// Traffic is how many bytes a task's pages and uploads have moved, heads and TLS
// included.
type Traffic struct {
	In  int64 `json:"bytesIn"`
	Out int64 `json:"bytesOut"`
}

// errSpent is the cause of the end of a task that has moved more than it may.
var errSpent = errors.New("the task has moved as many bytes as it may")

// measured lets a task play through the worker's own door to the proxy. The
// door stays bounded after it: what a session's pages move between its tasks
// counts for the last one.
func (in *instance) measured(ctx context.Context) (bounded context.Context, traffic func() *Traffic, end func()) {
	if in.door == nil {
		return ctx, func() *Traffic { return nil }, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	before := in.door.Traffic()
	in.door.Bound(in.engine.Quota, func() { cancel(errSpent) })
	return ctx, func() *Traffic {
		t := in.door.Traffic().Since(before)
		return &Traffic{In: t.In, Out: t.Out}
	}, func() { cancel(nil) }
}

// ending is why a task was ended for what it did; empty: it was not.
func ending(ctx context.Context) Code {
	cause := context.Cause(ctx)
	var site *siteRefused
	switch {
	case errors.Is(cause, errSpent):
		return CodeEgressQuota
	case errors.As(cause, &site):
		return CodeSiteNotAllowed
	}
	return ""
}

// wasEnded is the failure of whatever ran last when the task was ended for what it did.
func (r *Run) wasEnded(ctx context.Context, action json.RawMessage) {
	top, _, _ := strings.Cut(r.path, "/")
	index, _ := strconv.Atoi(top) // of nothing that ran: the first
	f := Failure{Code: ending(ctx), Index: index, Path: r.path, Iteration: r.blocks.iteration(), Iterations: r.blocks.iterations(), Action: action}
	var site *siteRefused
	if errors.As(context.Cause(ctx), &site) {
		f.Text = r.mask.Text(site.Error()).Short(maxErrorText).String()
	} else {
		f.Text = fmt.Sprintf("The task has sent and received more than %d bytes, which the operator allows", r.engine.Quota)
	}
	r.reports.failed(f, true)
}

// fetch gets a file over HTTP and gives its name and its bytes.
func fetch(ctx context.Context, client *http.Client, url string, limit int64) (string, io.ReadCloser, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return "", nil, err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", nil, err
	}
	switch {
	case res.StatusCode != http.StatusOK:
		res.Body.Close()
		return "", nil, fmt.Errorf("the server answered %s", res.Status)
	case res.ContentLength > limit:
		res.Body.Close()
		return "", nil, fmt.Errorf("it has %d bytes, and %d are the limit", res.ContentLength, limit)
	}
	name := path.Base(res.Request.URL.Path)
	if name == "/" || name == "." { // the page of a site
		name = res.Request.URL.Hostname()
	}
	if _, p, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err == nil && p["filename"] != "" {
		name = p["filename"]
	}
	return name, res.Body, nil
}
