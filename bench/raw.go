package main

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"troupe/engine/browser"
)

// raw is what a careful person would write against the bare protocol: one
// command for each action, trusted input, no checks, no waiting but where the
// page needs it. It is one browser with one tab; raw_serve.go has the server.
type raw struct {
	mu      sync.Mutex
	w       io.Writer
	next    int
	waiting map[int]chan json.RawMessage
	tab     string // session of the tab
	target  string
	context string
	moved   bool   // the mouse was, since the tab was cleared
	keeper  string // session of the tab that the browser starts with
	dir     string
	picture int
	frames  map[string]string                           // sessions of frames of other sites, by target; nil: not attached to
	events  func(method string, params json.RawMessage) // of the browser; nil: nobody wants them
}

// openRaw starts a browser and makes its tab. The browser is started as the
// service's are, with the sandbox.
func openRaw(path, dir, proxy string, frames bool) (*raw, func(), error) {
	from, to, stop, err := browser.Pipe(browser.Options{Path: path, Dir: dir, Proxy: proxy})
	if err != nil {
		return nil, nil, fmt.Errorf("starting the raw client's browser: %w", err)
	}
	r := &raw{w: to, waiting: map[int]chan json.RawMessage{}, dir: dir}
	if frames {
		r.frames, r.events = map[string]string{}, r.attached
	}
	go r.read(from)
	err = r.keep()
	if err == nil {
		err = r.fresh()
	}
	if err != nil {
		stop()
		return nil, nil, err
	}
	return r, stop, nil
}

func (r *raw) read(f *os.File) {
	br := bufio.NewReaderSize(f, 1<<16)
	for {
		b, err := br.ReadBytes(0)
		if err != nil {
			return
		}
		var m struct {
			ID     int             `json:"id"`
			Result json.RawMessage `json:"result"`
			Error  json.RawMessage `json:"error"`
			Method string          `json:"method"`
			Params json.RawMessage `json:"params"`
		}
		if json.Unmarshal(b[:len(b)-1], &m) != nil {
			continue
		}
		if m.ID == 0 {
			r.mu.Lock()
			told := r.events
			r.mu.Unlock()
			if told != nil {
				told(m.Method, m.Params)
			}
			continue
		}
		r.mu.Lock()
		ch := r.waiting[m.ID]
		delete(r.waiting, m.ID)
		r.mu.Unlock()
		if ch != nil {
			ch <- m.Result
		}
	}
}

func (r *raw) send(session, method string, params any) chan json.RawMessage {
	ch := make(chan json.RawMessage, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.next++
	r.waiting[r.next] = ch
	m := map[string]any{"id": r.next, "method": method, "params": params}
	if session != "" {
		m["sessionId"] = session
	}
	b, _ := json.Marshal(m)
	r.w.Write(append(b, 0))
	return ch
}

func (r *raw) call(session, method string, params, out any) {
	b := <-r.send(session, method, params)
	if out != nil {
		json.Unmarshal(b, out)
	}
}

// keep attaches to the tab that the browser starts with.
func (r *raw) keep() error {
	var list struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	for range 100 { // the tab comes a little after the browser
		r.call("", "Target.getTargets", map[string]any{}, &list)
		for _, t := range list.TargetInfos {
			if t.Type == "page" {
				var s struct {
					ID string `json:"sessionId"`
				}
				r.call("", "Target.attachToTarget", map[string]any{"targetId": t.TargetID, "flatten": true}, &s)
				r.keeper = s.ID
				return nil
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return errors.New("the raw client's browser has no tab")
}

// fresh makes a tab in a new context and overwrites the clipboard, as the
// service does.
func (r *raw) fresh() error {
	if r.context != "" {
		r.call("", "Target.disposeBrowserContext", map[string]any{"browserContextId": r.context}, nil)
		r.call(r.keeper, "Runtime.evaluate", map[string]any{"expression": browser.CopyBlank, "userGesture": true}, nil)
	}
	var c struct {
		ID string `json:"browserContextId"`
	}
	r.call("", "Target.createBrowserContext", map[string]any{}, &c)
	var t struct {
		ID string `json:"targetId"`
	}
	r.call("", "Target.createTarget", map[string]any{"url": "about:blank", "browserContextId": c.ID}, &t)
	var s struct {
		ID string `json:"sessionId"`
	}
	r.call("", "Target.attachToTarget", map[string]any{"targetId": t.ID, "flatten": true}, &s)
	r.call(s.ID, "Emulation.setDeviceMetricsOverride", map[string]any{"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": false}, nil)
	r.context, r.target, r.tab = c.ID, t.ID, s.ID
	if r.frames != nil {
		r.attachFrames()
	}
	if s.ID == "" {
		return fmt.Errorf("the raw client's browser gave no session")
	}
	return nil
}

// cleared makes the tab ready for the next task of its account, with the commands that the
// service needs for that.
func (r *raw) cleared() error {
	var sent []chan json.RawMessage
	if r.moved {
		r.moved = false
		for _, kind := range []string{"mouseMoved", "mouseReleased"} {
			sent = append(sent, r.send(r.tab, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": -1, "y": -1, "button": "none"}))
		}
	}
	r.call(r.tab, "Page.navigate", map[string]any{"url": "about:blank"}, nil)
	if at := r.eval(`window.name='',location.href`); string(at) != `"about:blank"` {
		return fmt.Errorf("the raw client's tab shows %s", at)
	}
	sent = append(sent,
		r.send(r.tab, "Storage.clearDataForOrigin", map[string]any{"origin": "*", "storageTypes": "all"}),
		r.send("", "Storage.clearCookies", map[string]any{"browserContextId": r.context}),
		r.send(r.tab, "Network.clearBrowserCache", map[string]any{}),
		r.send(r.keeper, "Runtime.evaluate", map[string]any{"expression": browser.CopyBlank, "userGesture": true}),
		r.send(r.tab, "Page.resetNavigationHistory", map[string]any{}),
		r.send("", "Browser.getWindowForTarget", map[string]any{"targetId": r.target}))
	for _, s := range sent {
		<-s
	}
	r.call("", "Storage.getCookies", map[string]any{"browserContextId": r.context}, nil)
	return nil
}

func (r *raw) eval(js string) json.RawMessage { return r.evalIn(r.tab, js) }

func (r *raw) evalIn(session, js string) json.RawMessage {
	var res struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
	}
	r.call(session, "Runtime.evaluate", map[string]any{"expression": js, "awaitPromise": true, "returnByValue": true}, &res)
	return res.Result.Value
}

func quote(v any) string { b, _ := json.Marshal(v); return string(b) }

const loaded = `new Promise(r=>{if(document.readyState==='complete')r(1);else addEventListener('load',()=>r(1))})`

// file writes what a command makes.
func (r *raw) file(kind, method string, params map[string]any) json.RawMessage {
	var res struct{ Data string }
	r.call(r.tab, method, params, &res)
	b, _ := base64.StdEncoding.DecodeString(res.Data)
	r.picture++
	path := filepath.Join(r.dir, fmt.Sprintf("%s-%d.%s", r.tab, r.picture, kind))
	os.WriteFile(path, b, 0o600)
	return json.RawMessage(quote(map[string]any{"success": true, "url": "file://" + path}))
}

func (r *raw) act(name string, v json.RawMessage, frame string) json.RawMessage {
	var s string
	json.Unmarshal(v, &s)
	session := r.tab
	if frame != "" {
		session = r.frame(frame)
	}
	switch name {
	case "open":
		r.call(r.tab, "Page.navigate", map[string]any{"url": s}, nil)
		r.eval(loaded)
	case "getText":
		return r.evalIn(session, `document.querySelector(`+quote(s)+`).textContent.trim()`)
	case "waitForElement":
		r.eval(`new Promise(r=>{const f=()=>document.querySelector(` + quote(s) + `)&&(o.disconnect(),r(1));const o=new MutationObserver(f);o.observe(document,{subtree:true,childList:true,attributes:true});f()})`)
	case "evaluate":
		return r.eval("(async()=>{" + s + "})()")
	case "fill":
		var p []string
		json.Unmarshal(v, &p)
		r.eval(`(e=>{e.focus();e.select()})(document.querySelector(` + quote(p[0]) + `))`)
		var last chan json.RawMessage
		for _, c := range p[1] {
			key := map[string]any{"type": "keyDown", "text": string(c), "key": string(c)}
			r.send(r.tab, "Input.dispatchKeyEvent", key)
			last = r.send(r.tab, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": string(c)})
		}
		<-last
	case "click", "check":
		var at struct{ X, Y float64 }
		json.Unmarshal(r.eval(`(e=>{e.scrollIntoViewIfNeeded();const b=e.getBoundingClientRect();return{x:b.x+b.width/2,y:b.y+b.height/2}})(document.querySelector(`+quote(s)+`))`), &at)
		ev := func(kind string, n int) chan json.RawMessage {
			return r.send(r.tab, "Input.dispatchMouseEvent", map[string]any{"type": kind, "x": at.X, "y": at.Y, "button": map[bool]string{true: "left", false: "none"}[n > 0], "clickCount": n})
		}
		r.moved = true
		ev("mouseMoved", 0)
		ev("mousePressed", 1)
		<-ev("mouseReleased", 1)
	case "extractAll":
		var p []json.RawMessage
		json.Unmarshal(v, &p)
		return r.eval(`[...document.querySelectorAll(` + string(p[0]) + `)].map(c=>Object.fromEntries(Object.entries(` + string(p[1]) + `).map(([k,f])=>{const e=c.querySelector(Array.isArray(f)?f[0]:f);return[k,Array.isArray(f)?e.getAttribute(f[1]):e.textContent.trim()]})))`)
	case "selectOption":
		var p []string
		json.Unmarshal(v, &p)
		r.eval(`((e,v)=>{e.value=v;for(const t of ['input','change'])e.dispatchEvent(new Event(t,{bubbles:true}))})(document.querySelector(` + quote(p[0]) + `),` + quote(p[1]) + `)`)
	case "screenshot":
		return r.file("png", "Page.captureScreenshot", map[string]any{"format": "png", "optimizeForSpeed": true})
	case "pdf":
		return r.file("pdf", "Page.printToPDF", map[string]any{"printBackground": true})
	case "loop":
		var l struct {
			Each json.RawMessage
			Do   []struct {
				GetText string
				Options struct{ Push string }
			}
		}
		json.Unmarshal(v, &l)
		var n int
		json.Unmarshal(r.eval(`(window.each=[...document.querySelectorAll(`+string(l.Each)+`)]).length`), &n)
		lists := map[string][]json.RawMessage{}
		for i := range n {
			for _, d := range l.Do {
				inner := strings.TrimPrefix(d.GetText, "$this ")
				text := r.eval(fmt.Sprintf(`each[%d].querySelector(%s).textContent.trim()`, i, quote(inner)))
				lists[d.Options.Push] = append(lists[d.Options.Push], text)
			}
		}
		return json.RawMessage(quote(lists))
	}
	return nil
}
