// Package demo is a small shop that is played with: it answers under a
// reserved name of the outbound proxy, so that the first task works without
// internet. Nothing in it can be bought, and any user gets in with the
// password "demo".
package demo

import (
	"bytes"
	"embed"
	"encoding/json"
	"html/template"
	"net/http"
	"strconv"
	"strings"
)

// Host is the name that the shop goes by.
const Host = "demo.troupe.test"

//go:embed pages/*.html
var pages embed.FS

//go:embed style.css
var style []byte

//go:embed live.js
var script []byte

//go:embed endless.js
var endless []byte

// Bounds of what a visitor may send and the shop may remember.
const (
	maxForm   = 64 << 10
	maxUpload = 8 << 20
)

type shop struct {
	pages    map[string]*template.Template
	visitors visitors
}

// Handler answers for a shop of its own: no two know of each other's visitors.
func Handler() http.Handler {
	s := &shop{pages: map[string]*template.Template{}}
	for _, name := range []string{"list", "product", "login", "account", "contact", "live", "endless", "missing"} {
		s.pages[name] = template.Must(template.ParseFS(pages, "pages/frame.html", "pages/"+name+".html"))
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", s.list)
	mux.HandleFunc("GET /product/{id}", s.product)
	mux.HandleFunc("GET /login", s.loginForm)
	mux.HandleFunc("POST /login", s.login)
	mux.HandleFunc("POST /logout", s.logout)
	mux.HandleFunc("GET /account", s.account)
	mux.HandleFunc("GET /contact", s.contactForm)
	mux.HandleFunc("POST /contact", s.contact)
	mux.HandleFunc("GET /live", s.live)
	mux.HandleFunc("GET /endless", s.endless)
	mux.HandleFunc("GET /api/products", s.api)
	mux.HandleFunc("GET /style.css", file("text/css; charset=utf-8", style))
	mux.HandleFunc("GET /live.js", file("text/javascript; charset=utf-8", script))
	mux.HandleFunc("GET /endless.js", file("text/javascript; charset=utf-8", endless))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("/", s.missing)
	return guarded(mux)
}

// guarded adds what a careful site sends with every page.
func guarded(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'self'; img-src data:; form-action 'self'; base-uri 'none'")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Set("Referrer-Policy", "same-origin")
		w.Header().Set("Cache-Control", "no-store")
		h.ServeHTTP(w, r)
	})
}

func file(contentType string, content []byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "max-age=3600")
		w.Write(content)
	}
}

// frame is what every page gets.
type frame struct {
	Title string
	User  string // who is signed in, or empty
	Page  any
}

// show answers with a page.
func (s *shop) show(w http.ResponseWriter, r *http.Request, status int, name, title string, page any) {
	var b bytes.Buffer
	if err := s.pages[name].ExecuteTemplate(&b, "frame.html", frame{title, s.visitors.user(r), page}); err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(b.Len()))
	w.WriteHeader(status)
	w.Write(b.Bytes())
}

type listPage struct {
	Query       string
	Products    []product
	Found       int
	Page, Pages int
	Prev, Next  string // links, or empty
}

func (s *shop) list(w http.ResponseWriter, r *http.Request) {
	q := strings.TrimSpace(r.FormValue("q"))
	found := search(q)
	l := listPage{Query: q, Found: len(found), Pages: max((len(found)+perPage-1)/perPage, 1)}
	n, _ := strconv.Atoi(r.FormValue("page"))
	l.Page = min(max(n, 1), l.Pages)
	first := (l.Page - 1) * perPage
	l.Products = found[first:min(first+perPage, len(found))]
	if l.Page > 1 {
		l.Prev = listURL(q, l.Page-1)
	}
	if l.Page < l.Pages {
		l.Next = listURL(q, l.Page+1)
	}
	s.show(w, r, http.StatusOK, "list", "Products", l)
}

func (s *shop) product(w http.ResponseWriter, r *http.Request) {
	id, err := strconv.Atoi(r.PathValue("id"))
	if err != nil || id < 1 || id > len(catalogue) {
		s.missing(w, r)
		return
	}
	s.show(w, r, http.StatusOK, "product", catalogue[id-1].Name, catalogue[id-1])
}

func (s *shop) live(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, "live", "Live stock", nil)
}

func (s *shop) endless(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusOK, "endless", "All products", nil)
}

func (s *shop) missing(w http.ResponseWriter, r *http.Request) {
	s.show(w, r, http.StatusNotFound, "missing", "Not found", nil)
}

// api gives the products as JSON: all, or those of one page, which has none
// where there are no more.
func (s *shop) api(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	found := search(strings.TrimSpace(r.FormValue("q")))
	if n, err := strconv.Atoi(r.FormValue("page")); err == nil {
		first := min((min(max(n, 1), len(found)+1)-1)*perPage, len(found))
		found = found[first:min(first+perPage, len(found))]
	}
	json.NewEncoder(w).Encode(map[string]any{"products": found})
}
