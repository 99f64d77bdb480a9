package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"time"
)

// attack is something that an account or a page does to make the service large.
type attack struct {
	name    string
	plan    string                          // of its account; empty: free
	before  func(program, dir string) error // changes the data of the service before it starts; nil: nothing
	prepare func(*attacker) error           // makes what the attack uses; the service starts anew behind it. Nil: nothing
	play    func(*attacker) error
}

// attacker plays an attack on one service.
type attacker struct {
	ctx    context.Context // ends when the attack has had its time
	client *client
	addr   string // of the service
	site   string // with the hostile pages
	answer int64  // bytes of the largest answer so far
	said   string // how the last answer begins
	kept   string // the task or the batch that was prepared
	mu     sync.Mutex
}

// attackLasts is the time that an attack has.
const attackLasts = 40 * time.Second

var attacks = []attack{
	{name: "30 results of 15 MiB with a trace", play: func(a *attacker) error {
		return a.task(`{"config":{"trace":true},"timeout":35000,"actions":[` + list(30, func(int) string {
			return `{"evaluate":"return 'x'.repeat(15*1048576)"}`
		}) + `]}`)
	}},
	{name: "a failure of 50 KiB, 5,000 times", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"actions":[{"loop":{"repeat":5000,"maxIterations":10000,"do":[{"evaluate":"throw 1 // %s"}]}}]}`,
			strings.Repeat("x", 50<<10)))
	}},
	{name: "20 downloads of 29 MiB", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"config":{"trace":true},"actions":[{"open":"%s/downloads"},{"wait":25000}]}`, a.site))
	}},
	{name: "a file of 6 MiB, uploaded 150 times", play: func(a *attacker) error {
		return a.form(6<<20, fmt.Sprintf(`{"timeout":35000,"config":{"continueOnError":false},"actions":[{"open":"%s/upload"},%s,{"wait":500}]}`, a.site,
			list(150, func(i int) string { return fmt.Sprintf(`{"uploadFile":["#f%d","$file:0"]}`, i) })))
	}},
	{name: "8 forms of 92 MiB that do not end", play: (*attacker).unfinishedForms},
	{name: "900 responses of 1 MiB that are waited for", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"config":{"actionTimeout":10000},"actions":[%s,{"open":"%s/bodies"},{"wait":15000}]}`,
			list(900, func(i int) string { return fmt.Sprintf(`{"waitForResponse":"/body/%d."}`, i) }), a.site))
	}},
	{name: "an exception of 200 MB", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"actions":[{"open":"%s/text"},{"evaluate":"throw 'x'.repeat(2e8)"}]}`, a.site))
	}},
	{name: "console.log of 200 MB", play: func(a *attacker) error {
		return a.task(fmt.Sprintf(`{"timeout":35000,"config":{"trace":"full","onFailure":{"console":true,"html":true,"network":true}},"actions":[{"open":"%s/log"},{"wait":3000},{"find":"#never","options":{"timeout":500}}]}`, a.site))
	}},
	{name: "40 hostile pages at once", play: func(a *attacker) error {
		var all sync.WaitGroup
		errs := make([]error, 2)
		for i := range errs {
			all.Go(func() {
				errs[i] = a.task(fmt.Sprintf(`{"timeout":35000,"queueTimeout":30000,"config":{"trace":"full","actionTimeout":1000,"onFailure":{"console":true,"html":true,"network":true}},"actions":[%s,{"wait":2000},{"getText":"#never"}]}`,
					list(20, func(i int) string {
						page := []string{"log", "titles", "dialogs", "throws"}[i%4]
						return fmt.Sprintf(`{"openNewTab":"%s/%s","options":{"closeOthers":false}}`, a.site, page)
					})))
			})
		}
		all.Wait()
		return errors.Join(errs...)
	}},
}

func list(n int, action func(i int) string) string {
	all := make([]string, n)
	for i := range all {
		all[i] = action(i)
	}
	return strings.Join(all, ",")
}

// task sends a task and reads its answer without keeping it.
func (a *attacker) task(body string) error {
	return a.send("application/json", strings.NewReader(body))
}

func (a *attacker) send(kind string, body io.Reader) error {
	req, err := http.NewRequestWithContext(a.ctx, http.MethodPost, a.client.url+"/", body)
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", kind)
	req.Header.Set("Authorization", "Bearer "+a.client.token)
	res, err := a.client.http.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	var begins strings.Builder
	n, err := io.CopyN(&begins, res.Body, 300)
	if err == nil {
		var more int64
		more, err = io.Copy(io.Discard, res.Body)
		n += more
	} else if errors.Is(err, io.EOF) {
		err = nil
	}
	a.mu.Lock()
	a.answer, a.said = max(a.answer, n), begins.String()
	a.mu.Unlock()
	return err
}

// form sends a task with a file of so many bytes.
func (a *attacker) form(size int, payload string) error {
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	if err := w.WriteField("payload", payload); err != nil {
		return err
	}
	part, err := w.CreateFormFile("files", "file.bin")
	if err != nil {
		return err
	}
	if _, err := part.Write(make([]byte, size)); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	return a.send(w.FormDataContentType(), &body)
}

// unfinishedForms sends forms whose last byte never comes.
func (a *attacker) unfinishedForms() error {
	const file = 23 << 20
	part := "--b\r\nContent-Disposition: form-data; name=\"files\"; filename=\"f\"\r\n\r\n"
	size := 4*(len(part)+file+2) + 100
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			c, err := (&net.Dialer{}).DialContext(a.ctx, "tcp", a.addr)
			if err != nil {
				return
			}
			defer c.Close()
			_ = c.SetDeadline(time.Now().Add(15 * time.Second))
			fmt.Fprintf(c, "POST /v1/ HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Type: multipart/form-data; boundary=b\r\nContent-Length: %d\r\n\r\n",
				a.addr, a.client.token, size)
			for range 4 {
				fmt.Fprint(c, part)
				if _, err := io.CopyN(c, zeroes{}, file); err != nil {
					return // refused, which is what is wanted
				}
				fmt.Fprint(c, "\r\n")
			}
			_, _ = io.Copy(io.Discard, c) // until the service ends it, or the time is over
		})
	}
	all.Wait()
	return nil
}

type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}

// hostileSite serves the pages that the attacks open.
func hostileSite() *httptest.Server {
	pages := map[string]string{
		"/text": "<h1>text</h1>",
		"/downloads": `<script>(async()=>{for(let i=0;i<20;i++){const b=new Blob([new Uint8Array(29*1048576)]);const a=document.createElement('a');
a.href=URL.createObjectURL(b);a.download='f'+i+'.bin';a.click();await new Promise(r=>setTimeout(r,700))}})()</script>`,
		"/upload":  list(150, func(i int) string { return fmt.Sprintf(`<input type=file id=f%d>`, i) }),
		"/bodies":  `<script>(async()=>{for(let i=0;i<900;i+=6)await Promise.all([0,1,2,3,4,5].map(k=>fetch('/body/'+(i+k)+'.').then(r=>r.blob())))})()</script>`,
		"/log":     `<script>console.log('x'.repeat(2e8))</script>`,
		"/titles":  `<script>for(let i=0;i<20;i++){document.title='t'.repeat(2e7)+i;history.replaceState(null,'','?'+'q'.repeat(1e6)+i)}</script>`,
		"/dialogs": `<script>for(let i=0;i<10;i++)alert('d'.repeat(2e7))</script>`,
		"/throws":  `<script>setInterval(()=>{throw 'e'.repeat(5e7)},50)</script>`,
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/body/") {
			w.Header().Set("Content-Type", "text/plain")
			_, _ = io.CopyN(w, zeroes{}, 1<<20)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<!doctype html><body>"+pages[r.URL.Path])
	}))
}
