package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"troupe/testkit/heap"
	"troupe/testkit/need"
)

// watched is a request that hears of everything that pages tell.
const watched = `"timeout":600000,"config":{"actionTimeout":60000,"trace":true,"onFailure":{"console":true,"network":true}}`

// largePages are pages, and scripts of a task, that give as much as they can where
// nobody has asked for it.
var largePages = map[string]struct{ page, task string }{
	"a line of the console":       {`<script>console.log('x'.repeat(16<<20))</script>`, ``},
	"lines of the console":        {`<script>for(let i=0;i<600;i++)console.log('é'.repeat(32<<10))</script>`, ``},
	"many values in a line":       {`<script>console.log(...Array(8e4).fill('x'.repeat(500)))</script>`, ``},
	"an exception of the page":    {`<script>setTimeout(()=>{throw new Error('x'.repeat(16<<20))})</script>`, ``},
	"an exception of a script":    {``, `{"evaluate":"throw new Error('x'.repeat(16<<20))"},`},
	"a text that a script throws": {``, `{"evaluate":"throw 'x'.repeat(16<<20)"},`},
	"a value that a page changes": {`<script>JSON.stringify=()=>({length:0,toJSON(){return 1},get x(){return 1},valueOf(){return 'x'.repeat(16<<20)}}).valueOf();Object.defineProperty(String.prototype,'length',{get(){return 1}})</script>`, `{"evaluate":"return {toString(){return 1}}"},`},
	"a dialog":                    {`<script>setTimeout(()=>prompt('x'.repeat(16<<20),'y'.repeat(16<<20)))</script>`, ``},
	"a title":                     {`<script>document.title='x'.repeat(16<<20)</script>`, ``},
	"an address":                  {`<script>setTimeout(()=>{for(let i=0;i<20;i++)history.replaceState({},'','/?'+i+'x'.repeat(1<<20))})</script>`, ``},
	"addresses of requests":       {`<script>for(let i=0;i<20;i++)fetch('data:text/plain,'+i+'x'.repeat(1<<20))</script>`, ``},
	"bodies of requests":          {`<script>for(let i=0;i<4;i++)fetch('/post',{method:'POST',body:'x'.repeat(4<<20)})</script>`, ``},
	"names of frames":             {`<script>for(let i=0;i<4;i++){const f=document.createElement('iframe');f.name='x'.repeat(4<<20);document.documentElement.append(f)}</script>`, ``},
	"names of downloads":          {`<a id=a download></a><script>setTimeout(()=>{a.href='data:text/plain,'+'y'.repeat(1<<20);a.download='x'.repeat(16<<20);a.click()})</script>`, ``},
	"an attribute in a message":   {`<p id=p></p><script>p.id='p'+'x'.repeat(16<<20);p.className='y'.repeat(16<<20)</script>`, `{"getValue":"p"},{"click":"p","options":{"timeout":500}},`},
	"a label in a message":        {`<select id=s></select><script>for(let i=0;i<500;i++)s.append(new Option('x'.repeat(32<<10)))</script>`, `{"selectOption":["#s","none"],"options":{"timeout":500}},`},
}

// roomForTexts is how much the heap may grow by while one page does that: texts
// that the browser tells of are cut as they come, so they never count.
const roomForTexts = 48 << 20

// TestPagesDoNotFillTheMemory: whatever a page makes large that no task has asked
// for is never in memory as a whole.
func TestPagesDoNotFillTheMemory(t *testing.T) {
	need.All(t)
	need.NoRace(t)
	for name, c := range largePages {
		t.Run(name, func(t *testing.T) {
			url := hostileServer(t, c.page+`<h1>here</h1>`)
			in := newInstance(t)
			var o *Outcome
			grown := heap.Growth(func() {
				o = play(t, in, fmt.Sprintf(`{%s,"actions":[{"open":"%s/"},%s{"wait":300},{"getText":"h1"},{"find":"#nothing","options":{"timeout":1}}]}`, watched, url, c.task), TaskEnv{SaveFile: (&kept{}).save})
			})
			if grown > roomForTexts {
				t.Errorf("the heap has grown by %d MiB", grown>>20)
			}
			if n := answerBytes(t, o); n > 1<<20 {
				t.Errorf("the answer has %d bytes", n)
			}
			if o.End != EndCompleted {
				t.Errorf("ended as %s with %v", o.End, failuresOf(o))
			}
		})
	}
}

// TestBodiesDoNotFillTheMemory: bodies that a task waits for count together as they
// come, also where the browser has forgotten the first ones.
func TestBodiesDoNotFillTheMemory(t *testing.T) {
	need.NoRace(t)
	body := strings.Repeat("b", 4<<20)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			return
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(srv.Close)
	const bodies = 30
	wait := ""
	for i := range bodies {
		wait += fmt.Sprintf(`{"waitForResponse":"/body%d."},`, i)
	}
	task := fmt.Sprintf(`{"timeout":120000,"config":{"actionTimeout":60000},"actions":[{"open":"%s/"},%s{"evaluate":"for(let i=0;i<%d;i++)await (await fetch('/body'+i+'.')).text()"}]}`,
		srv.URL, wait, bodies)
	in := newInstance(t)
	var o *Outcome
	grown := heap.Growth(func() { o = play(t, in, task, TaskEnv{}) })
	if grown > 5*MaxResult {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	if n := len(o.Failures); o.End != EndCompleted || n < bodies-MaxResult/len(body) || n == bodies || o.Failures[0].Code != CodeInvalidValue {
		t.Errorf("ended as %s with %d failures: %.500v", o.End, n, failuresOf(o))
	}
	if n := len(o.Data) + len(o.Last); n > MaxResult {
		t.Errorf("the result has %d bytes", n)
	}
}

// TestManyLargePagesAtOnce: nor do twenty of them together. Twice as many show the same, and
// most of the time is Chromium's own.
func TestManyLargePagesAtOnce(t *testing.T) {
	need.All(t)
	need.NoRace(t)
	counted(t)
	url := hostileServer(t, `<h1>here</h1><script>const x='x'.repeat(1<<20);document.title=x;for(let i=0;i<3;i++)console.log(x);setTimeout(()=>{throw new Error(x)});for(let i=0;i<3;i++)fetch('data:text/plain,'+x.slice(0,1<<19));setTimeout(()=>alert(x))</script>`)
	const workers, pages = 4, 5
	var all [workers]*instance
	for i := range all {
		all[i] = newInstance(t)
	}
	grown := heap.Growth(func() {
		var done sync.WaitGroup
		for _, in := range all {
			done.Go(func() {
				o := play(t, in, fmt.Sprintf(`{%s,"actions":[{"open":"%s/"},%s{"evaluate":"throw 'y'.repeat(16<<20)"},{"getText":"h1"}]}`, watched, url, strings.Repeat(`{"openNewTab":"`+url+`/"},`, pages-1)), TaskEnv{SaveFile: (&kept{}).save})
				if string(o.Data) != `"here"` {
					t.Errorf("ended as %s with %.100s, %v", o.End, o.Data, failuresOf(o))
				}
			})
		}
		done.Wait()
	})
	if grown > 100<<20 {
		t.Errorf("the heap has grown by %d MiB", grown>>20)
	}
	t.Logf("the heap has grown by %d MiB", grown>>20)
}
