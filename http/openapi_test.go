package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	nethttp "net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"

	"troupe/engine"
	"troupe/http"
	"troupe/persistence"
	"troupe/testkit"
	"troupe/testkit/need"
)

// documentURL names the document to whoever checks by it. It is no path: that would
// be one below this folder, whose name may have signs that an address has not.
const documentURL = "test:///openapi.json"

// document is the OpenAPI document, made strict: an answer with a field that it
// does not name is not the answer that it documents.
type document struct {
	raw     map[string]any
	mu      sync.Mutex // compiling is for one at a time
	schemas *jsonschema.Compiler
}

var openAPI = sync.OnceValue(func() *document {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(http.OpenAPI()))
	if err != nil {
		panic(err)
	}
	d := &document{raw: v.(map[string]any), schemas: jsonschema.NewCompiler()}
	for _, s := range at(d.raw, "components", "schemas") {
		if o := s.(map[string]any); o["type"] == "object" && o["additionalProperties"] == nil {
			o["additionalProperties"] = false
		}
	}
	if err := d.schemas.AddResource(documentURL, v); err != nil {
		panic(err)
	}
	return d
})

// at goes down into a document.
func at(v map[string]any, keys ...string) map[string]any {
	for _, k := range keys {
		v, _ = v[k].(map[string]any)
	}
	return v
}

func pointer(keys ...string) string {
	var b strings.Builder
	for _, k := range keys {
		b.WriteString("/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(k))
	}
	return b.String()
}

// check compares a body with the schema at a place of the document.
func (d *document) check(body []byte, keys ...string) error {
	d.mu.Lock()
	s, err := d.schemas.Compile(documentURL + "#" + pointer(keys...))
	d.mu.Unlock()
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return s.Validate(v)
}

// path finds what the document says of an address.
func (d *document) path(target string) string {
	target, _, _ = strings.Cut(target, "?")
	paths := at(d.raw, "paths")
	if paths[target] != nil {
		return target
	}
	for p := range paths {
		hole := regexp.MustCompile(`\\\{[a-zA-Z]+\\\}`).ReplaceAllString(regexp.QuoteMeta(p), `[^/]+`)
		if regexp.MustCompile("^" + hole + "$").MatchString(target) {
			return p
		}
	}
	return ""
}

// documented complains of an answer that is not as the document says.
func documented(t testing.TB, method, target string, status int, contentType string, body []byte) {
	t.Helper()
	d, code := openAPI(), fmt.Sprint(status)
	kind, _, _ := strings.Cut(contentType, ";")
	path := d.path(target)
	if target == "/v1" {
		path = "/v1/"
	}
	op := at(d.raw, "paths", path, strings.ToLower(method))
	if op == nil { // what is not documented may only be refused
		if err := d.check(body, "components", "schemas", "Error"); err != nil || status != 404 && status != 405 && status != 401 {
			t.Errorf("%s %s is not documented, and answers %d %s (%v)", method, target, status, body, err)
		}
		return
	}
	content := at(op, "responses", code, "content")
	if content == nil {
		t.Errorf("%s %s answers %d, which is not documented", method, path, status)
		return
	}
	if content[kind] == nil && content["*/*"] == nil {
		t.Errorf("%s %s answers %d as %s, which is not documented", method, path, status, contentType)
		return
	}
	if kind != "application/json" {
		return
	}
	if err := d.check(body, "paths", path, strings.ToLower(method), "responses", code, "content", kind, "schema"); err != nil {
		t.Errorf("%s %s answers %d with %s, which is not as documented: %v", method, path, status, body, err)
	}
}

// TestOpenAPIIsValid: a validator that others wrote takes the document.
func TestOpenAPIIsValid(t *testing.T) {
	need.NoRace(t)
	beside(t)
	if err := validOpenAPI(http.OpenAPI()); err != nil {
		t.Fatal(err)
	}
}

func validOpenAPI(b []byte) error {
	doc, err := openapi3.NewLoader().LoadFromData(b)
	if err != nil {
		return err
	}
	if !doc.IsOpenAPI31OrLater() {
		return fmt.Errorf("it is of version %s", doc.OpenAPI)
	}
	return doc.Validate(context.Background(), openapi3.EnableExamplesValidation(), openapi3.EnableSchemaDefaultsValidation(), openapi3.EnableMultiError())
}

// TestGeneratorsReadTheSchemas: generators of clients take a list of types only as one type
// that may be null, and no false in place of a schema.
func TestGeneratorsReadTheSchemas(t *testing.T) {
	var look func(at string, v any)
	look = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			if types, ok := v["type"].([]any); ok && (len(types) > 2 || len(types) == 2 && types[1] != "null") {
				t.Errorf("%s/type is %v: write the types one by one in anyOf", at, types)
			}
			if items, there := v["items"]; there && items == false {
				t.Errorf("%s/items is false: use maxItems", at)
			}
			for name, part := range v {
				look(at+"/"+name, part)
			}
		case []any:
			for i, part := range v {
				look(fmt.Sprintf("%s/%d", at, i), part)
			}
		}
	}
	look("", openAPI().raw)
}

// TestFaultsOfOpenAPIAreFound: what says that the document is valid finds what is not.
func TestFaultsOfOpenAPIAreFound(t *testing.T) {
	need.NoRace(t)
	beside(t)
	for _, broken := range []struct{ old, now string }{
		{`"in":"query"`, `"in":"qurey"`},
		{`#/components/schemas/Error"`, `#/components/schemas/Eror"`},
		{`"type":"boolean"`, `"type":"bool"`},
		{`"description":"The file."`, `"descripton":"The file."`},
		{`"operationId":"validate"`, `"operationId":"execute"`},
	} {
		b := strings.Replace(string(http.OpenAPI()), broken.old, broken.now, 1)
		if b == string(http.OpenAPI()) || validOpenAPI([]byte(b)) == nil {
			t.Errorf("with %s the document is valid", broken.now)
		}
	}
}

// TestOpenAPIKnowsEveryRoute: each way is documented, and each
// documented address answers.
func TestOpenAPIKnowsEveryRoute(t *testing.T) {
	beside(t)
	paths := at(openAPI().raw, "paths")
	for _, w := range http.Routes() {
		if w.Path == "/v1" || w.Path == "/v1/operator/{order}" { // the same as /v1/; each command is documented by itself
			continue
		}
		if strings.Contains(w.Path, "/cdp/json") && (strings.HasSuffix(w.Path, "/") || strings.HasSuffix(w.Path, "/json")) { // other spellings, for clients; the document says so
			continue
		}
		if at(paths, w.Path, strings.ToLower(w.Method)) == nil {
			t.Errorf("%s %s is not documented", w.Method, w.Path)
		}
	}
	k := testkit.New(t, testkit.Options{Workers: 1})
	e := openServer(t, &fakeActors{}, func(c *http.Config) {
		c.Live, c.Files, c.Counts, c.Tokens = k.Node, newMemoryFiles(), counts(3), persistence.NewAccounts(k.Store)
		c.Flows = persistence.NewFlows(k.Store)
		seal, err := persistence.NewSeal(make([]byte, 32))
		if err != nil {
			t.Fatal(err)
		}
		c.Profiles = persistence.NewProfiles(k.Store, seal)
	})
	for path, v := range paths {
		for method := range v.(map[string]any) {
			req, _ := nethttp.NewRequest(strings.ToUpper(method), "http://"+e.addr+strings.NewReplacer("{taskId}", "t1", "{file}", "f1", "{name}", "main.js", "{folder}/{page}", "actions/click", "{page}", "api").Replace(path), nil)
			req.Header.Set("Authorization", "Bearer good")
			r, err := alone.RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			var b []byte
			if r.Header.Get("Content-Type") != "text/event-stream" { // which has no end
				b, _ = io.ReadAll(r.Body)
			}
			r.Body.Close()
			documented(t, strings.ToUpper(method), req.URL.Path, r.StatusCode, r.Header.Get("Content-Type"), b)
			if r.StatusCode == 404 && bytes.Contains(b, []byte("There is nothing here")) {
				t.Errorf("%s %s is documented, and is not there", method, path)
			}
		}
	}
}

// namesIn adds the names of the fields of all objects that stand in arrays: those of
// actions are among them.
func namesIn(v any, to map[string]bool) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if fields, ok := e.(map[string]any); ok {
				for name := range fields {
					to[name] = true
				}
			}
			namesIn(e, to)
		}
	case map[string]any:
		for _, e := range v {
			namesIn(e, to)
		}
	}
}

// TestOpenAPITakesEveryTask: whatever the service takes is valid by the
// document, and what the document refuses the service refuses.
func TestOpenAPITakesEveryTask(t *testing.T) {
	need.NoRace(t)
	if need.Race {
		need.All(t) // nothing in it runs side by side
	}
	files, _ := filepath.Glob("../engine/testdata/*.txtar")
	taken, seen := 0, map[string]bool{}
	for _, name := range files {
		ar, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		var stored engine.FlowList
		for _, f := range ar.Files {
			if name, version, ok := engine.ParseFlowReference(strings.TrimPrefix(f.Name, "flow ")); ok && strings.HasPrefix(f.Name, "flow ") {
				stored = append(stored, engine.StoredFlow{Name: name, Version: max(1, version), Source: f.Data})
				if _, err := engine.ParseFlow(name, f.Data, stored); err == nil {
					if err := openAPI().check(f.Data, "components", "schemas", "NewFlow"); err != nil {
						t.Errorf("%s: %s is not valid by the document: %v\n%s", ar.Comment, f.Name, err, f.Data)
					}
				}
			}
			if !strings.HasPrefix(f.Name, "case ") {
				continue
			}
			body := []byte(strings.NewReplacer("{{url}}", "http://a.test", "{{other}}", "http://b.test", "{{soon}}", "1900000000").Replace(string(f.Data)))
			task, err := engine.ParseWith(body, []engine.Upload{{Name: "a"}, {Name: "b"}, {Name: "c"}}, stored)
			if err != nil {
				continue
			}
			taken++
			var sent struct{ Actions any }
			if err := json.Unmarshal(task.Source(), &sent); err != nil {
				t.Fatal(err)
			}
			namesIn(sent.Actions, seen)
			if err := openAPI().check(body, "components", "schemas", "Task"); err != nil {
				t.Errorf("%s: %s is not valid by the document: %v\n%s", name, f.Name, err, body)
			}
		}
	}
	for _, name := range engine.ActionNames() {
		if !seen[name] {
			t.Errorf("no task was tried with %s", name)
		}
	}
	if taken < 300 {
		t.Errorf("only %d tasks were tried", taken)
	}
	for _, task := range []string{
		`{"actions":[{"clik":"a"}]}`, `{"actions":[{"click":""}]}`, `{"actions":[{"click":"a","wait":1}]}`, `{"actions":[{"fill":["a"]}]}`, `{"actions":[{}]}`,
		`{"actions":[{"click":"a","options":{"timout":1}}]}`, `{"actions":[{"find":"a","options":{"save":"1a"}}]}`, `{"actions":[{"click":"a","options":{"timeout":0}}]}`,
		`{"action":[]}`, `{"timeout":-1,"actions":[{"wait":1}]}`, `{"queueTimeout":120001,"actions":[{"wait":1}]}`, `{"session":{"preserv":true},"actions":[{"wait":1}]}`,
		`{"config":{"trace":"yes"},"actions":[{"wait":1}]}`, `{"config":{"onFailure":{"picture":true}},"actions":[{"wait":1}]}`, `{"config":{"onFailure":true},"actions":[{"wait":1}]}`, `{"actions":[{"loop":{"do":[]}}]}`, `{"actions":[{"loop":{"repeat":1,"each":"a","do":[]}}]}`,
		`{"actions":[{"if":{"condition":{"cached":"a","operator":"~"},"then":[]}}]}`, `{"session":{"timeout":59999},"actions":[{"wait":1}]}`, `[]`,
	} {
		if openAPI().check([]byte(task), "components", "schemas", "Task") == nil {
			t.Errorf("%s is valid by the document", task)
		}
		if _, err := engine.Parse([]byte(task), nil); err == nil {
			t.Errorf("%s is valid", task)
		}
	}
	// Null is what many clients send for "not set".
	full := `{"config":{"trace":"full","onFailure":{"screenshot":true,"html":true,"console":false,"network":null}},"actions":[{"wait":1}]}`
	if task, err := engine.Parse([]byte(full), nil); err != nil || !task.Config.FullTrace || !task.Config.Trace || task.Config.OnFailure != (engine.OnFailure{Screenshot: true, HTML: true}) {
		t.Errorf("%+v, %v", task, err)
	}
	if err := openAPI().check([]byte(full), "components", "schemas", "Task"); err != nil {
		t.Error(err)
	}
	null := `{"actions":[{"wait":1}],"workerId":null,"timeout":null,"queueTimeout":null,"config":null,"session":null,"async":null}`
	if _, err := engine.Parse([]byte(null), nil); err != nil {
		t.Error(err)
	}
	if err := openAPI().check([]byte(null), "components", "schemas", "Task"); err != nil {
		t.Error(err)
	}
}

// TestOpenAPIIsServed: what is served is the document.
func TestOpenAPIIsServed(t *testing.T) {
	e := openServer(t, &fakeActors{})
	r, err := nethttp.Get("http://" + e.addr + "/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	if !json.Valid(b) || !bytes.Equal(b, http.OpenAPI()) || !strings.HasPrefix(r.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%d %s: %.100s", r.StatusCode, r.Header.Get("Content-Type"), b)
	}
}
