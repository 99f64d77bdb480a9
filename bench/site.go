package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
)

// site serves the pages that all sides are measured on.
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
