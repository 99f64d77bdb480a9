package engine

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// attacker is a server of pages, and of addresses that do something: /hang never
// answers, /file/N is a download of N MiB, as fast as a fast line, and one without
// end for 0; /over/X answers when X is over.
type attacker struct {
	url, other string // the same server as two sites
	sent       atomic.Int64
	asked      sync.Map // path: number of requests
	gone       sync.Map // path: closed when a download is over
}

func (a *attacker) over(path string) chan struct{} {
	c, _ := a.gone.LoadOrStore(path, make(chan struct{}))
	return c.(chan struct{})
}

func attacks(t *testing.T, pages map[string]string) *attacker {
	t.Helper()
	counted(t)
	a := &attacker{}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := a.asked.LoadOrStore(r.URL.Path, new(atomic.Int64))
		n.(*atomic.Int64).Add(1)
		var size int64
		switch {
		case r.URL.Path == "/hang":
			<-r.Context().Done()
		case strings.HasPrefix(r.URL.Path, "/over/"):
			select {
			case <-a.over(strings.TrimPrefix(r.URL.Path, "/over")):
			case <-r.Context().Done():
			}
		case sscan(r.URL.Path, "/file/%d", &size):
			defer close(a.over(r.URL.Path))
			w.Header().Set("Content-Disposition", `attachment; filename="attack.bin"`)
			if size == 0 { // it begins, and never ends
				w.Write(make([]byte, 1<<20))
				w.(http.Flusher).Flush()
				close(a.over("/begun"))
				<-r.Context().Done()
			}
			for b := make([]byte, 1<<20); size > 0; size-- {
				if _, err := w.Write(b); err != nil {
					return
				}
				a.sent.Add(int64(len(b)))
				time.Sleep(2 * time.Millisecond) // as fast a line as there is; memory is faster than any
			}
		case strings.HasSuffix(r.URL.Path, ".js"):
			w.Header().Set("Content-Type", "text/javascript")
			io.WriteString(w, pages[r.URL.Path])
		default:
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			other := strings.Replace("http://"+r.Host, "127.0.0.1", "localhost", 1)
			io.WriteString(w, strings.ReplaceAll("<!doctype html>"+pages[r.URL.Path], "{{other}}", other))
		}
	}))
	t.Cleanup(srv.Close)
	t.Cleanup(srv.CloseClientConnections)
	a.url, a.other = srv.URL, strings.Replace(srv.URL, "127.0.0.1", "localhost", 1)
	return a
}

func sscan(s, format string, v ...any) bool {
	n, err := fmt.Sscanf(s, format, v...)
	return err == nil && n == len(v)
}

func (a *attacker) count(path string) int64 {
	n, ok := a.asked.Load(path)
	if !ok {
		return 0
	}
	return n.(*atomic.Int64).Load()
}

// nested are pages with a download in a frame that is in a frame of another site:
// the browser tells its tab of no such frame.
func nested(file string) map[string]string {
	return map[string]string{
		"/":       `<h1>x</h1><iframe src="{{other}}/middle"></iframe>`,
		"/middle": `<iframe src="/inner"></iframe>`,
		"/inner":  `<a id=a href="` + file + `" download></a><script>a.click()</script>`,
	}
}

// TestDownloadsOfInnerFramesHaveABudget: whichever frame of a page sends a file, it
// counts, also where other tasks use the browser, and it is nobody's else.
func TestDownloadsOfInnerFramesHaveABudget(t *testing.T) {
	t.Parallel()
	const size = 2000
	a := attacks(t, nested(fmt.Sprintf("/file/%d", size)))
	other, in := newInstance(t), newInstance(t)
	o := play(t, in, fmt.Sprintf(`{"timeout":60000,"config":{"trace":true,"actionTimeout":50000},"actions":[{"open":"%s/"},{"evaluate":"await fetch('/over/file/%d')","options":{"timeout":50000}}]}`, a.url, size), TaskEnv{SaveFile: (&kept{}).save})
	noFailure("")(t, o)
	if n := a.sent.Load() >> 20; n >= size || n < 90 {
		t.Errorf("%d MiB of %d were sent", n, size)
	}
	if steps, _ := json.Marshal(o.Steps); !strings.Contains(string(steps), "larger than 100 MiB") {
		t.Errorf("the steps are %s", steps)
	}
	b := attacks(t, nested("/file/1"))
	o = play(t, in, fmt.Sprintf(`{"timeout":60000,"config":{"actionTimeout":50000},"actions":[{"open":"%s/"},{"evaluate":"await fetch('/over/file/1')"},{"wait":500}]}`, b.url), TaskEnv{SaveFile: (&kept{}).save})
	if len(o.Downloads) != 1 || o.Downloads[0].Size != 1<<20 {
		t.Errorf("the downloads are %v, %v", o.Downloads, o.Warnings)
	}
	for _, c := range []*browser.Context{other.context(), in.context()} {
		if coming, arrived, _ := c.Transfers.Downloading(); coming+arrived > 0 {
			t.Errorf("%d downloads are on their way and %d have arrived", coming, arrived)
		}
	}
}

// TestDownloadsThatDoNotArriveAreTold, those that never end above all.
func TestDownloadsThatDoNotArriveAreTold(t *testing.T) {
	a := attacks(t, map[string]string{"/": `<a id=a href=/file/0>x</a>`})
	in, _ := launch(t)
	o := play(t, in, fmt.Sprintf(`{"timeout":30000,"actions":[{"open":"%s/"},{"click":"#a"},{"evaluate":"await fetch('/over/begun')"},{"wait":300}]}`, a.url), TaskEnv{SaveFile: (&kept{}).save})
	if len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0].Message, "attack.bin was not complete when the list ended") || len(o.Downloads) != 0 {
		t.Errorf("warnings %v, downloads %v, %v", o.Warnings, o.Downloads, failuresOf(o))
	}
	ctx, cancel := contextFor(10 * time.Second)
	defer cancel()
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	select {
	case <-a.over("/file/0"):
	case <-time.After(10 * time.Second):
		t.Error("it is still being downloaded after the reset")
	}
}

// TestStateHasABound: what sites store of a session is in memory as long as it lives,
// so that they cannot make it as large as they like, nor keep it from being saved.
func TestStateHasABound(t *testing.T) {
	need.NoRace(t)
	const most = 9 << 20
	a := attacks(t, map[string]string{"/": `<h1>x</h1>`})
	in := newInstance(t)
	visits := ""
	for i := range 4 {
		visits += fmt.Sprintf(`{"open":"%s/"},{"evaluate":"localStorage.a='x'.repeat(4<<20);return 1"},`, strings.Replace(a.other, "localhost", fmt.Sprintf("s%d.localhost", i), 1))
	}
	escapes := strings.Replace(a.other, "localhost", "escapes.localhost", 1)
	o := play(t, in, fmt.Sprintf(`{"timeout":60000,"actions":[%s{"open":"%s/"},{"evaluate":"localStorage.a='\\u0001'.repeat(4<<20);return 1"},{"open":"%s/"},{"evaluate":"localStorage.mine='small';return 1"}]}`, visits, escapes, a.url), TaskEnv{})
	noFailure(`1`)(t, o)
	ctx, cancel := contextFor(2 * time.Minute)
	defer cancel()
	state, err := in.Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if len(state) > most || len(state) < 1<<20 || !strings.Contains(string(state), `["mine","small"]`) {
		t.Errorf("the state has %d bytes: …%s", len(state), state[max(0, len(state)-300):])
	}
	second := newInstance(t)
	if err := second.Restore(ctx, state, nil); err != nil {
		t.Fatal(err)
	}
	o = play(t, second, `{"actions":[{"evaluate":"return localStorage.mine"}]}`, TaskEnv{})
	if string(o.Data) != `"small"` || len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0].Message, "storages") {
		t.Errorf("restored: %s %v %v", o.Data, o.Warnings, failuresOf(o))
	}
}

// survivors are workers, and a page that does not let itself be left.
var survivors = map[string]string{
	"/":        `<h1>x</h1><script>addEventListener('beforeunload',()=>{const e=Date.now()+1e6;while(Date.now()<e);});addEventListener('pagehide',()=>{for(;;)navigator.sendBeacon('/late')})</script>`,
	"/quiet":   `<p>quiet</p>`,
	"/loop.js": `setInterval(()=>fetch('/alive'),10);setInterval(()=>{const e=Date.now()+20;while(Date.now()<e);},5)`,
	"/sw.js":   `oninstall=e=>e.waitUntil(skipWaiting());onactivate=e=>e.waitUntil(new Promise(()=>{setInterval(()=>fetch('/alive'),10)}))`,
}

// TestNothingSurvivesAReset: no worker of any kind goes on, nor does a page that
// does not end, and the next task has all of the browser.
func TestNothingSurvivesAReset(t *testing.T) {
	a := attacks(t, survivors)
	in, _ := launch(t)
	before := kinds(t, in.browser.PID())["renderer"]
	o := play(t, in, fmt.Sprintf(`{"timeout":30000,"actions":[{"open":"%s/"},{"click":"h1"},{"evaluate":"window.w=[new Worker('/loop.js'),new SharedWorker('/loop.js')];await navigator.serviceWorker.register('/sw.js');navigator.locks.request('l',()=>new Promise(()=>{}));new BroadcastChannel('b');return 1"},{"waitForEvent":"load"}]}`, a.other), TaskEnv{})
	noFailure("")(t, o)
	wait.Until(t, "the workers to run", func() bool { return a.count("/alive") > 5 })
	ctx, cancel := contextFor(10 * time.Second)
	defer cancel()
	began := time.Now()
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second+standstill {
		t.Errorf("resetting took %v", took)
	}
	wait.Until(t, "the processes of the task to end", func() bool { return kinds(t, in.browser.PID())["renderer"] <= before })
	n := a.count("/alive")
	o = play(t, in, fmt.Sprintf(`{"timeout":20000,"actions":[{"open":"%s/quiet"},{"wait":300},{"getText":"p"}]}`, a.other), TaskEnv{})
	noFailure(`"quiet"`)(t, o)
	if late := a.count("/alive") - n; late > 0 {
		t.Errorf("%d requests of the task before came after its end", late)
	}
}

// TestTasksHearNothingOfEachOther: two tasks on pages of one site, at one time in one
// browser, have no channel between them.
func TestTasksHearNothingOfEachOther(t *testing.T) {
	t.Parallel()
	a := attacks(t, map[string]string{"/": `<h1>x</h1>`, "/sw.js": ``,
		"/shared.js": `let n=0;onconnect=e=>e.ports[0].postMessage(++n)`})
	first, second := newInstance(t), newInstance(t)
	plant := `window.name='MARK';const b=new BroadcastChannel('c');b.onmessage=()=>b.postMessage('MARK');window.b=b;navigator.locks.request('MARK',()=>new Promise(()=>{}));
		window.s=new SharedWorker('/shared.js');await new Promise(r=>{s.port.onmessage=r});window.o=open('/?opened','POP');await navigator.storage.persist();await Notification.requestPermission();
		document.cookie='MARK=1';await navigator.wakeLock?.request('screen').catch(()=>{});await document.documentElement.requestFullscreen().catch(()=>{});
		return URL.createObjectURL(new Blob(['MARK']))`
	o := play(t, first, fmt.Sprintf(`{"timeout":20000,"actions":[{"open":"%s/"},{"evaluate":%q}]}`, a.other, plant), TaskEnv{})
	var blob string
	if err := json.Unmarshal(o.Data, &blob); err != nil || !strings.HasPrefix(blob, "blob:") {
		t.Fatalf("%s %v", o.Data, failuresOf(o))
	}
	look := `const heard=await new Promise(r=>{const b=new BroadcastChannel('c');b.onmessage=e=>r(e.data);b.postMessage('?');setTimeout(()=>r('nothing'),300)});
		const s=new SharedWorker('/shared.js');const users=await new Promise(r=>{s.port.onmessage=e=>r(e.data)});
		const w=open('','POP');await new Promise(r=>setTimeout(r,50));const there=w&&w.location.href;w&&w.close();
		const blob=await fetch(` + "`" + blob + "`" + `).then(r=>r.text(),()=>'none');
		return [window.name,heard,users,(await navigator.locks.query()).held.length,there,blob,document.cookie,!!document.fullscreenElement,await navigator.storage.persisted()]`
	o = play(t, second, fmt.Sprintf(`{"timeout":20000,"actions":[{"open":"%s/"},{"evaluate":%q}]}`, a.other, look), TaskEnv{})
	noFailure(`["","nothing",1,0,"about:blank","none","",false,false]`)(t, o)
	// The control: the same page in the task's own browser finds what was planted.
	o = play(t, first, fmt.Sprintf(`{"timeout":20000,"actions":[{"openNewTab":"%s/","options":{"closeOthers":false}},{"evaluate":%q}]}`, a.other, look), TaskEnv{})
	if s := string(o.Data); !strings.Contains(s, `"MARK",2,1,`) || !strings.Contains(s, `MARK=1`) {
		t.Errorf("the control finds %s %v", s, failuresOf(o))
	}
}

// TestSelectorsWithoutEndStopWithTheTask: engines of selectors do not let themselves
// be interrupted, and their processes end all the same.
func TestSelectorsWithoutEndStopWithTheTask(t *testing.T) {
	url := serve(t, "<!doctype html><body><script>for(let i=0;i<3000;i++)document.body.append(document.createElement('p'))</script>")
	in, _ := launch(t)
	before := kinds(t, in.browser.PID())["renderer"]
	began := time.Now()
	o := play(t, in, fmt.Sprintf(`{"config":{"actionTimeout":1000},"timeout":15000,"actions":[{"open":%q,"options":{"timeout":8000}},{"wait":1},{"find":"//*[count(//*[count(//*[count(//*) > 1]) > 1]) > 1]"},{"getText":"p"}]}`, url), TaskEnv{})
	failsWith(CodeTimeout, CodeTimeout)(t, o)
	if took := time.Since(began); took > 15*time.Second+standstill {
		t.Errorf("took %v", took)
	}
	ctx, cancel := contextFor(10 * time.Second)
	defer cancel()
	began = time.Now()
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took > 2*time.Second+standstill {
		t.Errorf("resetting took %v", took)
	}
	wait.Until(t, "the page's process to end", func() bool { return kinds(t, in.browser.PID())["renderer"] <= before })
	o = play(t, in, fmt.Sprintf(`{"timeout":10000,"actions":[{"open":%q},{"evaluate":"return 1"}]}`, url), TaskEnv{})
	noFailure(`1`)(t, o)
}
