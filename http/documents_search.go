package http

import (
	"bytes"
	_ "embed" // the page of what was found
	"fmt"
	"html/template"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/http/documents"
)

//go:embed pages/search.html
var searchHTML string

const (
	longestQuery = 200 // characters that are searched for
	mostHits     = 30
)

var searchPage = sync.OnceValue(func() *template.Template { return template.Must(template.New("search").Parse(searchHTML)) })

// searchDocs answers with the parts of the documents that have the words of a
// query. The form that asks is in the frame of every page.
func (w website) searchDocs(ctx *fasthttp.RequestCtx) *answer.Refusal {
	q := strings.TrimSpace(string(ctx.QueryArgs().Peek("q")))
	if !utf8.ValidString(q) || utf8.RuneCountInString(q) > longestQuery {
		return answer.RefuseText(engine.CodeInvalidRequest, fmt.Sprintf(`"q" must be text of at most %d characters`, longestQuery))
	}
	view := struct {
		Base, Query string
		Hits        []documents.Hit
		All, More   bool
	}{Base: docsPath, Query: q}
	title := "Search"
	if q != "" {
		title = q + " · Search"
		view.Hits, view.All = library().Search(q, mostHits+1)
		if view.More = len(view.Hits) > mostHits; view.More {
			view.Hits = view.Hits[:mostHits]
		}
	}
	var b bytes.Buffer
	if err := searchPage().Execute(&b, view); err != nil {
		return w.faults.Refuse(ctx, "make the page of what was found", err)
	}
	documentPolicy(ctx)
	published(ctx)
	ctx.SetContentType(kindOf(".html"))
	ctx.SetBody(framed(&docsView{Title: title, Main: template.HTML(b.String()), Query: q}))
	return nil
}
