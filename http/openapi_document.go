package http

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/valyala/fasthttp"

	"troupe/engine"
	"troupe/http/admin"
	"troupe/http/answer"
	"troupe/persistence"
)

const components = "#/components/schemas/"

type fields = map[string]any

// openAPI is the OpenAPI document of the API, made from the tables that
// requests are read and answers are made with.
var openAPI = sync.OnceValue(func() []byte {
	r := reflector{schemas: fields{}}
	for name, schema := range engine.Schemas(components) {
		r.schemas[name] = schema
	}
	paths := fields{}
	for _, o := range operations {
		at, ok := paths[o.path].(fields)
		if !ok {
			at = fields{}
			paths[o.path] = at
		}
		o.takeKey()
		at[o.method] = o.describe(&r)
	}
	paths["/v1/execute"] = fields{"post": aliasOf(paths["/v1/"].(fields)["post"].(fields), "executeAlias")}
	b, err := json.Marshal(fields{
		"openapi":           "3.1.0",
		"jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
		"info": fields{
			"title": "Troupe", "version": "1", "license": fields{"name": "Apache-2.0", "identifier": "Apache-2.0"},
			"description": "Plays lists of browser actions over HTTP. Times are in milliseconds. Programs go by `code` of an error; `retryable` says that the same request may be sent again as it is.",
		},
		"servers":  []any{fields{"url": "/"}},
		"security": []any{fields{"token": []any{}}},
		"paths":    paths,
		"components": fields{
			"securitySchemes": fields{"token": fields{"type": "http", "scheme": "bearer"}},
			"schemas":         r.schemas,
			"headers": fields{
				"X-Request-Id": fields{"description": "Names the request in the service's log.", "schema": fields{"type": "string"}},
				"Retry-After":  fields{"description": "After how many seconds the request may be sent again. Only where it may.", "schema": fields{"type": "integer"}},
			},
		},
	})
	if err != nil {
		panic(fmt.Errorf("make the OpenAPI document: %w", err))
	}
	return b
})

// aliasOf is the same operation under another name.
func aliasOf(o fields, id string) fields {
	alias := fields{}
	for k, v := range o {
		alias[k] = v
	}
	alias["operationId"] = id
	alias["summary"] = o["summary"].(string) + " (the same)"
	return alias
}

// takeKey adds the key to what takes one: to all that is posted, but what makes nothing, a secret
// that is not kept, and files, which take the place of those with their names.
func (o *operation) takeKey() {
	has := slices.ContainsFunc(o.params, func(p param) bool { return p.name == keyHeader })
	command, operators := strings.CutPrefix(o.path, strings.TrimSuffix(operatorPath, "/"))
	if has || o.method != "post" || o.path == validatePath || o.path == sessionTicketsPath || o.files || operators && admin.ReadOnly(command) {
		return
	}
	o.params = append(slices.Clone(o.params), keyParam)
	for _, c := range []engine.Code{engine.CodeIdempotencyMismatch, engine.CodeTooManyWaiting, engine.CodeNotFound, engine.CodeInterrupted} {
		if !slices.Contains(o.codes, c) {
			o.codes = append(slices.Clone(o.codes), c)
		}
	}
}

func (o *operation) describe(r *reflector) fields {
	d := fields{"operationId": o.id, "summary": o.summary, "tags": []string{o.tag}, "responses": o.responses(r)}
	if o.doc != "" {
		d["description"] = o.doc
	}
	if o.open {
		d["security"] = []any{}
	}
	var params []any
	for _, p := range o.params {
		params = append(params, fields{"name": p.name, "in": p.in, "description": p.doc, "required": p.required, "schema": json.RawMessage(p.schema)})
	}
	if params != nil {
		d["parameters"] = params
	}
	if o.body != "" {
		content := fields{"application/json": fields{"schema": json.RawMessage(o.body)}}
		if o.lines != "" {
			content[ndjson[0]] = fields{"schema": fields{"type": "string", "description": o.lines}}
		}
		d["requestBody"] = fields{"required": true, "content": content}
	}
	if o.files {
		d["requestBody"] = fields{"required": true, "content": fields{
			"application/octet-stream": fields{"schema": fields{"type": "string", "contentMediaType": "application/octet-stream"}},
			"application/json":         fields{"schema": fields{"description": "A file that is JSON."}},
			"multipart/form-data": fields{"schema": fields{"type": "object", "required": []string{"files"}, "additionalProperties": false, "properties": fields{
				"files": fields{"type": "array", "description": "Files, each with its name.", "minItems": 1, "maxItems": persistence.MaxSessionFiles, "items": fields{"type": "string", "contentMediaType": "application/octet-stream"}},
			}}},
		}}
	}
	if o.task {
		task := fields{"$ref": components + "Task"}
		d["requestBody"] = fields{"required": true, "content": fields{
			"application/json": fields{"schema": task},
			"multipart/form-data": fields{
				"schema": fields{"type": "object", "required": []string{"payload"}, "additionalProperties": false, "properties": fields{
					"payload": task,
					"files":   fields{"type": "array", "description": "Files that actions name as $file:0, $file:1 and so on.", "maxItems": maxFiles, "items": fields{"type": "string", "contentMediaType": "application/octet-stream"}},
				}},
				"encoding": fields{"payload": fields{"contentType": "application/json"}},
			},
		}}
	}
	return d
}

// responses has the answers by status: what they say of refusals comes from the
// table of codes.
func (o *operation) responses(r *reflector) fields {
	codes := tokenCodes
	if o.open {
		codes = openCodes
	}
	byStatus := map[int][]string{}
	for _, c := range append(slices.Clone(codes), o.codes...) {
		info := answer.InfoOf(c)
		byStatus[info.Status] = append(byStatus[info.Status], fmt.Sprintf("`%s`: %s", c, info.Text))
	}
	all := fields{}
	headers := fields{answer.RequestIDHeader: fields{"$ref": "#/components/headers/" + answer.RequestIDHeader}}
	for status, texts := range byStatus {
		h := fields{answer.RequestIDHeader: headers[answer.RequestIDHeader]}
		h[fasthttp.HeaderRetryAfter] = fields{"$ref": "#/components/headers/" + fasthttp.HeaderRetryAfter}
		all[strconv.Itoa(status)] = fields{
			"description": strings.Join(texts, ". "), "headers": h,
			"content": fields{"application/json": fields{"schema": r.anyOf(answer.Refusal{})}},
		}
	}
	ended := map[int]fields{}
	for _, a := range o.answers {
		content, shapes := fields{}, a.shapes
		response := fields{"description": a.doc, "headers": headers, "content": content}
		if was, more := ended[a.status]; more { // in another form
			content = was["content"].(fields)
			response["description"], response["content"] = fmt.Sprint(was["description"], " Or: ", a.doc), content
		}
		ended[a.status] = response
		if a.content != "" {
			content[a.content] = fields{"schema": fields{"type": "string"}}
		}
		if refused := byStatus[a.status]; refused != nil && a.status != 408 {
			if !slices.ContainsFunc(shapes, func(v any) bool { _, ok := v.(answer.Refusal); return ok }) {
				shapes = append(slices.Clone(shapes), answer.Refusal{})
			}
			response["description"] = a.doc + " " + strings.Join(refused, ". ")
		}
		if len(shapes) > 0 {
			content["application/json"] = fields{"schema": r.anyOf(shapes...)}
		}
		all[strconv.Itoa(a.status)] = response
	}
	return all
}
