package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// hostile is a page that fights back, what is done on it, and what must come of
// it within the time.
type hostile struct {
	name   string
	page   string
	task   string        // actions
	config string        // more of the request
	within time.Duration // all of the task: what its times allow, where these are the point, and a moment
	check  func(t *testing.T, o *Outcome)
}

// standstill is how long the machine may stand still beside.
const standstill = 3 * time.Second

// noFailure wants a task that went well.
func noFailure(data string) func(*testing.T, *Outcome) {
	return func(t *testing.T, o *Outcome) {
		t.Helper()
		if o.End != EndCompleted || len(o.Failures) > 0 {
			t.Errorf("ended as %s with %v", o.End, failuresOf(o))
		}
		if data != "" && string(o.Data) != data {
			t.Errorf("data is %.300s, want %s", o.Data, data)
		}
	}
}

// failsWith wants exactly these failures.
func failsWith(codes ...Code) func(*testing.T, *Outcome) {
	return func(t *testing.T, o *Outcome) {
		t.Helper()
		if len(o.Failures) != len(codes) {
			t.Fatalf("ended as %s with %v, want %v", o.End, failuresOf(o), codes)
		}
		for i, c := range codes {
			if o.Failures[i].Code != c {
				t.Errorf("failure %d is %s (%s), want %s", i, o.Failures[i].Code, o.Failures[i].Text, c)
			}
		}
	}
}

// endsAs wants an end, whatever failed.
func endsAs(end End) func(*testing.T, *Outcome) {
	return func(t *testing.T, o *Outcome) {
		t.Helper()
		if o.End != end {
			t.Errorf("ended as %s with %v, want %s", o.End, failuresOf(o), end)
		}
	}
}

func failuresOf(o *Outcome) []string {
	var out []string
	for _, f := range o.Failures {
		out = append(out, fmt.Sprintf("%s %s: %.200s", f.Path, f.Code, f.Text))
	}
	return out
}

// nested is n shadow roots in each other, with a button in the innermost.
const nestedShadows = `<!doctype html><div id=top></div><script>let h=top_=document.getElementById('top');for(let i=0;i<%d;i++){const s=h.attachShadow({mode:'open'});const d=document.createElement('div');d.className='d'+i;s.append(d);h=d}
h.innerHTML='<button class=b>in</button>';h.querySelector('button').onclick=e=>e.target.textContent='pressed '+e.isTrusted</script>`

var hostilePages = []hostile{
	{name: "a script that never ends, in the page", page: `<h1>x</h1><script>for(;;);</script>`,
		task: `{"open":"{{url}}/"},{"getText":"h1"}`, config: `"config":{"actionTimeout":1500,"continueOnError":false}`, within: 4 * time.Second, check: failsWith(CodeTimeout)},
	{name: "a script that never ends, after the load", page: `<h1>x</h1><script>onload=()=>setTimeout(()=>{for(;;);},50)</script>`,
		task: `{"open":"{{url}}/","options":{"timeout":5000}},{"wait":200},{"getText":"h1"},{"click":"h1"},{"evaluate":"return 1"},{"screenshot":"viewport"},{"getCookies":true}`, config: `"config":{"actionTimeout":700}`, within: 14 * time.Second,
		check: failsWith(CodeTimeout, CodeTimeout, CodeTimeout)}, // evaluate ends what runs, so the picture can be taken
	{name: "a handler that never ends", page: `<button id=b onclick="for(;;);">b</button>`,
		task: `{"open":"{{url}}/"},{"click":"#b"},{"getText":"#b"}`, config: `"config":{"actionTimeout":1000}`, within: 6 * time.Second, check: failsWith(CodeTimeout, CodeTimeout)},
	{name: "another page after a script that never ends", page: `<h1>x</h1><script>if(location.search!='?b')onload=()=>setTimeout(()=>{for(;;);},50)</script>`,
		task: `{"open":"{{url}}/"},{"wait":200},{"openNewTab":"{{other}}/?b"},{"getText":"h1"}`, config: `"config":{"actionTimeout":3000}`, within: 8 * time.Second, check: noFailure(`"x"`)},
	{name: "evaluate that never ends", page: `<h1>x</h1>`,
		task: `{"open":"{{url}}/"},{"evaluate":"for(;;);"},{"getText":"h1"}`, config: `"config":{"actionTimeout":1000}`, within: 4 * time.Second, check: failsWith(CodeTimeout)},
	{name: "the task's time ends in a script that never ends", page: `<h1>x</h1><button onclick="for(;;);">b</button>`,
		task: `{"open":"{{url}}/"},{"click":"button"}`, config: `"timeout":2000`, within: 3500 * time.Millisecond, check: endsAs(EndTimeout)},
	{name: "a storm of dialogs", page: `<h1>x</h1><button id=b>b</button><script>b.onclick=()=>{for(let i=0;i<50;i++){alert(i);confirm(i);prompt(i)}b.textContent='done'};for(let i=0;i<50;i++)alert(i)</script>`,
		task: `{"open":"{{url}}/"},{"click":"#b"},{"getText":"#b"}`, within: 12 * time.Second, check: noFailure(`"done"`)},
	{name: "dialogs without end", page: `<h1>x</h1><script>onload=()=>setTimeout(()=>{for(;;)alert(1)},600)</script>`,
		task: `{"open":"{{url}}/"},{"wait":900},{"getText":"h1"}`, config: `"config":{"actionTimeout":1000}`, within: 6 * time.Second, check: failsWith(CodeTimeout)},
	{name: "a thousand popups", page: `<button id=b>b</button><script>b.onclick=()=>{for(let i=0;i<1000;i++)window.open('about:blank')}</script>`,
		task: `{"open":"{{url}}/"},{"click":"#b"},{"evaluate":"return location.href"}`, config: `"timeout":30000`, within: 12 * time.Second, check: endsAs(EndCompleted)},
	{name: "popups by themselves", page: `<h1>x</h1><script>setInterval(()=>window.open('about:blank'),5)</script>`,
		task: `{"open":"{{url}}/"},{"wait":500},{"openNewTab":"{{url}}/quiet"},{"getText":"p"}`, within: 8 * time.Second, check: noFailure(`"quiet"`)},
	{name: "pages that send each other to and fro", page: `<h1>x</h1><script>location.replace('/?'+Math.random())</script>`,
		task: `{"open":"{{url}}/"},{"getText":"h1"},{"getText":"#nope"}`, config: `"config":{"actionTimeout":1500}`, within: 8 * time.Second, check: endsAs(EndCompleted)},
	{name: "a history that fills up", page: `<h1>x</h1><button id=b>b</button><script>b.onclick=()=>b.textContent='ok';let i=0;setInterval(()=>{for(let k=0;k<20;k++)try{history.pushState({},'','/p'+i++);location.hash=i}catch{}},10)</script>`,
		task: `{"open":"{{url}}/"},{"click":"#b"},{"getText":"#b"}`, config: `"config":{"actionTimeout":8000}`, within: 14 * time.Second, check: noFailure(`"ok"`)},
	{name: "a thousand addresses at once", page: `<h1>x</h1>`,
		task: `{"open":"{{url}}/"},{"evaluate":"for(let i=0;i<1000;i++)history.pushState({},'','/p'+i);return location.pathname!='/p999'"}`, within: 5 * time.Second, check: noFailure(`true`)},
	{name: "a button that is removed as it is pressed", page: `<button id=b>b</button><script>addEventListener('mousedown',()=>document.documentElement.replaceChildren(),true)</script>`,
		task: `{"open":"{{url}}/","options":{"timeout":5000}},{"click":"#b"},{"getText":"#b"}`, config: `"config":{"actionTimeout":700}`, within: 5 * time.Second, check: failsWith(CodeElementNotFound)},
	{name: "a page that steals the focus", page: `<input id=a><input id=thief><script>setInterval(()=>thief.focus(),1)</script>`,
		task: `{"open":"{{url}}/"},{"fill":["#a","hello"]},{"getValue":"#a"}`, config: `"config":{"actionTimeout":2000}`, within: 6 * time.Second, check: endsAs(EndCompleted)},
	{name: "a page that scrolls all the time", page: `<div style="height:9000px">x</div><button id=b>b</button><div style="height:9000px"></div><script>b.onclick=()=>b.textContent='ok';setInterval(()=>scrollTo(0,Math.random()*18000),5)</script>`,
		task: `{"open":"{{url}}/"},{"click":"#b"},{"getText":"#b"}`, config: `"config":{"actionTimeout":2000}`, within: 6 * time.Second, check: endsAs(EndCompleted)},
	{name: "a document that is written anew", page: `<h1>old</h1><button id=b>b</button><script>setTimeout(()=>{document.open();document.write('<h1>new</h1><p id=n>late</p>');document.close()},150)</script>`,
		task: `{"open":"{{url}}/"},{"find":"#b","options":{"save":"b"}},{"getText":"#n"},{"getText":"h1"},{"getText":"$b"}`, config: `"config":{"actionTimeout":2000}`, within: 6 * time.Second, check: failsWith(CodeElementGone)},
	{name: "a document that is written without end", page: `<h1>x</h1><script>onload=()=>{setInterval(()=>{document.open();document.write('<h1>y</h1><script>document.title=1<\/script>');document.close()},5)}</script>`,
		task: `{"open":"{{url}}/"},{"wait":50},{"getText":"h1"},{"click":"h1"}`, config: `"config":{"actionTimeout":1500}`, within: 6 * time.Second, check: endsAs(EndCompleted)},
	{name: "a document that changes without end", page: `<h1>x</h1><ul id=u></ul><button id=b>b</button><script>b.onclick=()=>b.textContent='ok';setInterval(()=>{for(let i=0;i<50;i++){const l=document.createElement('li');u.append(l);l.remove()}},0);setTimeout(()=>{const p=document.createElement('p');p.textContent='late';document.body.append(p)},300)</script>`,
		task: `{"open":"{{url}}/"},{"getText":"p"},{"click":"#b"},{"getText":"#b"}`, config: `"config":{"actionTimeout":3000}`, within: 6 * time.Second, check: noFailure(`"ok"`)},
	{name: "fifty shadow roots in each other", page: fmt.Sprintf(nestedShadows, 50),
		task: `{"open":"{{url}}/"},{"click":"button.b"},{"getText":".d0 .d20 button"}`, within: 5 * time.Second, check: noFailure(`"pressed true"`)},
	{name: "fifty frames in each other", page: `<style>body{margin:0}h1{margin:0}</style><script>const n=Number(location.search.slice(1)||0);if(n<50){const f=document.createElement('iframe');f.id='f'+n;f.style.cssText='border:0;width:100vw;height:100vh';document.documentElement.style.overflow='hidden';f.src='/?'+(n+1);document.body?document.body.append(f):document.documentElement.append(f)}else{document.write('<button id=b onclick="this.textContent=\'pressed \'+event.isTrusted">b</button>')}</script>`,
		task: `{"open":"{{url}}/"},{"click":"#b","options":{"iframe":"#f49"}},{"getText":"#b","options":{"iframe":"#f49"}},{"getText":"h1","options":{"timeout":1000}}`, config: `"config":{"actionTimeout":60000},"timeout":120000`, within: 120 * time.Second, check: failsWith(CodeElementNotFound)},
	{name: "a frame that goes elsewhere meanwhile", page: `<iframe id=f src="/quiet"></iframe><script>let i=0;setInterval(()=>f.src='/quiet?'+i++,40)</script>`,
		task: `{"open":"{{url}}/"},{"getText":"p","options":{"iframe":"#f"}},{"click":"p","options":{"iframe":"#f"}},{"getText":"#nope","options":{"iframe":"#f","timeout":500}}`, config: `"config":{"actionTimeout":4000}`, within: 11 * time.Second, check: endsAs(EndCompleted)},
	{name: "twenty megabytes of text", page: `<p id=p></p><b>small</b><script>p.textContent='x'.repeat(20<<20)</script>`,
		task: `{"open":"{{url}}/"},{"getText":"#p"},{"getHTML":"body"},{"extractAll":["p",{"t":"$this"}]},{"evaluate":"return p.textContent"},{"getText":"b"}`, config: `"config":{"actionTimeout":60000},"timeout":120000`, within: 120 * time.Second,
		check: func(t *testing.T, o *Outcome) {
			failsWith(CodeInvalidValue, CodeInvalidValue, CodeInvalidValue, CodeInvalidValue)(t, o)
			for _, f := range o.Failures {
				if !strings.Contains(f.Text, "16777216") {
					t.Errorf("%s does not name the limit", f.Text)
				}
			}
			if string(o.Data) != `"small"` {
				t.Errorf("data is %.100s", o.Data)
			}
		}},
	{name: "a page that closes itself", page: `<button id=b onclick="window.close()">b</button><script>if(location.search=='?w')close()</script>`,
		task: `{"open":"{{url}}/"},{"evaluate":"window.open('/?w');return 1"},{"click":"#b"},{"getText":"#b"}`, config: `"config":{"actionTimeout":1500}`, within: 6 * time.Second, check: endsAs(EndCompleted)},
	{name: "a question before leaving", page: `<input id=a><script>addEventListener('beforeunload',e=>{e.preventDefault();e.returnValue='x'})</script>`,
		task: `{"open":"{{url}}/"},{"fill":["#a","x"]},{"open":"{{url}}/quiet"},{"getText":"p"}`, within: 5 * time.Second, check: noFailure(`"quiet"`)},
	{name: "a page that eats memory", page: `<h1>x</h1><script>onload=()=>setTimeout(()=>{const a=[];for(;;)a.push(new Array(1e7).fill(Math.random()))},50)</script>`,
		task: `{"open":"{{url}}/"},{"wait":400},{"getText":"h1"}`, config: `"config":{"actionTimeout":1500},"timeout":8000`, within: 10 * time.Second,
		check: func(t *testing.T, o *Outcome) {
			// Either it is still at it, or its process has died of it.
			if n := len(o.Failures); n != 1 || o.Failures[0].Code != CodeTimeout && (o.Failures[0].Code != CodeBrowserCrashed || o.End != EndCrashed) {
				t.Errorf("ended as %s with %v", o.End, failuresOf(o))
			}
		}},
}

// TestHostilePages wants a definite answer from every page within its time, and
// that the next task on the same browser finds it clean and working. Such a page
// mostly lets others wait, so two are visited at the same time, each in a
// browser that has survived those before it.
func TestHostilePages(t *testing.T) {
	need.All(t)
	counted(t) // for all of them: a browser outlives the pages that it is visited with
	all := t
	browsers := make(chan *instance, 2)
	for range cap(browsers) {
		browsers <- nil
	}
	for _, h := range hostilePages {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			url := hostileServer(all, h.page)
			in := <-browsers
			good := false
			defer func() {
				if !good { // the next one gets a new browser
					if in != nil {
						in.Close()
					}
					in = nil
				}
				browsers <- in
			}()
			if in == nil {
				in = anyBrowser(t)
			}
			if h.config == "" {
				h.config = `"timeout":30000`
			}
			task := fmt.Sprintf(`{%s,"actions":[%s]}`, h.config, h.task)
			task = strings.NewReplacer("{{url}}", url, "{{other}}", strings.Replace(url, "127.0.0.1", "localhost", 1)).Replace(task)
			began := time.Now()
			o := play(t, in, task, TaskEnv{SaveFile: (&kept{}).save})
			if took := time.Since(began); took > h.within+standstill {
				t.Errorf("took %v, want at most %v", took, h.within+standstill)
			}
			h.check(t, o)
			if o.End == EndCrashed {
				return // the worker gets a new browser
			}
			began = time.Now()
			ctx, cancel := contextFor(10 * time.Second)
			defer cancel()
			if err := in.Reset(ctx); err != nil {
				t.Fatalf("resetting: %v", err)
			}
			reset := time.Since(began)
			next := play(t, in, fmt.Sprintf(`{"config":{"continueOnError":false},"timeout":10000,"actions":[{"open":"%s/quiet"},{"click":"p"},{"getText":"p"}]}`, url), TaskEnv{})
			noFailure(`"quiet"`)(t, next)
			if n := len(in.context().Tabs()); n != 1 {
				t.Errorf("%d tabs are open", n)
			}
			ctx, cancel = contextFor(10 * time.Second)
			defer cancel()
			began = time.Now()
			if err := in.Reset(ctx); err != nil {
				t.Fatalf("resetting after a quiet page: %v", err)
			}
			// A worker that waits for more than two seconds takes a new browser; on a
			// machine that is slow now, it is slow with any page.
			if quiet := time.Since(began); reset > max(2*time.Second+standstill, 10*quiet) {
				t.Errorf("resetting took %v, and %v after a quiet page", reset, quiet)
			}
			good = !t.Failed()
		})
	}
	t.Cleanup(func() {
		for range cap(browsers) {
			if in := <-browsers; in != nil {
				in.Close()
			}
		}
	})
}

func hostileServer(t *testing.T, page string) string {
	t.Helper()
	counted(t)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		if r.URL.Path == "/quiet" {
			w.Write([]byte("<!doctype html><p>quiet</p>"))
			return
		}
		w.Write([]byte(page))
	}))
	t.Cleanup(srv.CloseClientConnections)
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestManyElements wants the frequent actions to stay fast on a large page: their
// time may grow with the page, but not with its square.
func TestManyElements(t *testing.T) {
	in := newInstance(t)
	page := func(n int) string {
		return fmt.Sprintf(`<!doctype html><div id=all></div><script>let s='';for(let i=0;i<%d;i++)s+='<p class=r data-i='+i+'><b>b'+i+'</b></p>';all.innerHTML=s;
const h=document.createElement('div');h.id='host';document.body.append(h);const r=h.attachShadow({mode:'open'});let u='';for(let i=0;i<%d;i++)u+='<i class=r>'+i+'</i>';r.innerHTML=u</script>`, n/2, n/10)
	}
	actions := []string{
		`{"getText":"#host i:last-child"}`, `{"getText":"p:last-child b"}`, `{"find":"//p[last()]"}`, `{"findByText":"b24999"}`, `{"findByAttribute":["data-i","24999"],"options":{"exact":true}}`,
		`{"extractAll":[".r",{"t":"b","i":["$this","data-i"]}]}`, `{"getText":"#nope","options":{"timeout":50}}`, `{"loop":{"each":".r","maxIterations":1000,"do":[{"getText":"$this","options":{"push":"t"}}]}}`,
		`{"click":"p:nth-child(20000)"}`, `{"if":{"condition":".nope","then":[]}}`, `{"scrollY":1000}`,
	}
	small := make([]time.Duration, len(actions))
	for _, size := range []int{5000, 50000} {
		if o := play(t, in, fmt.Sprintf(`{"actions":[{"open":%q}]}`, serve(t, page(size))), TaskEnv{}); len(o.Failures) > 0 {
			t.Fatal(failuresOf(o))
		}
		for i, a := range actions {
			if size == 5000 {
				a = strings.NewReplacer("24999", "2499", "20000", "2000").Replace(a)
			}
			o := play(t, in, `{"actions":[`+a+`]}`, TaskEnv{})
			t.Logf("%8v %s", o.Duration.Round(time.Millisecond), a)
			if len(o.Failures) > 0 && !strings.Contains(a, "#nope") {
				t.Errorf("%s: %v", a, failuresOf(o))
			}
			if size == 5000 {
				small[i] = o.Duration
			} else if o.Duration > max(3*time.Second, 30*small[i]) {
				t.Errorf("%s took %v, and %v on a page a tenth as large", a, o.Duration, small[i])
			}
		}
	}
	o := play(t, in, `{"actions":[{"extractAll":[".r",{"t":"$this"}]}]}`, TaskEnv{})
	var list []any
	if json.Unmarshal(o.Data, &list) != nil || len(list) != 30000 {
		t.Errorf("%d records, want 30000", len(list))
	}
}
