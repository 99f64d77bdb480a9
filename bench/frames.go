package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
)

// foreignFrames is how many frames of other sites the page has.
const foreignFrames = 10

// maxFrames is by how much a task with frames of other sites may take longer
// than by the raw client that attaches to them.
const maxFrames = 1.2

// runFrames measures a page with frames of other sites, each in a process of its
// own, beside the raw client that attaches to them, too.
func runFrames(b *bench, p *part) error {
	page, frames, stop, err := foreignSites()
	if err != nil {
		return err
	}
	defer stop()
	was := b.site
	b.site = page
	defer func() { b.site = was }()
	raw := kind{"raw protocol, cleaned", startRaw("-clean", "-frames")}
	list := []work{
		{"F1", "open a page with ten frames of other sites, getText in the page", one(func(b string) string {
			return `{"open":"` + b + `"},{"getText":"#h"}`
		}, is(`"Frames"`))},
		{"F2", "the same, and getText in each frame", one(func(b string) string {
			list := []string{`{"open":"` + b + `"}`}
			for _, f := range frames {
				list = append(list, `{"getText":"#t","options":{"iframe":{"url":"`+f+`"}}}`)
			}
			return strings.Join(list, ",")
		}, is(fmt.Sprintf(`"Frame %d"`, foreignFrames)))},
	}
	p.say("%s", origin(b))
	p.say("One worker, and one tab of the raw client. %s", howPaired)
	for _, w := range list {
		r, err := comparePair(b, w, raw, kind{"troupe", startService})
		if err != nil {
			return err
		}
		p.say("### %s: %s", w.name, w.what)
		p.add(r.table(func(more, first float64) string { return verdict(1+more/first, maxFrames, "at most %.2f ×") }))
		fmt.Printf("%s measured\n", w.name)
	}
	return nil
}

// foreignSites serves a page and its frames. Each address of this machine is a
// site of its own for the browser.
func foreignSites() (page string, frames []string, stop func(), err error) {
	var servers []*httptest.Server
	stop = func() {
		for _, s := range servers {
			s.Close()
		}
	}
	serve := func(host, body string) (string, error) {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			return "", fmt.Errorf("serving a frame at another address of this machine: %w", err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, "<!doctype html>"+body)
		}))
		s.Listener.Close()
		s.Listener = l
		s.Start()
		servers = append(servers, s)
		return s.URL + "/", nil
	}
	body := `<title>Frames</title><h1 id="h">Frames</h1>`
	for n := range foreignFrames {
		f, err := serve(fmt.Sprintf("127.0.0.%d", n+2), fmt.Sprintf(`<p id="t">Frame %d</p>`, n+1))
		if err != nil {
			stop()
			return "", nil, nil, err
		}
		frames = append(frames, f)
		body += `<iframe src="` + f + `" width="200" height="60"></iframe>`
	}
	if page, err = serve("127.0.0.1", body); err != nil {
		stop()
		return "", nil, nil, err
	}
	return page, frames, stop, nil
}

// attachFrames lets the raw client's tab attach to the frames of other sites.
func (r *raw) attachFrames() {
	r.call(r.tab, "Target.setAutoAttach", map[string]any{"autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true}, nil)
}

// attached notes the session of a frame.
func (r *raw) attached(method string, params json.RawMessage) {
	var p struct {
		SessionID  string
		TargetInfo struct{ TargetID string }
	}
	if method != "Target.attachedToTarget" || json.Unmarshal(params, &p) != nil {
		return
	}
	r.mu.Lock()
	r.frames[p.TargetInfo.TargetID] = p.SessionID
	r.mu.Unlock()
}

// frame returns the session of the frame with an address.
func (r *raw) frame(url string) string {
	var list struct {
		TargetInfos []struct{ TargetID, URL string }
	}
	r.call("", "Target.getTargets", map[string]any{"filter": []map[string]any{{"type": "iframe"}}}, &list)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range list.TargetInfos {
		if s := r.frames[t.TargetID]; s != "" && t.URL == url {
			return s
		}
	}
	return r.tab
}
