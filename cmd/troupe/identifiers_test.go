package main

import (
	"net/http"
	"net/http/httptest"
	"reflect"
	"sync/atomic"
	"testing"

	"github.com/alecthomas/kong"
)

// TestIdentifiersOfCommandsLeadNowhere: no command that talks to a service as a client
// makes a path of an identifier that is none.
func TestIdentifiersOfCommandsLeadNowhere(t *testing.T) {
	var asked atomic.Pointer[string]
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		sent := r.Method + " " + r.RequestURI
		asked.Store(&sent)
	}))
	defer srv.Close()
	t.Setenv(clientsToken, "token")
	parser, err := kong.New(&commands{}, kong.PostBuild(nameVariables), kong.Bind(&environment{}))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]bool{"task": true, "items": true, "file": true}
	tried := 0
	for _, leaf := range parser.Model.Leaves(false) {
		if leaf.Target.Kind() != reflect.Struct || !embeds(leaf.Target.Type(), reflect.TypeFor[client]()) && !embeds(leaf.Target.Type(), reflect.TypeFor[flowPlace]()) {
			continue
		}
		for i, p := range leaf.Positional {
			if files[p.Name] {
				continue
			}
			for _, evil := range []string{"../flows/x", "..", "x/../../flows/x", "%2e%2e%2fflows", `..\flows\x`, "x?y", "x#y", "x/run", "x@1/..", "//x"} {
				args := append([]string{}, pathTo(leaf)...)
				for j, other := range leaf.Positional {
					switch {
					case j == i:
						args = append(args, evil)
					case files[other.Name]:
						args = append(args, "-")
					default:
						args = append(args, "x")
					}
				}
				asked.Store(nil)
				code, _, errs := play(t, "{}", append(args, "--url", srv.URL+"/prefix")...)
				sent := asked.Load()
				if leaf.Name == "show" && leaf.Parent.Name == "profile" && sent != nil && *sent == "GET /prefix/v1/profiles" { // the list has it
					sent, code = nil, exitUsage
				}
				if sent != nil || code != exitUsage {
					t.Errorf("%q ends with %d, %s", args, code, errs)
					if sent != nil {
						t.Errorf("%q sends %s", args, *sent)
					}
				}
				tried++
			}
		}
	}
	if tried < 100 {
		t.Errorf("%d were tried: the commands were not found", tried)
	}
}

// pathTo are the words of a command.
func pathTo(n *kong.Node) (words []string) {
	for ; n.Parent != nil; n = n.Parent {
		words = append([]string{n.Name}, words...)
	}
	return words
}

// embeds reports whether a struct has another one in it, at any depth.
func embeds(t, what reflect.Type) bool {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous && (f.Type == what || f.Type.Kind() == reflect.Struct && embeds(f.Type, what)) {
			return true
		}
	}
	return false
}
