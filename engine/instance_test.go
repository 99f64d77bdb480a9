package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/testkit/leaks"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// launch starts a browser that belongs to the test alone.
func launch(t *testing.T) (*instance, string) {
	t.Helper()
	leaks.Check(t)
	dir, err := os.MkdirTemp("", "troupe-instance-test")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	e := &Chromium{Options: browser.Options{Dir: dir, Log: zerolog.Nop()}}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	in, err := e.Launch(ctx, "w")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("left behind after Close: %v", left)
		}
		os.RemoveAll(dir)
	})
	return in.(*instance), dir
}

// groupMembers counts the processes of a browser's group.
func groupMembers(t *testing.T, pgid int) int {
	t.Helper()
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		rest := string(b)[strings.LastIndexByte(string(b), ')')+2:]
		var state string
		var ppid, pg int
		fmt.Sscan(rest, &state, &ppid, &pg)
		if pg == pgid && state != "Z" {
			n++
		}
	}
	return n
}

func TestACrashIsADefiniteAnswerAtOnce(t *testing.T) {
	need.Browser(t)
	in, dir := launch(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<h1>x</h1>") }))
	defer srv.Close()
	pid := in.browser.PID()
	if groupMembers(t, pid) < 2 {
		t.Fatal("the browser is no group of several processes")
	}
	began := make(chan struct{})
	done := make(chan *Outcome, 1)
	go func() {
		done <- play(t, in, `{"actions":[{"open":"`+srv.URL+`"},{"getText":"#never"}]}`, TaskEnv{OnStep: func(s StepReport) {
			if s.Path == "0" {
				close(began)
			}
		}})
	}()
	<-began
	killed := time.Now()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	select {
	case o := <-done:
		if o.End != EndCrashed || len(o.Failures) != 1 || o.Failures[0].Code != CodeBrowserCrashed {
			t.Errorf("the outcome is %+v", o)
		}
		if took := time.Since(killed); took > 20*time.Second { // the element would be waited for for 30 s
			t.Errorf("the answer took %s", took)
		}
	case <-time.After(wait.Hang):
		t.Fatal("there is no answer")
	}
	<-in.Gone()
	wait.Until(t, "all processes of the group are gone", func() bool { return groupMembers(t, pid) == 0 })
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("folders are left: %v", left)
	}
}

func TestACrashedPageEndsTheTask(t *testing.T) {
	need.Browser(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "<h1>x</h1>") }))
	defer srv.Close()
	for _, meanwhile := range []string{`{"getText":"#never"},{"getText":"#other"}`, `{"wait":20000}`} {
		in, _ := launch(t)
		began := make(chan struct{})
		done := make(chan *Outcome, 1)
		go func() {
			done <- play(t, in, `{"actions":[{"open":"`+srv.URL+`"},`+meanwhile+`]}`, TaskEnv{OnStep: func(s StepReport) {
				if s.Path == "0" {
					close(began)
				}
			}})
		}()
		<-began
		killRenderer(t, in.browser.PID())
		select {
		case o := <-done:
			if o.End != EndCrashed || o.Failures[0].Code != CodeBrowserCrashed {
				t.Errorf("%s: the outcome is %+v", meanwhile, o)
			}
		case <-time.After(8 * time.Second):
			t.Fatalf("%s: there is no answer", meanwhile)
		}
		select {
		case <-in.Gone(): // a browser whose page has crashed is not used again
		case <-time.After(5 * time.Second):
			t.Errorf("%s: the browser is still there", meanwhile)
		}
	}
}

// TestAStoppedBrowserDoesNotAnswer stops all processes of a browser, which closes
// nothing: it is seen by asking only. Its memory is told while it lives.
func TestAStoppedBrowserDoesNotAnswer(t *testing.T) {
	need.Browser(t)
	in, _ := launch(t)
	ctx, cancel := contextFor(30 * time.Second)
	defer cancel()
	if err := in.Check(ctx); err != nil {
		t.Errorf("a browser that lives: %v", err)
	}
	if memory := in.Memory(); memory < 30<<20 || memory > 2<<30 {
		t.Errorf("it takes %d MiB", memory>>20)
	}
	if err := in.browser.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	short, cancel := contextFor(300 * time.Millisecond)
	defer cancel()
	if err := in.Check(short); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stopped browser says %v", err)
	}
	pid := in.browser.PID()
	in.Close()
	if n := groupMembers(t, pid); n != 0 {
		t.Errorf("%d processes are left of a stopped browser", n)
	}
}

// killRenderer kills the pages' processes of a browser of the test's own.
func killRenderer(t *testing.T, pgid int) {
	t.Helper()
	stats, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	killed := 0
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil || !strings.Contains(string(b), "--type=renderer") {
			continue
		}
		var pid int
		fmt.Sscanf(s, "/proc/%d/cmdline", &pid)
		if pg, err := syscall.Getpgid(pid); err != nil || pg != pgid {
			continue
		}
		if syscall.Kill(pid, syscall.SIGKILL) == nil {
			killed++
		}
	}
	if killed == 0 {
		t.Fatal("there is no renderer to kill")
	}
}

func TestEndsOfAContext(t *testing.T) {
	in := newInstance(t)
	for name, c := range map[string]struct {
		cause error
		want  End
	}{"deadline": {context.DeadlineExceeded, EndTimeout}, "client": {ErrClientGone, EndCancelled}, "stop": {ErrDraining, EndInterrupted}, "cancel": {ErrCancelled, EndCancelled}} {
		ctx, cancel := context.WithCancelCause(context.Background())
		task, err := Parse([]byte(`{"actions":[{"getText":"#a"},{"wait":60000}],"config":{"actionTimeout":60000}}`), nil)
		if err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(50*time.Millisecond, func() { cancel(c.cause) })
		start := time.Now()
		o := in.Play(ctx, task, TaskEnv{})
		if o.End != c.want || len(o.Failures) != 0 {
			t.Errorf("%s: the end is %s with %v, want %s", name, o.End, o.Failures, c.want)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: it took %s", name, took)
		}
	}
}

// TestNothingOfATaskIsLeft plants a marker in everything a page can write to
// and lets a second task look for it.
func TestNothingOfATaskIsLeft(t *testing.T) {
	need.Browser(t)
	in, _ := launch(t)
	served := map[string]int{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		served[r.URL.Path]++
		switch r.URL.Path {
		case "/sw.js":
			w.Header().Set("Content-Type", "text/javascript")
			fmt.Fprint(w, "self.addEventListener('fetch', e => { if (e.request.url.endsWith('/mark')) e.respondWith(new Response('MARK')) })")
		case "/cached":
			w.Header().Set("Cache-Control", "max-age=3600")
			fmt.Fprintf(w, "%d", served[r.URL.Path])
		case "/auth":
			if u, _, ok := r.BasicAuth(); ok {
				fmt.Fprint(w, "MARK "+u)
				return
			}
			if r.URL.Query().Has("ask") {
				w.Header().Set("WWW-Authenticate", "Basic")
			}
			w.WriteHeader(http.StatusUnauthorized)
		case "/mark":
			fmt.Fprint(w, "none")
		default:
			w.Header().Set("Content-Type", "text/html")
			http.SetCookie(w, &http.Cookie{Name: "visited", Value: "MARK", MaxAge: 3600})
			fmt.Fprint(w, "<h1>page</h1><input id=clip>")
		}
	}))
	defer srv.Close()
	base := strings.Replace(srv.URL, "127.0.0.1", "localhost", 1) // a secure context
	plant := `{"timeout":20000,"actions":[{"open":"` + base + `/plant"},{"evaluate":"localStorage.m='MARK';sessionStorage.m='MARK';document.cookie='m=MARK;max-age=3600';window.name='MARK';` +
		`await new Promise((ok,no)=>{const r=indexedDB.open('MARK',1);r.onsuccess=ok;r.onerror=no});await (await caches.open('MARK')).put('/x',new Response('MARK'));` +
		`await navigator.serviceWorker.register('/sw.js');await navigator.serviceWorker.ready;await (await fetch('/cached')).text();` +
		`await (await navigator.storage.getDirectory()).getFileHandle('MARK',{create:true});` +
		`const x=new XMLHttpRequest();x.open('GET','/auth?ask',true,'MARK','secret');await new Promise(r=>{x.onloadend=r;x.send()});` +
		`return x.responseText"},{"evaluate":"window.open('about:blank','MARK');return 1"},{"openNewTab":"` + base + `/other","options":{"closeOthers":false}},{"setViewportSize":[400,300]},{"fill":["#clip","MARK"]},{"press":["#clip","Control+A"]},{"press":["#clip","Control+C"]}],"config":{"continueOnError":false}}`
	look := `{"timeout":20000,"actions":[{"open":"` + base + `/look"},{"press":["#clip","Control+V"]},{"evaluate":"return {local:localStorage.m??null,session:sessionStorage.m??null,cookie:document.cookie,name:window.name,` +
		`idb:(await indexedDB.databases()).map(d=>d.name),caches:await caches.keys(),workers:(await navigator.serviceWorker.getRegistrations()).length,` +
		`mark:await (await fetch('/mark')).text(),cached:await (await fetch('/cached')).text(),files:await Array.fromAsync((await navigator.storage.getDirectory()).keys()),` +
		`auth:(await fetch('/auth')).status,clip:clip.value,width:innerWidth,opened:history.length}"}]}`

	k := &kept{}
	before := play(t, in, look, TaskEnv{SaveFile: k.save})
	o := play(t, in, plant, TaskEnv{SaveFile: k.save})
	if o.End != EndCompleted {
		t.Fatalf("planting: %s %v", o.End, o.Failures)
	}
	// The control: without a reset the marks are there.
	found := play(t, in, look, TaskEnv{SaveFile: k.save})
	for _, mark := range []string{`"local":"MARK"`, `m=MARK`, `"idb":["MARK"]`, `"caches":["MARK"]`, `"workers":1`, `"mark":"MARK"`, `"cached":"1"`, `"files":["MARK"]`, `"auth":200`, `"clip":"MARK"`, `"width":400`} {
		if !strings.Contains(string(found.Data), mark) {
			t.Errorf("the control does not find %s in %s", mark, found.Data)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if n := len(in.context().Tabs()); n != 1 {
		t.Errorf("there are %d tabs after a reset", n)
	}
	after := play(t, in, look, TaskEnv{SaveFile: k.save})
	if strings.Contains(strings.ReplaceAll(string(after.Data), "visited=MARK", ""), "MARK") || !strings.Contains(string(after.Data), `"cached":"2"`) || !strings.Contains(string(after.Data), `"auth":401`) {
		t.Errorf("after a reset a task still sees\n%s\nbefore anything ran it was\n%s", after.Data, before.Data)
	}
	if !strings.Contains(string(after.Data), `"width":1280`) {
		t.Errorf("the size of the page is still another: %s", after.Data)
	}
}

func TestAResetWithoutUseIsFree(t *testing.T) {
	in := newInstance(t)
	before := in.context()
	if err := in.Reset(context.Background()); err != nil {
		t.Fatal(err)
	}
	if in.context() != before {
		t.Error("a context that nothing ran in was replaced")
	}
}
