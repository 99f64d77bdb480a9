package http

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the frame of the pages
	"encoding/base64"
	"fmt"
	"html/template"
	"path"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"troupe"
	"troupe/engine"
	"troupe/http/answer"
	"troupe/http/documents"
)

// docsPath is where the documents are shown. The API for people, which is made
// of the OpenAPI document, stands at the address without the last slash.
const docsPath = "/docs/"

//go:embed pages/docs.html
var docsHTML string

//go:embed pages/docs.css
var docsCSS string

// docsStyle and docsScript stand in each page: the colours are those of the web
// page, and so is the choice among them.
var (
	docsStyle  = pageText("style/colours.css") + docsCSS
	docsScript = pageText("theme.js")
)

func pageText(name string) string {
	b, err := pageFiles.ReadFile("pages/app/" + name)
	if err != nil {
		panic(fmt.Errorf("read the web page: %w", err))
	}
	return string(b)
}

// docsPolicy lets the pages be text and pictures in their own style. The one
// script that may run is named by what is in it.
var docsPolicy = "default-src 'none'; img-src 'self'; style-src " + hashOf(docsStyle) + "; script-src " + hashOf(docsScript) +
	"; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// library is all documents, as pages.
var library = sync.OnceValue(func() *documents.Library {
	l, err := documents.Read(troupe.Documents, docsPath)
	if err != nil {
		panic(fmt.Errorf("make pages of the documents: %w", err))
	}
	return l
})

// docsView is a page with its frame.
type docsView struct {
	Title         string
	Main          template.HTML
	Page, Parent  *documents.Page
	Before, After *documents.Page
	Query         string // that was searched for
	Operations    bool   // it is the page of the API
}

var docsFrame = sync.OnceValue(func() *template.Template { return template.Must(template.New("docs").Parse(docsHTML)) })

// framed puts a page into its frame.
func framed(v *docsView) []byte {
	var b bytes.Buffer
	if err := docsFrame().Execute(&b, struct {
		*docsView
		Base    string
		Search  string
		Longest int
		Script  template.JS
		Style   template.CSS
		Groups  []documents.Group
	}{v, docsPath, docsPath + documents.SearchPath, longestQuery, template.JS(docsScript), template.CSS(docsStyle), library().Groups}); err != nil {
		panic(fmt.Errorf("frame the page %s: %w", v.Title, err))
	}
	return b.Bytes()
}

// docsPages are the pages that somebody has read, in their frames, and their pictures.
var docsPages sync.Map // docsKey: asset

// docsKey names a page as one service shows it.
type docsKey struct{ path, address string }

// website is what needs no token: the documents as this service shows them.
type website struct {
	address string // of the service in the examples; empty: as they are written
	faults  *answer.Faults
}

// writtenAddress is the service's address in the examples of the documents.
const writtenAddress = "http://127.0.0.1:8080"

// addressed puts the service's own address into the examples of a page.
func (w website) addressed(html []byte) []byte {
	if w.address == "" {
		return html
	}
	return bytes.ReplaceAll(html, []byte(writtenAddress), []byte(template.HTMLEscapeString(w.address)))
}

// docs answers with a document, or with a picture of one.
func (w website) docs(ctx *fasthttp.RequestCtx, name string) *answer.Refusal {
	p := library().Page(name)
	switch {
	case p != nil:
		key := docsKey{name, w.address}
		a, ok := docsPages.Load(key)
		if !ok {
			page := framed(&docsView{Title: p.Heading, Main: template.HTML(p.HTML), Page: p, Parent: p.Parent, Before: p.Before, After: p.After})
			a, _ = docsPages.LoadOrStore(key, newAsset(kindOf(".html"), w.addressed(page)))
		}
		sendDocument(ctx, a.(asset))
	case path.Ext(name) != "":
		b, ok := library().Picture(name)
		if !ok {
			return answer.Refuse(engine.CodeNotFound)
		}
		// A drawing that is opened by itself is a document that could run scripts.
		ctx.Response.Header.Set(fasthttp.HeaderContentSecurityPolicy, "default-src 'none'; sandbox")
		a, ok := docsPages.Load(docsKey{path: name})
		if !ok {
			a, _ = docsPages.LoadOrStore(docsKey{path: name}, newAsset(kindOf(name), b))
		}
		sendAsset(ctx, a.(asset))
	case strings.Contains(string(ctx.Request.Header.Peek(fasthttp.HeaderAccept)), "text/html"):
		documentPolicy(ctx)
		ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
		ctx.SetStatusCode(fasthttp.StatusNotFound)
		ctx.SetContentType(kindOf(".html"))
		ctx.SetBody(framed(&docsView{Title: "Page not found", Main: noSuchPage}))
	default:
		return answer.Refuse(engine.CodeNotFound)
	}
	return nil
}

// noSuchPage is what a browser shows at an address without a page.
const noSuchPage template.HTML = `<h1>Page not found</h1>
<p>This version of the documentation has no page at this address. Search for it above, or begin with the <a href="` + docsPath + `start">start page</a>.</p>`

// operations answers with the API for people.
func sendOperations(ctx *fasthttp.RequestCtx) *answer.Refusal {
	sendDocument(ctx, operationsPage())
	return nil
}

// documentPolicy keeps a page of the documents to what it is.
func documentPolicy(ctx *fasthttp.RequestCtx) {
	h := &ctx.Response.Header
	h.Set(fasthttp.HeaderContentSecurityPolicy, docsPolicy)
	h.Set(fasthttp.HeaderReferrerPolicy, "no-referrer")
	h.Set(fasthttp.HeaderXFrameOptions, "DENY")
}

// sendDocument answers with a page of the documents.
func sendDocument(ctx *fasthttp.RequestCtx, a asset) {
	documentPolicy(ctx)
	sendAsset(ctx, a)
}
