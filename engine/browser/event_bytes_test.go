package browser

import (
	"bytes"
	"encoding/base64"
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"
)

// protocolFolder is where the protocol's types are.
func protocolFolder(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/chromedp/cdproto").Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

// protocolNames are the names of the protocol's methods and events.
func protocolNames(t *testing.T) (names []cdproto.MethodType) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(protocolFolder(t), "cdproto.go"), nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if v, ok := n.(*ast.ValueSpec); ok && len(v.Names) == 1 && strings.HasPrefix(v.Names[0].Name, "Event") && len(v.Values) == 1 {
			if l, ok := v.Values[0].(*ast.BasicLit); ok {
				s, _ := strconv.Unquote(l.Value)
				names = append(names, cdproto.MethodType(s))
			}
		}
		return true
	})
	return names
}

// fields are the ways to the fields of a kind in a type: names of fields, and [] for elements.
func fields(of reflect.Type, is func(reflect.Type) bool, depth int) (all [][]string) {
	if is(of) {
		return [][]string{nil}
	}
	switch of.Kind() {
	case reflect.Pointer:
		return fields(of.Elem(), is, depth)
	case reflect.Slice:
		for _, f := range fields(of.Elem(), is, depth) {
			all = append(all, append([]string{"[]"}, f...))
		}
	case reflect.Struct:
		if depth == 0 {
			return nil
		}
		for i := range of.NumField() {
			name, _, _ := strings.Cut(of.Field(i).Tag.Get("json"), ",")
			if name == "" || name == "-" {
				continue
			}
			for _, f := range fields(of.Field(i).Type, is, depth-1) {
				all = append(all, append([]string{name}, f...))
			}
		}
	}
	return all
}

func isBytes(t reflect.Type) bool { return t == reflect.TypeFor[[]byte]() }
func isText(t reflect.Type) bool  { return t.Kind() == reflect.String }

// put gives a JSON object a value at the end of a way.
func put(way []string, v any) any {
	for i := len(way) - 1; i >= 0; i-- {
		if way[i] == "[]" {
			v = []any{v}
		} else {
			v = map[string]any{way[i]: v}
		}
	}
	return v
}

// cutEvent is what comes of an event that is too long to be taken as a whole.
func cutEvent(t *testing.T, name cdproto.MethodType, params any) *message {
	t.Helper()
	return received(t, `{"method":"`+string(name)+`","params":`+string(mustJSON(t, params))+`,"sessionId":"0123456789ABCDEF0123456789ABCDEF"}`)
}

// TestLongEventsCanBeRead: of every event of the protocol, one field that is bytes or text is
// longer than events may have. The event is read all the same, and has the beginning of it.
func TestLongEventsCanBeRead(t *testing.T) {
	t.Parallel()
	long := make([]byte, 150<<10)
	for i := range long {
		long[i] = byte(rand.Uint32())
	}
	long64, text := base64.StdEncoding.EncodeToString(long), strings.Repeat("x", 150<<10)
	names, seen := protocolNames(t), 0
	if len(names) < 200 {
		t.Fatalf("the protocol has %d events", len(names))
	}
	for _, name := range names {
		empty, err := cdproto.UnmarshalMessage(&cdproto.Message{Method: name, Params: jsonv2.Value(`{}`)}, chromedp.DefaultUnmarshalOptions)
		if err != nil || empty == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		of := reflect.TypeOf(empty).Elem()
		for _, way := range fields(of, isBytes, 5) {
			seen++
			m := cutEvent(t, name, put(way, long64))
			e := reflect.New(of)
			if !decode(m.Params, e.Interface()) {
				t.Errorf("%s with long bytes in %v cannot be read", name, way)
				continue
			}
			found := e.Elem()
			for _, part := range way {
				for found.Kind() == reflect.Pointer {
					found = found.Elem()
				}
				if part == "[]" {
					found = found.Index(0)
					continue
				}
				for i := range found.NumField() {
					if tag, _, _ := strings.Cut(found.Type().Field(i).Tag.Get("json"), ","); tag == part {
						found = found.Field(i)
						break
					}
				}
			}
			if b := found.Bytes(); len(b) < cutBytes-3 || !bytes.HasPrefix(long, b) {
				t.Errorf("%s has %d bytes in %v, which are not the beginning", name, len(b), way)
			}
		}
		for _, way := range fields(of, isText, 3) {
			m := cutEvent(t, name, put(way, text))
			if !decode(m.Params, reflect.New(of).Interface()) {
				t.Errorf("%s with a long text in %v cannot be read", name, way)
			}
		}
	}
	if seen < 8 {
		t.Errorf("only %d fields of events are bytes", seen)
	}
}

// TestBytesOfAnswers: what is bytes in the answer to a call that this package makes is the
// long text of the answer, so that none of it is cut.
func TestBytesOfAnswers(t *testing.T) {
	t.Parallel()
	own, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	called := map[string]bool{} // package.Command
	for _, file := range own {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			if s, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := s.X.(*ast.Ident); ok && strings.HasPrefix(s.Sel.Name, "Command") {
					called[x.Name+"."+strings.TrimPrefix(s.Sel.Name, "Command")] = true
				}
			}
			return true
		})
	}
	files, err := filepath.Glob(filepath.Join(protocolFolder(t), "*", "*.go"))
	if err != nil || len(called) < 40 {
		t.Fatalf("%d calls, %v", len(called), err)
	}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			s, ok := n.(*ast.TypeSpec)
			if !ok || !strings.HasSuffix(s.Name.Name, "Returns") && !strings.HasSuffix(s.Name.Name, "Result") {
				return true
			}
			fields, ok := s.Type.(*ast.StructType)
			command := strings.TrimSuffix(strings.TrimSuffix(s.Name.Name, "Returns"), "Result")
			if !ok || !called[f.Name.Name+"."+command] {
				return true
			}
			for _, field := range fields.Fields.List {
				if a, ok := field.Type.(*ast.ArrayType); ok && field.Tag != nil {
					if of, ok := a.Elt.(*ast.Ident); ok && of.Name == "byte" {
						tag, _ := strconv.Unquote(field.Tag.Value)
						if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); maxLong[name] == 0 {
							t.Errorf("%s.%s of the answer is bytes, and would be cut", s.Name.Name, name)
						}
					}
				}
			}
			return true
		})
	}
}

// TestEventsToAnswerKeepTheirNames: an event that has to be answered keeps what names it,
// however much else it has. Those that are bounded can be read as a whole.
func TestEventsToAnswerKeepTheirNames(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("x", 300<<10)
	headers := map[string]any{}
	for i := range 100 {
		headers["h"+strconv.Itoa(i)] = text
	}
	for _, name := range []string{"Fetch.requestPaused", "Fetch.authRequired"} {
		b := string(mustJSON(t, map[string]any{"request": map[string]any{"url": "http://a.example/", "headers": headers}}))
		m := received(t, `{"method":"`+name+`","params":{"requestId":"interception-job-12.0",`+b[1:]+`,"sessionId":"0123456789ABCDEF0123456789ABCDEF"}`)
		if got := unreadID(m.Params); got != "interception-job-12.0" || m.SessionID != "0123456789ABCDEF0123456789ABCDEF" || string(m.Method) != name {
			t.Errorf("of %s there is %q, of %q: %.200s", name, got, m.SessionID, m.Params)
		}
	}
	m := received(t, `{"method":"Network.requestWillBeSent","params":{"requestId":"12.0","request":{"url":"http://a.example/","headers":`+string(mustJSON(t, headers))+`}},"sessionId":"0123456789ABCDEF0123456789ABCDEF"}`)
	if e := new(network.EventRequestWillBeSent); decode(m.Params, e) {
		t.Errorf("an event without its request is read: %+v", e)
	}
	long := func(of cdproto.MethodType) *message {
		empty, _ := cdproto.UnmarshalMessage(&cdproto.Message{Method: of, Params: jsonv2.Value(`{}`)}, chromedp.DefaultUnmarshalOptions)
		all := map[string]any{}
		for _, way := range fields(reflect.TypeOf(empty).Elem(), isText, 3) {
			at := all
			for _, part := range way[:len(way)-1] {
				if at[part] == nil {
					at[part] = map[string]any{}
				}
				at = at[part].(map[string]any)
			}
			at[way[len(way)-1]] = text
		}
		return cutEvent(t, of, all)
	}
	for _, name := range []cdproto.MethodType{"Page.javascriptDialogOpening", "Target.attachedToTarget", "Page.fileChooserOpened", "Page.screencastFrame"} {
		m := long(name)
		if _, err := cdproto.UnmarshalMessage(&m.Message, chromedp.DefaultUnmarshalOptions); err != nil || len(m.Params) == 0 {
			t.Errorf("%s with long texts cannot be read: %v", name, err)
		}
	}
	var e fetch.EventRequestPaused
	part := strings.Repeat("eHh4", 12<<10)
	entries := make([]any, 30_000)
	for i := range entries {
		entries[i] = map[string]any{"bytes": part[:4]}
		if i < 100 {
			entries[i] = map[string]any{"bytes": part}
		}
	}
	b := string(mustJSON(t, map[string]any{"request": map[string]any{"url": "http://a.example/", "postDataEntries": entries}, "resourceType": "Fetch"}))
	m = received(t, `{"method":"Fetch.requestPaused","params":{"requestId":"1",`+b[1:]+`}`)
	if !decode(m.Params, &e) || e.Request == nil || e.ResourceType != "Fetch" {
		t.Errorf("a request of 30,000 parts cannot be read")
	}
}
