package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"troupe/engine"
)

// fileURL is the address of a file in an answer.
var fileURL = regexp.MustCompile(`"(https?://[^"\\]+/files/[A-Za-z0-9_.:-]+)"`)

// fetchFiles fetches the files that a result names into a folder, and returns the result with
// their paths instead of their addresses. A file that cannot be fetched keeps its address.
func (c *connection) fetchFiles(w *environment, r *taskResult, dir string) []byte {
	names := fileNames(r)
	service, err := url.Parse(c.found.url)
	if err != nil {
		return r.raw
	}
	own := map[string]bool{service.Host: true}
	for at := range names {
		if u, err := url.Parse(at); err == nil {
			own[u.Host] = true
		}
	}
	into, done := &folder{dir: dir}, map[string]string{}
	return fileURL.ReplaceAllFunc(r.raw, func(quoted []byte) []byte {
		at := strings.Trim(string(quoted), `"`)
		u, err := url.Parse(at)
		if err != nil || !own[u.Host] { // an address that a page has
			return quoted
		}
		if _, tried := done[at]; !tried {
			done[at], err = fetchFile(w.ctx, at, names[at], into)
			if err != nil {
				fmt.Fprintf(w.stderr, "troupe: %s is not fetched: %v\n", at, err)
			}
		}
		if done[at] == "" {
			return quoted
		}
		path, err := json.Marshal(done[at])
		if err != nil {
			return quoted
		}
		return path
	})
}

// fileNames are readable names for the files whose use is known.
func fileNames(r *taskResult) map[string]string {
	names := map[string]string{}
	add := func(at, name string) {
		if at != "" {
			names[at] = name
		}
	}
	for _, at := range r.Pictures {
		add(at, "screenshot")
	}
	for _, d := range r.Downloads {
		add(d.URL, cmp.Or(d.Name, "download"))
	}
	add(r.Trace, "trace.html")
	add(r.HARFile, "requests.har")
	if e := r.Evidence; e != nil {
		add(e.Screenshot, "failure")
		add(e.HTML, "failure.html")
		add(e.Console, "console.json")
		add(e.Network, "network.json")
	}
	return names
}

// fetchFile fetches one file. Its address is its key: no token goes with it.
func fetchFile(ctx context.Context, at, name string, into *folder) (string, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, at, nil)
	if err != nil {
		return "", err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("the service answers with status %d", resp.StatusCode)
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if name == "" {
		if _, more, err := mime.ParseMediaType(resp.Header.Get("Content-Disposition")); err == nil {
			name = more["filename"]
		}
	}
	if name == "" {
		name = map[string]string{"application/pdf": "page.pdf", "application/json": "file.json"}[kind]
	}
	return into.save(ctx, engine.File{Name: name, ContentType: kind}, resp.Body)
}
