package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"

	"troupe/engine/egress/demo"
)

// agentSite serves the pages that agents work on, and knows what they have done there:
// whether a job is done is seen here, and not in what a tool says of itself.
type agentSite struct {
	*httptest.Server
	mu      sync.Mutex
	todos   string     // the list as the page has it now
	shipped []string   // orders
	forms   url.Values // the form of three steps, as it was sent
	contact url.Values // what was sent to the shop, by a signed-in visitor
	user    string     // who signed in there
}

// Facts of the pages that jobs ask for.
const (
	wantedOrder  = 1317
	wantedOption = 211
)

func orderAmount(i int) string                { return fmt.Sprintf("€%d.%02d", 20+i*7%900, i*13%100) }
func optionDefault(i int) int                 { return 1000 + i*37%9000 }
func optionName(i int) string                 { return fmt.Sprintf("transport.buffer-%d", i) }
func (s *agentSite) forget()                  { s.mu.Lock(); defer s.mu.Unlock(); s.clear() }
func (s *agentSite) clear()                   { s.todos, s.shipped, s.forms, s.contact, s.user = "", nil, nil, nil, "" }
func (s *agentSite) sees(is func() bool) bool { s.mu.Lock(); defer s.mu.Unlock(); return is() }

func newAgentSite() *agentSite {
	s := &agentSite{}
	mux := http.NewServeMux()
	page := func(path, text string) {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			io.WriteString(w, text)
		})
	}
	page("/todo", todoPage)
	page("/orders", ordersPage())
	page("/reference", referencePage())
	page("/visa", visaPage)
	page("/visa-frame", visaFrame)
	mux.HandleFunc("POST /todo", func(_ http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		s.mu.Lock()
		defer s.mu.Unlock()
		s.todos = string(b)
	})
	mux.HandleFunc("POST /ship", func(_ http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shipped = append(s.shipped, r.FormValue("order"))
	})
	mux.HandleFunc("POST /visa", func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		s.mu.Lock()
		defer s.mu.Unlock()
		s.forms = r.PostForm
	})
	shop := demo.Handler()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			s.shopGets(r)
		}
		shop.ServeHTTP(w, r)
	})
	s.Server = httptest.NewServer(mux)
	return s
}

// shopGets notes what is sent to the shop, which then reads it again.
func (s *agentSite) shopGets(r *http.Request) {
	b, _ := io.ReadAll(io.LimitReader(r.Body, 1<<20))
	r.Body = io.NopCloser(strings.NewReader(string(b)))
	again := r.Clone(r.Context())
	again.Body = io.NopCloser(strings.NewReader(string(b)))
	_ = again.ParseMultipartForm(1 << 20)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch r.URL.Path {
	case "/login":
		s.user = again.PostFormValue("user")
	case "/contact":
		s.contact = again.PostForm
	}
}

// left is whether the list has these entries, all open.
func (s *agentSite) left(titles ...string) bool {
	var now []struct {
		Title string
		Done  bool
	}
	if json.Unmarshal([]byte(s.todos), &now) != nil || len(now) != len(titles) {
		return false
	}
	for i, t := range titles {
		if now[i].Title != t || now[i].Done {
			return false
		}
	}
	return true
}

// todoPage has the document of TodoMVC: its toggles have no names.
const todoPage = `<!doctype html><html lang=en><meta charset=utf-8><title>TodoMVC</title>
<style>.destroy{display:none}.todo-list li:hover .destroy{display:inline}[hidden]{display:none!important}.toggle-all{opacity:0;width:1px;height:1px;position:absolute}</style>
<section class=todoapp><header class=header><h1>todos</h1><input class=new-todo placeholder="What needs to be done?" autofocus></header>
<section class=main hidden><input id=toggle-all class=toggle-all type=checkbox><label for=toggle-all>Mark all as complete</label><ul class=todo-list></ul></section>
<footer class=footer hidden><span class=todo-count></span><ul class=filters><li><a class=selected href="#/">All</a></li><li><a href="#/active">Active</a></li><li><a href="#/completed">Completed</a></li></ul><button class=clear-completed>Clear completed</button></footer></section>
<footer class=info><p>Double-click to edit a todo</p><p>Part of <a href="http://todomvc.com">TodoMVC</a></p></footer>
<script>
let todos = [];
const q = (s) => document.querySelector(s);
const draw = () => {
  const part = location.hash.slice(2);
  q('.main').hidden = q('.footer').hidden = !todos.length;
  q('.clear-completed').hidden = !todos.some((t) => t.done);
  const n = todos.filter((t) => !t.done).length;
  q('.todo-count').innerHTML = '<strong>' + n + '</strong> item' + (n === 1 ? '' : 's') + ' left';
  q('.todo-list').replaceChildren(...todos.filter((t) => part !== 'active' && part !== 'completed' || t.done === (part === 'completed')).map((t) => {
    const li = t.li ??= Object.assign(document.createElement('li'), { innerHTML: '<div class=view><input class=toggle type=checkbox><label></label><button class=destroy></button></div>' });
    li.querySelector('label').textContent = t.title;
    li.querySelector('input').checked = t.done;
    li.querySelector('input').onchange = (e) => { t.done = e.target.checked; draw(); };
    li.querySelector('button').onclick = () => { todos = todos.filter((x) => x !== t); draw(); };
    return li;
  }));
  fetch('/todo', { method: 'POST', body: JSON.stringify(todos.map(({ title, done }) => ({ title, done }))) });
};
q('.new-todo').onkeydown = (e) => { const title = e.target.value.trim(); if (e.key === 'Enter' && title) { todos.push({ title, done: false }); e.target.value = ''; draw(); } };
q('.clear-completed').onclick = () => { todos = todos.filter((t) => !t.done); draw(); };
q('.toggle-all').onchange = (e) => { for (const t of todos) t.done = e.target.checked; draw(); };
onhashchange = draw;
</script>`

// ordersPage is a table of 500 orders, with a button in each row.
func ordersPage() string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang=en><meta charset=utf-8><title>Orders</title><h1>Orders</h1><table><thead><tr><th>Order</th><th>Customer</th><th>City</th><th>Amount</th><th>State</th><th>Action</th></tr></thead><tbody>`)
	first := []string{"Ada", "Ben", "Cleo", "Dov", "Eva", "Finn", "Gita"}
	last := []string{"Lind", "Moreau", "Novak", "Okafor", "Petrov", "Quist", "Rossi", "Silva", "Tanaka", "Ueda", "Varga"}
	city := []string{"Oslo", "Lyon", "Brno", "Lagos", "Sofia", "Malmö", "Turin", "Porto", "Kyoto"}
	for i := 1001; i <= 1500; i++ {
		fmt.Fprintf(&b, `<tr><td>%d</td><td>%s %s</td><td>%s</td><td>%s</td><td>Paid</td><td><button onclick="fetch('/ship?order=%d',{method:'POST'}).then(()=>{this.replaceWith('Shipped')})">Ship</button></td></tr>`,
			i, first[i%7], last[i%11], city[i%9], orderAmount(i), i)
	}
	return b.String() + `</tbody></table>`
}

// referencePage is documentation of 1 MB: 500 options with their texts.
func referencePage() string {
	var b strings.Builder
	b.WriteString(`<!doctype html><html lang=en><meta charset=utf-8><title>Reference</title><nav aria-label=Contents><ul>`)
	for i := 1; i <= 500; i++ {
		fmt.Fprintf(&b, `<li><a href="#o%d">%s</a></li>`, i, optionName(i))
	}
	b.WriteString(`</ul></nav><main><h1>Configuration reference</h1>`)
	words := strings.Fields(`the transport keeps each buffer until its peer has acknowledged every segment of it or the connection ends whichever comes first a larger value costs memory on both sides and helps on long lines with loss a smaller one makes retries cheap`)
	for i := 1; i <= 500; i++ {
		fmt.Fprintf(&b, `<section id=o%d><h2>%s</h2><p>Type: <code>integer</code>, in KiB. Default: <code>%d</code>. Since version %d.%d.</p>`, i, optionName(i), optionDefault(i), 1+i%4, i%10)
		for p := range 6 {
			b.WriteString("<p>")
			for w := range 45 {
				b.WriteString(words[(i*31+p*17+w*(1+i%5))%len(words)] + " ")
			}
			b.WriteString("</p>")
		}
		fmt.Fprintf(&b, `<pre><code>[transport]
%s = %d</code></pre></section>`, optionName(i), optionDefault(i)*2)
	}
	return b.String() + `</main>`
}

// visaPage is a form of three steps. The second has a frame.
const visaPage = `<!doctype html><html lang=en><meta charset=utf-8><title>Application</title><style>[hidden]{display:none!important}label{display:block}</style>
<h1>Application</h1><form id=f>
<fieldset id=s1><legend>Step 1 of 3: You</legend><label>Full name <input name=name required></label><label>E-mail <input name=email type=email required></label>
<label>Country <select name=country><option value="">Choose…<option value=de>Germany<option value=fr>France<option value=jp>Japan</select></label><button type=button>Next</button></fieldset>
<fieldset id=s2 hidden><legend>Step 2 of 3: Passport</legend><iframe title=Passport width=400 height=160></iframe><button type=button>Next</button></fieldset>
<fieldset id=s3 hidden><legend>Step 3 of 3: Confirm</legend><p id=sum></p><label><input type=checkbox name=agree value=yes required> I agree to the terms</label><button>Submit</button></fieldset>
</form><p id=done role=status></p>
<script>
const $ = (s) => document.querySelector(s), extra = {};
$('#s1 button').onclick = () => { if (!f.reportValidity || ![...$('#s1').elements].every((e) => e.checkValidity())) return; $('#s1').hidden = true; $('#s2').hidden = false; $('iframe').src = '/visa-frame'; };
onmessage = (e) => Object.assign(extra, e.data);
$('#s2 button').onclick = () => { if (!extra.number) return; $('#s2').hidden = true; $('#s3').hidden = false; $('#sum').textContent = f.name.value + ', ' + f.country.value + ', passport ' + extra.number; };
f.onsubmit = async (e) => { e.preventDefault(); await fetch('/visa', { method: 'POST', body: new URLSearchParams({ ...Object.fromEntries(new FormData(f)), ...extra }) }); f.remove(); $('#done').textContent = 'Received. Your number is A-7731.'; };
</script>`

const visaFrame = `<!doctype html><html lang=en><meta charset=utf-8><title>Passport</title><label>Passport number <input id=n></label><fieldset><legend>Type</legend><label><input type=radio name=t value=ordinary checked> Ordinary</label><label><input type=radio name=t value=service> Service</label></fieldset>
<script>oninput = onchange = () => parent.postMessage({ number: n.value, type: document.querySelector(':checked').value }, '*')</script>`
