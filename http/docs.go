package http

import (
	"bytes"
	_ "embed" // the page's template
	"encoding/json"
	"fmt"
	"html/template"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"troupe/http/answer"
)

//go:embed pages/operations.html
var operationsHTML string

// document is what the page reads of the OpenAPI document: it shows what
// programs get, and knows nothing else.
type document struct {
	OpenAPI string `json:"openapi"`
	Info    struct{ Title, Description string }
	Paths   map[string]map[string]struct {
		OperationID string
		Summary     string
		Description string
		Security    *[]any
		Parameters  []struct {
			Name, In, Description string
			Required              bool
		}
		RequestBody *struct{}
		Responses   map[string]struct {
			Description string
			Content     map[string]struct {
				Schema struct {
					Ref   string `json:"$ref"`
					AnyOf []struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
	}
	Components struct{ Schemas map[string]json.RawMessage }
}

type (
	docsOperation struct {
		ID, Method, Path, Summary, Doc string
		Open, Task                     bool
		Params                         any
		Answers                        []docsAnswer
	}
	docsAnswer struct {
		Status               int
		Shapes               []string
		Content, Description string
	}
	docsSchema struct{ Name, Doc, Example, Schema string }
)

// operationsPage is the API for people.
var operationsPage = sync.OnceValue(func() asset {
	var d document
	if err := json.Unmarshal(openAPI(), &d); err != nil {
		panic(fmt.Errorf("read the OpenAPI document: %w", err))
	}
	view := struct {
		document
		Operations       []docsOperation
		Actions, Schemas []docsSchema
	}{document: d}
	for _, o := range operations {
		view.Operations = append(view.Operations, d.operation(&o))
	}
	for _, name := range slices.Sorted(maps.Keys(d.Components.Schemas)) {
		var s struct {
			Description string
			Required    []string
			Examples    []json.RawMessage
		}
		raw := d.Components.Schemas[name]
		if err := json.Unmarshal(raw, &s); err != nil {
			panic(fmt.Errorf("read the schema %s: %w", name, err))
		}
		shown := docsSchema{Name: name, Doc: s.Description, Schema: pretty(raw)}
		if strings.HasSuffix(name, "Action") && len(s.Examples) == 1 {
			shown.Name, shown.Example = s.Required[0], string(s.Examples[0])
			view.Actions = append(view.Actions, shown)
			continue
		}
		view.Schemas = append(view.Schemas, shown)
	}
	var b bytes.Buffer
	if err := template.Must(template.New("operations").Funcs(template.FuncMap{"text": marked}).Parse(operationsHTML)).Execute(&b, view); err != nil {
		panic(fmt.Errorf("make the page of the API: %w", err))
	}
	return newAsset(kindOf(".html"), framed(&docsView{Title: "The API, one by one", Operations: true, Main: template.HTML(b.String())}))
})

// operation is how the page shows one.
func (d *document) operation(o *operation) docsOperation {
	from := d.Paths[o.path][o.method]
	shown := docsOperation{
		ID: from.OperationID, Method: strings.ToUpper(o.method), Path: o.path, Summary: from.Summary, Doc: from.Description,
		Open: from.Security != nil, Task: from.RequestBody != nil, Params: from.Parameters,
	}
	for _, status := range slices.Sorted(maps.Keys(from.Responses)) {
		r := from.Responses[status]
		n, err := strconv.Atoi(status)
		if err != nil {
			panic("http: a status is no number: " + status)
		}
		a := docsAnswer{Status: n, Description: r.Description}
		for _, kind := range slices.Sorted(maps.Keys(r.Content)) {
			c, shapes := r.Content[kind], len(a.Shapes)
			refs := []string{c.Schema.Ref}
			for _, s := range c.Schema.AnyOf {
				refs = append(refs, s.Ref)
			}
			for _, ref := range refs {
				if ref != "" {
					a.Shapes = append(a.Shapes, strings.TrimPrefix(ref, components))
				}
			}
			if len(a.Shapes) == shapes {
				a.Content = kind
			}
		}
		shown.Answers = append(shown.Answers, a)
	}
	return shown
}

// marked is a text in which names stand between backquotes.
func marked(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		part = template.HTMLEscapeString(part)
		if i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String())
}

func pretty(raw []byte) string {
	var b bytes.Buffer
	_ = json.Indent(&b, raw, "", "  ") // it was read before
	return b.String()
}

// openAPIAsset is the OpenAPI document as it is sent.
var openAPIAsset = sync.OnceValue(func() asset { return newAsset("application/json; charset=utf-8", openAPI()) })

// openapi answers with the OpenAPI document.
func sendOpenAPI(ctx *fasthttp.RequestCtx) *answer.Refusal {
	published(ctx)
	sendPublished(ctx, openAPIAsset())
	return nil
}

// sendPublished answers with what is the same for everybody until the next version.
func sendPublished(ctx *fasthttp.RequestCtx, a asset) {
	ctx.SetContentType(a.kind)
	ctx.Response.Header.Add(fasthttp.HeaderVary, fasthttp.HeaderAcceptEncoding)
	if ctx.Request.Header.HasAcceptEncoding("gzip") {
		ctx.Response.Header.Set(fasthttp.HeaderContentEncoding, "gzip")
		sendShared(ctx, a.zipped)
		return
	}
	sendShared(ctx, a.plain)
}

// published is for what is the same for everybody until the next version.
func published(ctx *fasthttp.RequestCtx) {
	ctx.Response.Header.Set(fasthttp.HeaderCacheControl, "public, max-age=300")
	ctx.Response.Header.Set(fasthttp.HeaderXContentTypeOptions, "nosniff")
}
