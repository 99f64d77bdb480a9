package http

import (
	_ "embed" // the guide
	"encoding/json"
	"strings"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/answer"
)

//go:embed pages/llms.txt
var llmsText string

// llmsPath is where programs that decide by a language model look for a guide.
const llmsPath = "/llms.txt"

// llms answers with the guide, with the actions that there are.
func (w website) llms(ctx *fasthttp.RequestCtx) *answer.Refusal {
	address := w.address
	if address == "" {
		address = writtenAddress
	}
	key := docsKey{llmsPath, address}
	a, ok := docsPages.Load(key)
	if !ok {
		var list strings.Builder
		for _, a := range engine.Summaries() {
			list.WriteString("- " + a.Name + ": " + strings.ReplaceAll(a.Value, "`", "") + ". " + a.Doc + "\n")
		}
		text := strings.NewReplacer("ADDRESS", address, "ACTIONS\n", list.String()).Replace(llmsText)
		a, _ = docsPages.LoadOrStore(key, newAsset(kindOf(".txt"), []byte(text)))
	}
	published(ctx)
	sendPublished(ctx, a.(asset))
	return nil
}

func init() {
	operations = append(operations,
		operation{
			method: "get", path: llmsPath, id: "llms", tag: "Service", open: true,
			summary: "A guide for programs that decide by a language model",
			answers: []reply{{200, "The guide, as Markdown.", "text/plain", nil}},
		},
		operation{
			method: "post", path: mcpPath, id: "mcp", tag: "Models",
			summary: "A message of the Model Context Protocol",
			doc: "Streamable HTTP without state: each message stands alone, at any node. The tools and their arguments are in the answer to `tools/list`. " +
				"`Accept` must have `application/json` and `text/event-stream`.",
			params: []param{
				{"MCP-Protocol-Version", "header", "The version of the protocol that the client speaks.", `{"type":"string"}`, false},
				{"Troupe-Sites", "header", "Sites that pages may be from, with commas between them.", `{"type":"string"}`, false},
				{"Troupe-Allow", "header", "What models may do as well: `downloads`, `uploads`.", `{"type":"string"}`, false},
			},
			body: `{"type":"object","description":"A message of JSON-RPC 2.0."}`,
			answers: []reply{
				{200, "The answer to a request. It is a stream of events if the client wants progress.", "text/event-stream", []any{json.RawMessage(nil)}},
				{202, "A notification was received.", "", nil},
			},
			codes: []engine.Code{engine.CodeInvalidRequest, answer.CodeIncompleteRequest, engine.CodePayloadTooLarge, engine.CodeUnsupportedMediaType},
		})
}
