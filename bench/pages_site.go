package main

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
)

// pageSite serves the pages of [pageWorks] over TLS and HTTP/2, and has all sides use a
// browser that takes the certificate.
func pageSite(b *bench) (stop func(), err error) {
	if err := installPeers(b); err != nil { // the application is among their packages
		return nil, err
	}
	var heavy *httptest.Server
	tls := func(s *httptest.Server) {
		s.EnableHTTP2 = true
		s.Config.ErrorLog = log.New(io.Discard, "", 0) // browsers give up connections that they opened to be quick
		s.StartTLS()
		heavy = s // all have the same certificate
	}
	_, stopHeavy, err := heavySite(tls)
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.Handle("/app/", http.StripPrefix("/app/", http.FileServer(http.Dir(filepath.Join(b.peers, "node_modules", "swagger-ui-dist")))))
	text := func(path, html string) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			fmt.Fprint(w, "<!doctype html>", html)
		})
	}
	text("/app", applicationPage)
	text("/report", reportPage())
	text("/form", formPage)
	mux.HandleFunc("/api.json", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		json.NewEncoder(w).Encode(applicationData())
	})
	mux.HandleFunc("/", heavy.Config.Handler.ServeHTTP)
	web := httptest.NewUnstartedServer(mux)
	tls(web)
	was, browserWas := b.site, b.browser
	stop = func() {
		b.site, b.browser = was, browserWas
		web.Close()
		stopHeavy()
	}
	b.site = web.URL
	if b.browser, err = trusting(b, web); err != nil {
		stop()
		return nil, err
	}
	return stop, nil
}

// trusting is a program that starts the browser so that it takes a server's certificate.
func trusting(b *bench, s *httptest.Server) (path string, err error) {
	key := sha256.Sum256(s.Certificate().RawSubjectPublicKeyInfo)
	path = filepath.Join(b.dir, "browser")
	script := fmt.Sprintf("#!/bin/sh\nexec '%s' --ignore-certificate-errors-spki-list=%s \"$@\"\n", b.browser, base64.StdEncoding.EncodeToString(key[:]))
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		return "", fmt.Errorf("writing what starts the browser: %w", err)
	}
	return path, nil
}

const applicationPage = `<title>W10</title><link rel="stylesheet" href="/app/swagger-ui.css"><div id="ui"></div>
<script src="/app/swagger-ui-bundle.js"></script><script src="/app/swagger-ui-standalone-preset.js"></script>
<script>SwaggerUIBundle({url:'/api.json',dom_id:'#ui',validatorUrl:null,presets:[SwaggerUIBundle.presets.apis,SwaggerUIStandalonePreset],layout:'StandaloneLayout'})</script>`

// applicationData describes 40 operations.
func applicationData() any {
	paths := map[string]any{}
	for i := range 40 {
		paths[fmt.Sprintf("/things/%d", i)] = map[string]any{"get": map[string]any{
			"operationId": fmt.Sprintf("read%d", i), "tags": []string{"things"}, "summary": fmt.Sprintf("Read %d", i), "description": fmt.Sprintf("What reads thing %d.", i),
			"parameters": []any{map[string]any{"name": "depth", "in": "query", "schema": map[string]string{"type": "integer"}}},
			"responses":  map[string]any{"200": map[string]string{"description": "it is there"}},
		}}
	}
	return map[string]any{"openapi": "3.0.3", "info": map[string]string{"title": "Things", "version": "1"}, "paths": paths}
}

// reportPage is one whose PDF has 20 pages.
func reportPage() string {
	var html strings.Builder
	html.WriteString(`<title>W11</title><style>section{break-after:page}section:last-child{break-after:auto}td{border:1px solid #888;padding:2px 8px}</style>`)
	for i := range 20 {
		fmt.Fprintf(&html, `<section><h2>Chapter %d</h2><p>%s</p><table>`, i+1, strings.Repeat("Some text of a report. ", 40))
		for row := range 12 {
			fmt.Fprintf(&html, "<tr><td>%d<td>Product %d<td>%d.99</tr>", row, row, i*row)
		}
		html.WriteString("</table></section>")
	}
	return html.String()
}

const formPage = `<title>W12</title><style>.bad{outline:1px solid red}</style><form id="f" novalidate>
<input id="name" required minlength="3"><input id="mail" type="email" required><input id="phone" type="tel" pattern="[+0-9 ]{8,}" required>
<input id="age" type="number" min="18" max="120" required><select id="country" required><option value="">-</option><option value="de">Germany</option><option value="gb">Britain</option></select>
<label><input id="terms" type="checkbox" required> I agree</label><button id="send" disabled>Send</button></form><div id="out"></div>
<script>
const fields = [...f.elements].filter((e) => e !== send);
const check = () => { for (const e of fields) e.classList.toggle('bad', !e.validity.valid); send.disabled = fields.some((e) => !e.validity.valid) };
for (const t of ['input', 'change']) f.addEventListener(t, check);
check();
f.onsubmit = (e) => { e.preventDefault(); setTimeout(() => { out.innerHTML = '<p class="done"></p>'; out.firstChild.textContent = 'Thank you, ' + document.getElementById('name').value + ' of ' + country.value + ', ' + age.value }, 5) };
</script>`
