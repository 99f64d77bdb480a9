package outside_test

import (
	"encoding/json"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// TestPlaywrightAttaches: Playwright does in a session what people do with it, is refused what leads out
// of the session, and leaves a session in which lists go on.
func TestPlaywrightAttaches(t *testing.T) {
	need.All(t)
	t.Parallel()
	packages := attachPackages(t)
	k := newAttachKit(t)
	cmd, out, errs := attachScript(t, packages, "playwright.cjs", k.ticket(t, `{}`), k.site, k.other)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	var seen map[string]any
	if err := json.Unmarshal(out.Bytes(), &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]any{
		"contexts": 1.0, "home": "Hello ada", "frame": "innermost", "clicked": "clicked", "popup": "Hello ada", "popupSawMark": "early",
		"dialog": "sure?", "confirmed": true, "upload": "bytes of a file", "routed": "from the client", "long": true, "picture": "PNG true",
		"second": "500 2", "fresh": "Hello nobody", "freshPopup": "Hello nobody",
	} {
		if seen[name] != want {
			t.Errorf("%s is %v: want %v", name, seen[name], want)
		}
	}
	for name, want := range map[string]string{
		"path": "send the bytes", "file": "addresses of file: are not open", "info": "shows the service's machine", "proxy": "proxyServer",
	} {
		if text, _ := seen[name].(string); !strings.Contains(text, want) {
			t.Errorf("%s is %v: want %q", name, seen[name], want)
		}
	}
	after := k.list(t, `[{"getText":"h1","save":"h"},{"evaluate":"innerWidth + 'x' + innerHeight + ' ' + document.cookie","save":"e"},{"getText":"#ups","save":"u"},{"getSavedData":["h","e","u"]}]`)
	data, _ := json.Marshal(after["data"])
	if text := string(data); !strings.Contains(text, "Hello ada") || !strings.Contains(text, "1280x720 user=ada") {
		t.Errorf("the list after it saw %s", text)
	}
}
