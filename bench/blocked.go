package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
)

// The resources of the page, 150 in all.
const (
	blockedPictures = 80
	blockedFonts    = 10
	blockedThird    = 40 // scripts of another site
	blockedOwn      = 20 // scripts of its own
)

// runBlocked measures a page of 150 resources with its pictures, its fonts and the scripts
// of other sites blocked, beside the same page as it is.
func runBlocked(b *bench, p *part) error {
	page, stop, err := heavySite((*httptest.Server).Start)
	if err != nil {
		return err
	}
	defer stop()
	was := b.site
	b.site = page
	defer func() { b.site = was }()
	blocking := kind{"blocked", startBlocking}
	w := work{"B1", fmt.Sprintf("open a page with %d pictures, %d fonts, %d scripts of another site and %d of its own, getText", blockedPictures, blockedFonts, blockedThird, blockedOwn),
		one(func(b string) string { return `{"open":"` + b + `"},{"getText":"#h"}` }, is(`"Heavy"`))}
	p.say("%s", origin(b))
	p.say("One worker on each side. %s", howPaired)
	r, err := comparePair(b, w, kind{"all of it", startService}, blocking)
	if err != nil {
		return err
	}
	p.say("### %s: %s", w.name, w.what)
	p.add(r.table(func(more, first float64) string { return verdict(1+more/first, 1, "at most %.2f ×") }))
	fmt.Printf("%s measured\n", w.name)
	return nil
}

// heavySite serves the page, and its scripts of another site at another address of this
// machine.
func heavySite(start func(*httptest.Server)) (page string, stop func(), err error) {
	picture, err := noise()
	if err != nil {
		return "", nil, err
	}
	serve := func(host string, body func() string) (*httptest.Server, error) {
		l, err := net.Listen("tcp", host+":0")
		if err != nil {
			return nil, fmt.Errorf("serving at another address of this machine: %w", err)
		}
		s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch path := r.URL.Path; {
			case strings.HasSuffix(path, ".png"):
				w.Header().Set("Content-Type", "image/png")
				w.Write(picture)
			case strings.HasSuffix(path, ".woff2"):
				w.Header().Set("Content-Type", "font/woff2")
				w.Write(picture) // no font, but read as far as that
			case strings.HasSuffix(path, ".js"):
				w.Header().Set("Content-Type", "text/javascript")
				io.WriteString(w, "(()=>{let n=0;for(let i=0;i<2e5;i++)n+=i%7;window.n=n})();//"+strings.Repeat("x", 20_000))
			default:
				w.Header().Set("Content-Type", "text/html; charset=utf-8")
				io.WriteString(w, "<!doctype html>"+body())
			}
		}))
		s.Listener.Close()
		s.Listener = l
		start(s)
		return s, nil
	}
	third, err := serve("127.0.0.2", func() string { return "" })
	if err != nil {
		return "", nil, err
	}
	var html strings.Builder
	html.WriteString(`<title>Heavy</title><h1 id="h">Heavy</h1><style>`)
	for n := range blockedFonts {
		fmt.Fprintf(&html, "@font-face{font-family:F%[1]d;src:url(/f%[1]d.woff2)}.f%[1]d{font-family:F%[1]d}", n)
	}
	html.WriteString("</style>")
	for n := range blockedFonts {
		fmt.Fprintf(&html, `<p class="f%d">text</p>`, n)
	}
	for n := range blockedPictures {
		fmt.Fprintf(&html, `<img src="/p%d.png" width="64" height="64">`, n)
	}
	for n := range blockedThird {
		fmt.Fprintf(&html, `<script src="%s/t%d.js"></script>`, third.URL, n)
	}
	for n := range blockedOwn {
		fmt.Fprintf(&html, `<script src="/o%d.js"></script>`, n)
	}
	own, err := serve("127.0.0.1", html.String)
	if err != nil {
		third.Close()
		return "", nil, err
	}
	return own.URL + "/", func() { own.Close(); third.Close() }, nil
}

// noise is a picture that does not get smaller: 12 KB.
func noise() ([]byte, error) {
	r := rand.New(rand.NewPCG(1, 2))
	m := image.NewRGBA(image.Rect(0, 0, 64, 64))
	for y := range 64 {
		for x := range 64 {
			m.Set(x, y, color.RGBA{uint8(r.Uint32()), uint8(r.Uint32()), uint8(r.Uint32()), 255})
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		return nil, fmt.Errorf("making a picture: %w", err)
	}
	return b.Bytes(), nil
}
