package engine

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"

	"troupe/engine/browser"
	"troupe/engine/egress"
)

// NewChromium is the engine whose browsers, and whose own fetches, reach the
// world through the proxy and nowhere else.
func NewChromium(o browser.Options, out *egress.Proxy) *Chromium {
	o.Proxy = out.Addr()
	client := out.Client()
	return &Chromium{
		Options: o,
		Log:     o.Log,
		Egress: func(ctx context.Context, url string, limit int64) (string, io.ReadCloser, error) {
			return fetch(ctx, client, url, limit)
		},
		Explain: func(url string) (string, string) {
			f, ok := out.Failure(url)
			if !ok {
				return "", ""
			}
			return f.Net, f.Text
		},
	}
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
	if _, p, err := mime.ParseMediaType(res.Header.Get("Content-Disposition")); err == nil && p["filename"] != "" {
		name = p["filename"]
	}
	return name, res.Body, nil
}
