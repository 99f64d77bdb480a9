package attach

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the generated document anew")

//go:generate go test . -run TestTheReferenceIsCurrent -update

// TestTheReferenceIsCurrent: the document has what the table has.
func TestTheReferenceIsCurrent(t *testing.T) {
	const path = "../../docs/attach-commands.md"
	if *update {
		if err := os.WriteFile(path, []byte(Reference()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil || string(got) != Reference() {
		t.Errorf("%s is not current: run make generate (%v)", path, err)
	}
}

// TestTableIsSane: each command stands in the table once, and none has a reason to be refused as well.
func TestTableIsSane(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range commands {
		for _, r := range d.rules {
			for _, name := range strings.Fields(r.names) {
				if name = d.name + "." + name; seen[name] {
					t.Errorf("%s stands there twice", name)
				}
				seen[name] = true
			}
		}
	}
	for _, f := range refused {
		for _, name := range strings.Fields(f.names) {
			if r := index[name]; r != nil && r.where != atRoot {
				t.Errorf("%s passes and is refused", name)
			}
		}
	}
}

// TestAddresses: only addresses of the web are open, however they are written.
func TestAddresses(t *testing.T) {
	for address, open := range map[string]bool{
		"http://a": true, "HTTPS://a": true, " https://a ": true, "data:text/html,x": true, "blob:http://a/1": true, "about:blank": true, "about:blank#x": true, "About:blank": true,
		"": false, "a": false, "/etc/passwd": false, "//a": false, "1http://a": false, "file:///a": false, "\x00file:///a": false, "f\til\ne:///a": false, "view-source:http://a": false,
		"about:version": false, "about:": false, "about:blankets": false, "chrome://gpu": false, "devtools://x": false, "javascript:1": false, "filesystem:http://a/x": false, "ht tp://a": false,
		"http\u2028://a": false, "blob": false,
	} {
		if err := addressFault(address); (err == nil) != open {
			t.Errorf("%q: %v", address, err)
		}
	}
}
