package outside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/remote"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// whatIsLeft is a list that says what a client has left in the session.
const whatIsLeft = `[{"evaluate":"return [document.querySelector('h1').textContent, ups.textContent, innerWidth + 'x' + innerHeight + ' ' + document.cookie].join('; ')"}]`

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
	if seen["path"] != "set" { // Playwright reads the file itself, and sends its bytes
		t.Errorf("path is %v", seen["path"])
	}
	for name, want := range map[string]string{
		"file": "addresses of file: are not open", "info": "shows the service's machine", "proxy": "proxyServer",
	} {
		if text, _ := seen[name].(string); !strings.Contains(text, want) {
			t.Errorf("%s is %v: want %q", name, seen[name], want)
		}
	}
	after := k.list(t, whatIsLeft)
	data, _ := json.Marshal(after["data"])
	if text := string(data); !strings.Contains(text, "Hello ada") || !strings.Contains(text, "1280x720 user=ada") {
		t.Errorf("the list after it saw %s", text)
	}
}

// TestPuppeteerAttaches is the same for Puppeteer, which reaches sessions as tabs with pages below them.
func TestPuppeteerAttaches(t *testing.T) {
	need.All(t)
	t.Parallel()
	packages := attachPackages(t)
	k := newAttachKit(t)
	cmd, out, errs := attachScript(t, packages, "puppeteer.cjs", k.ticket(t, `{}`), k.site, k.other)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	var seen map[string]any
	if err := json.Unmarshal(out.Bytes(), &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]any{
		"pages": 1.0, "home": "Hello ada", "frame": "innermost", "popup": "Hello ada", "dialog": "sure?", "confirmed": true,
		"routed": "from the client", "picture": "PNG", "second": "Hello ada 2", "fresh": "Hello nobody",
	} {
		if seen[name] != want {
			t.Errorf("%s is %v: want %v", name, seen[name], want)
		}
	}
	for name, want := range map[string]string{"path": "paths would be those of the service's machine", "file": "addresses of file: are not open"} {
		if text, _ := seen[name].(string); !strings.Contains(text, want) {
			t.Errorf("%s is %v: want %q", name, seen[name], want)
		}
	}
	after := k.list(t, whatIsLeft)
	data, _ := json.Marshal(after["data"])
	if text := string(data); !strings.Contains(text, "Hello ada") || !strings.Contains(text, "1280x720 user=ada") {
		t.Errorf("the list after it saw %s", text)
	}
}

// TestKilledClient: a client that is killed leaves a session in which lists go on, and what it held down
// is let go. While it was there, a list was refused.
func TestKilledClient(t *testing.T) {
	need.All(t)
	t.Parallel()
	packages := attachPackages(t)
	k := newAttachKit(t)
	cmd, _, errs := attachScript(t, packages, "playwright.cjs", k.ticket(t, `{}`), k.site, k.other)
	var said output
	cmd.Stdout, cmd.Env = &said, append(cmd.Env, "STAY=1")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the client has done its work", func() bool { return strings.HasSuffix(said.String(), "}\n") })
	status, text, err := post(k.base, k.token, `{"session":{"id":"`+k.session+`"},"actions":[{"getText":"h1"}]}`)
	if err != nil || status != 409 || !strings.Contains(text, `"session_attached"`) {
		t.Errorf("a list beside the client: %v, %d %s", err, status, text)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	after := k.list(t, whatIsLeft)
	data, _ := json.Marshal(after["data"])
	for _, want := range []string{"Hello ada", "up ", "1280x720 user=ada"} {
		if !strings.Contains(string(data), want) {
			t.Errorf("the list after the client saw %s: want %q\n%s", data, want, errs)
		}
	}
}

// TestChromedpAttaches: chromedp attaches with the token in a header, goes somewhere, takes a picture and
// uses a second page.
func TestChromedpAttaches(t *testing.T) {
	need.All(t)
	t.Parallel()
	k := newAttachKit(t)
	address := strings.Replace(k.base, "http", "ws", 1) + "/v1/sessions/" + k.session + "/cdp"
	allocator, end := remote.NewAllocator(t.Context(), address, remote.NoModifyURL, remote.WithDialHTTPHeader(http.Header{"Authorization": {"Bearer " + k.token}}))
	defer end()
	first, leave := chromedp.NewContext(allocator)
	defer leave()
	title := func(ctx context.Context, path string) string {
		t.Helper()
		if err := chromedp.Do(ctx, chromedp.Navigate(k.site+path)); err != nil {
			t.Fatal(err)
		}
		s, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.querySelector('h1').textContent`))
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := title(first, "/home"); s != "Hello nobody" {
		t.Errorf("the first page shows %q", s)
	}
	picture, err := chromedp.Run(first, chromedp.CaptureScreenshot())
	if err != nil || !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("the picture: %v, %d bytes", err, len(picture))
	}
	second, close2 := chromedp.NewContext(first)
	defer close2()
	if s := title(second, "/inner"); s != "innermost" {
		t.Errorf("the second page shows %q", s)
	}
}
