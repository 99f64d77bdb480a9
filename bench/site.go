package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// site serves the pages that both sides are measured on.
func site() *httptest.Server {
	var cards strings.Builder
	for i := range 100 {
		fmt.Fprintf(&cards, `<div class="card"><h3>Product %d</h3><p class="price">%d.99</p><a href="/p/%d">more</a><span>lorem ipsum dolor sit amet</span></div>`, i, i, i)
	}
	pages := map[string]string{
		"/text":  `<!doctype html><title>W1</title><h1 id="h">Hello, bench</h1><p>` + strings.Repeat("Some text. ", 200) + `</p>`,
		"/cards": `<!doctype html><title>W2</title>` + cards.String(),
		"/login": `<!doctype html><title>W3</title><form id="f"><input id="user"><input id="pass" type="password"><button id="go">Log in</button></form><div id="out"></div>
<script>f.onsubmit=async e=>{e.preventDefault();const r=await fetch('/session?u='+user.value+'&n='+pass.value.length);const d=document.createElement('p');d.className='hello';d.textContent=(await r.json()).hello;out.append(d)}</script>`,
		"/picture": `<!doctype html><title>W4</title><style>body{margin:0;font:16px sans-serif}.c{display:inline-block;width:200px;height:150px;margin:8px;border-radius:8px;background:linear-gradient(45deg,#fa0,#08f)}</style><h1>Pictures</h1>` + strings.Repeat(`<div class="c">text</div>`, 20),
	}
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/session" {
			w.Header().Set("Content-Type", "application/json")
			json.NewEncoder(w).Encode(map[string]string{"hello": fmt.Sprintf("Hello %s %s", r.URL.Query().Get("u"), r.URL.Query().Get("n"))})
			return
		}
		page, ok := pages[r.URL.Path]
		if !ok {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, page)
	}))
}

// work is one workload: a request, and whether an answer is right.
type work struct {
	name, what string
	body       func(base string) string
	right      func(data json.RawMessage) bool
}

func is(want string) func(json.RawMessage) bool {
	return func(d json.RawMessage) bool { return string(d) == want }
}

var works = []work{
	{"W1", "open + getText", func(b string) string {
		return `{"actions":[{"open":"` + b + `/text"},{"getText":"#h"}]}`
	}, is(`"Hello, bench"`)},
	{"W2", "open + extractAll of 100 × 3", func(b string) string {
		return `{"actions":[{"open":"` + b + `/cards"},{"extractAll":[".card",{"title":"h3","price":".price","link":["a","href"]}]}]}`
	}, func(d json.RawMessage) bool {
		var list []struct{ Title, Price, Link string }
		return json.Unmarshal(d, &list) == nil && len(list) == 100 && list[99].Title == "Product 99" && list[99].Link == "/p/99" && list[7].Price == "7.99"
	}},
	{"W3", "open + fill 5 + fill 10 + click + wait + getText", func(b string) string {
		return `{"actions":[{"open":"` + b + `/login"},{"fill":["#user","alice"]},{"fill":["#pass","secret1234"]},{"click":"#go"},{"waitForElement":".hello"},{"getText":".hello"}]}`
	}, is(`"Hello alice 10"`)},
	{"W4", "open + PNG of 1280 × 720", func(b string) string {
		return `{"actions":[{"open":"` + b + `/picture"},{"screenshot":"viewport"}]}`
	}, func(d json.RawMessage) bool { return strings.Contains(string(d), `"url":"`) }},
	{"W5", "open + 20 evaluate", func(b string) string {
		list := make([]string, 20)
		for i := range list {
			list[i] = fmt.Sprintf(`{"evaluate":"return document.title + %d"}`, i)
		}
		return `{"actions":[{"open":"` + b + `/text"},` + strings.Join(list, ",") + `]}`
	}, is(`"W119"`)},
}
