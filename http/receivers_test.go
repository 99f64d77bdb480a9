package http_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"troupe/engine/egress"
	"troupe/http"
)

// receivers are all places in requests that name a receiver.
var receivers = []struct{ name, method, path, body, at string }{
	{"a task", "POST", "/v1/", `{"queue":true,"notify":[{"url":URL}],"actions":[{"wait":1}]}`, "/notify/0/url"},
	{"an asynchronous task", "POST", "/v1/execute", `{"async":true,"notify":[{"url":"https://example.com/"},{"url":URL}],"actions":[{"wait":1}]}`, "/notify/1/url"},
	{"a batch", "POST", "/v1/batches", `{"notify":[{"url":URL}],"task":{"actions":[{"wait":1}]},"items":[{"a":1}]}`, "/notify/0/url"},
	{"a schedule of a task", "POST", "/v1/schedules", `{"every":3600000,"task":{"notify":[{"url":URL}],"actions":[{"wait":1}]}}`, "/task/notify/0/url"},
	{"a schedule of a batch", "POST", "/v1/schedules", `{"every":3600000,"batch":{"notify":[{"url":URL}],"task":{"actions":[{"wait":1}]},"items":[{"a":1}]}}`, "/batch/notify/0/url"},
	{"a changed schedule", "PUT", "/v1/schedules/mine", `{"scheduleId":"mine","every":3600000,"task":{"notify":[{"url":URL}],"actions":[{"wait":1}]}}`, "/task/notify/0/url"},
	{"an endpoint", "POST", "/v1/endpoints", `{"url":URL}`, "/url"},
}

// TestReceiversThatAreNotAllowed: a receiver at a literal address that the outbound rules
// refuse is a fault of the request, wherever it is named; one whose name has to be looked
// up is none.
func TestReceiversThatAreNotAllowed(t *testing.T) {
	out, err := egress.Start(egress.Config{Allow: []netip.Prefix{netip.MustParsePrefix("10.1.2.0/24")}, AllowHosts: []string{"127.0.0.9"}})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	e := &stranger{liveServer: openLiveServer(t, func(c *http.Config) { c.Unreachable = out.Literal })}
	hosts := map[string]bool{
		"127.0.0.1": true, "127.0.0.1:8080": true, "[::1]": true, "localhost": true, "LOCALHOST.": true, "a.localhost:80": true, "10.0.0.1": true, "192.168.1.1": true,
		"169.254.169.254": true, "[::ffff:127.0.0.1]": true, "[fd00::1]": true, "0.0.0.0": true, "168.63.129.16": true,
		"127.0.0.9": false, "10.1.2.3": false, "example.com": false, "8.8.8.8": false, "intranet.example": false, "localhost.example": false,
	}
	for _, r := range receivers {
		for host, refused := range hosts {
			body := strings.ReplaceAll(r.body, "URL", fmt.Sprintf("%q", "http://"+host+"/hook"))
			status, p, text, _ := e.send(r.method, r.path, body, bearerGood)
			named := status == 400 && p.Code == "invalid_request" && strings.Contains(text, fmt.Sprintf(`"path":%q`, r.at)) &&
				strings.Contains(p.Error, "--allow-host") && strings.Contains(text, `"hint":"Pages cannot reach`)
			if named != refused {
				t.Errorf("%s with %s: %d %s", r.name, host, status, text)
			}
		}
	}
	status, _, text, _ := e.send("POST", "/v1/validate", `{"queue":true,"notify":[{"url":"http://127.0.0.1/"}],"actions":[{"wait":1}]}`, bearerGood)
	if status != 200 || !strings.Contains(text, `"valid":false`) || !strings.Contains(text, "--allow-host") {
		t.Errorf("validate: %d %s", status, text)
	}
}
