package outside_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var screenshots = flag.Bool("screenshots", false, "let the service take the pictures of docs/images of its own page")

// TestScreenshots takes the pictures of docs/web.md: each view, wide and narrow,
// while there is something to see.
func TestScreenshots(t *testing.T) {
	if !*screenshots {
		t.Skip("make screenshots takes them")
	}
	w := openWeb(t, 4)
	start := func(task string) {
		t.Helper()
		if status, got, err := post(w.base, w.ada, task); err != nil || status != 200 {
			t.Fatalf("%d, %v: %s", status, err, got)
		}
	}
	start(shopTask)
	start(`{"actions":[{"open":"http://demo.troupe.test/"},{"click":"#sold-out","options":{"timeout":200}},{"getText":"h1"},{"screenshot":"viewport"}]}`)
	start(`{"actions":[{"open":"http://demo.troupe.test/login"},{"fill":["#user","ada"]},{"fill":["#password","demo"]},{"click":"#login"}],"session":{"preserve":true}}`)
	start(`{"async":true,"timeout":600000,"actions":[{"open":"http://demo.troupe.test/?q=lamp"},{"getText":"h1"},{"wait":500000}]}`)
	if _, _, err := post(w.base, w.ops, shopTask); err != nil {
		t.Fatal(err)
	}
	flow := `{"description":"Finds products in the shop","parameters":{"word":{"description":"what to look for","default":"lamp"}},
		"actions":[{"open":"http://demo.troupe.test/?q=${word}"},{"extractAll":[".product",{"name":"h3","price":".price"}]}]}`
	if status, got, err := sendTo("PUT", w.base+"/v1/flows/find-products", w.ada, flow); err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	var s struct{ Schedule struct{ ScheduleID string } }
	for _, send := range []struct {
		path, body string
		is         any
	}{
		{"/v1/endpoints", `{"url":"` + w.hook + `/hook"}`, nil},
		{"/v1/schedules", `{"name":"prices","cron":"0 9 * * 1-5","timeZone":"Europe/Berlin","task":{"actions":[{"open":"http://demo.troupe.test/product/1"},{"getText":".price"}]}}`, &s},
		{"/v1/schedules/%s/run", `{}`, nil},
	} {
		path := w.base + strings.Replace(send.path, "%s", s.Schedule.ScheduleID, 1)
		status, got, err := postTo(path, w.ada, send.body)
		if err == nil && send.is != nil {
			err = json.Unmarshal([]byte(got), send.is)
		}
		if err != nil || status >= 300 {
			t.Fatalf("%s: %d, %v: %s", path, status, err, got)
		}
	}
	for _, size := range []struct{ width, height int }{{1280, 800}, {390, 844}} {
		sized := fmt.Sprintf(`{"setViewportSize":[%d,%d]},`, size.width, size.height)
		take := func(name, actions string) {
			t.Helper()
			got := w.plays(t, sized+actions+`,{"evaluate":"document.activeElement.blur()"},{"screenshot":"viewport"}`)
			var picture struct{ URL string }
			if err := json.Unmarshal(got, &picture); err != nil {
				t.Fatal(err)
			}
			r, err := http.Get(picture.URL)
			if err != nil {
				t.Fatal(err)
			}
			defer r.Body.Close()
			b, err := io.ReadAll(r.Body)
			if err == nil {
				err = os.MkdirAll("../../../docs/images", 0o755)
			}
			if err == nil {
				err = os.WriteFile(filepath.Join("../../../docs/images", fmt.Sprintf("%s-%d.png", name, size.width)), b, 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		take("sign-in", `{"open":"{{base}}/"},{"evaluate":{{watched}}},{"waitForElement":"#token"}`)
		take("workers", `{{ada}},{"waitForElement":".picture:not([data-frames='0'])"},{"waitForElement":".worker .state[data-is=reserved]"},{"waitForElement":".worker:has(.state[data-is=reserved]) .picture:not([data-frames='0'])"},{"waitForElement":".worker:has(.state[data-is=busy]) .picture:not([data-frames='0'])"}`)
		take("tasks", `{{ada}},{"click":"nav a[data-view=tasks]"},{"click":".tasks li:has(.state[data-is=failed]) a"},{"waitForElement":".shots img"},{"evaluate":"await document.querySelector('.shots img').decode()"}`)
		take("runs", `{{ada}},{"click":"nav a[data-view=runs]"},{"click":".tasks li:has(.state[data-is=failed]) a"},{"waitForElement":".shots img"},{"evaluate":"scrollTo(0, 0); await document.querySelector('.shots img').decode()"}`)
		take("playground", `{{ada}},{"click":"nav a[data-view=playground]"},{"waitForElement":"#verdict .state[data-is=complete]"},
			{"click":"#run"},{"waitForElement":"#outcome[data-is=complete]"}`)
		take("playground-dark", `{{ada}},{"selectOption":["#theme","dark"]},{"click":"nav a[data-view=playground]"},
			{"evaluate":"await paste('{\"actions\": [\\n  {\"open\": \"http://demo.troupe.test/\"},\\n  {\"clik\": \"#next\"},\\n  {\"fill\": \"#q\"}\\n]}')"},{"waitForElement":".faults button"}`)
		take("flows", `{{ada}},{"click":"nav a[data-view=flows]"},{"click":".tasks a[data-flow]"},{"click":"#run-flow"},{"waitForElement":"#outcome[data-is=complete]"}`)
		take("schedules", `{{ada}},{"click":"nav a[data-view=schedules]"},{"click":"li[data-schedule] a"},{"waitForElement":".runs li[data-status=complete]"}`)
		take("notices", `{{ada}},{"click":"nav a[data-view=notices]"},{"waitForElement":"li[data-endpoint]"},{"click":"li[data-notice] a"},{"waitForElement":".result .runs li"}`)
		take("docs", `{"open":"{{base}}/docs/actions/click"},{"evaluate":{{watched}}}`)
		take("usage", `{{ada}},{"click":"nav a[data-view=usage]"},{"waitForElement":"#used-tasks"}`)
		take("operator", `{{ops}},{"click":"nav a[data-view=operator]"},{"waitForElement":"tr[data-token]"}`)
	}
}
