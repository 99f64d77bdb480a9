package engine

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"troupe/testkit/need"
	"troupe/testkit/npm"
)

// formulaText has formulas wherever a page may have some: in the line and with a line of
// their own, in headings, lists, tables, quotations and links.
const formulaText = `<h1>Energy $E=mc^2$</h1><p>Inline $\frac{a}{b}$ and \(x_1^2\), twice: $\frac{a}{b}$.</p>
<p>Before $$\int_0^1 x\,dx = \tfrac12$$ after.</p>
<ul><li>first $\alpha+\beta$</li><li>second <b>$\sum_{i=1}^n i$</b><ol><li>in it $y&lt;z$</li></ol></li></ul>
<table><tr><th>name</th><th>formula $t$</th></tr><tr><td>area</td><td>$\pi r^2$</td></tr><tr><td>size</td><td>$|x|$</td></tr><tr><td>own line</td><td>$$\sqrt{q}$$</td></tr></table>
<blockquote>Said: $$\begin{pmatrix}1 &amp; 2\\3 &amp; 4\end{pmatrix}$$</blockquote><p><a href="/there">to $k$</a> <em>$\hat u$</em> $\text{some words}$ costs 5 USD.</p>`

const formulaMarkdown = `# Energy $E=mc^2$

Inline $\frac{a}{b}$ and $x_1^2$, twice: $\frac{a}{b}$.

Before

$$\int_0^1 x\,dx = \tfrac12$$

after.

- first $\alpha+\beta$
- second **$\sum_{i=1}^n i$**
  1. in it $y<z$

| name | formula $t$ |
| --- | --- |
| area | $\pi r^2$ |
| size | $\|x\|$ |
| own line | $$\sqrt{q}$$ |

> Said:
>
> $$\begin{pmatrix}1 & 2\\3 & 4\end{pmatrix}$$

[to $k$](URL/there) *$\hat u$* $\text{some words}$ costs 5 USD.`

// formulaPages are the ways in which pages have the libraries draw formulas: the head of the
// page, and an expression that ends when all are drawn.
var formulaPages = map[string][2]string{
	"katex":          {katexHead("{}"), "true"},
	"katex-mathml":   {katexHead("{output:'mathml'}"), "true"},
	"mathjax3":       {mathJaxHead("mathjax/es5/tex-chtml.js", ""), "MathJax.startup.promise"},
	"mathjax3-svg":   {mathJaxHead("mathjax/es5/tex-svg.js", ""), "MathJax.startup.promise"},
	"mathjax3-plain": {mathJaxHead("mathjax/es5/tex-chtml.js", "options:{enableAssistiveMml:false},"), "MathJax.startup.promise"},
	"mathjax4":       {mathJaxHead("mathjax4/tex-chtml.js", ""), "MathJax.startup.promise"},
	"mathjax4-svg":   {mathJaxHead("mathjax4/tex-svg.js", ""), "MathJax.startup.promise"},
}

const delimiters = `[{left:'$$',right:'$$',display:true},{left:'$',right:'$',display:false},{left:'\\(',right:'\\)',display:false}]`

func katexHead(options string) string {
	return `<link rel=stylesheet href=/npm/katex/dist/katex.min.css><script src=/npm/katex/dist/katex.min.js></script><script src=/npm/katex/dist/contrib/auto-render.min.js></script>` +
		`<script>addEventListener('DOMContentLoaded', () => renderMathInElement(document.body, Object.assign({delimiters: ` + delimiters + `}, ` + options + `)))</script>`
}

func mathJaxHead(file, options string) string {
	return `<script>window.MathJax = {` + options + `tex:{inlineMath:[['$','$'],['\\(','\\)']]},loader:{paths:{font:'/npm/@mathjax','mathjax-newcm':'/npm/@mathjax/mathjax-newcm-font'}}}</script><script src=/npm/` + file + `></script>`
}

// TestFormulasOfLibraries reads formulas that the libraries draw which pages use for it: the
// source of each comes once, at its place.
func TestFormulasOfLibraries(t *testing.T) {
	need.All(t)
	need.Registry(t)
	root, err := npm.Install(filepath.Join("testdata", "formulas"), filepath.Join("..", ".cache", "formulas"))
	if err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/npm/", func(w http.ResponseWriter, r *http.Request) { servePackage(w, r, root) })
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, "<!doctype html><title>F</title>%s<body>%s", formulaPages[strings.TrimPrefix(r.URL.Path, "/")][0], formulaText)
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	want := strings.ReplaceAll(formulaMarkdown, "URL", srv.URL)
	for name, page := range formulaPages {
		t.Run(name, func(t *testing.T) {
			got, _ := answer(t, fmt.Sprintf(`{"timeout":60000,"config":{"actionTimeout":30000},"actions":[{"open":"%s/%s"},{"evaluate":"await %s; return document.querySelectorAll('.katex,mjx-container').length"},{"getMarkdown":{"part":"all"}}]}`, srv.URL, name, page[1]), given{})
			if got["failures"] != nil || got["warnings"] != nil {
				b, _ := json.Marshal(got)
				t.Fatalf("%s", b)
			}
			if has := got["data"].(map[string]any)["markdown"]; has != want {
				t.Errorf("want\n%s\ngot\n%s", want, has)
			}
		})
	}
}
