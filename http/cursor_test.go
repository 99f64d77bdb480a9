package http_test

import (
	"strings"
	"testing"

	"troupe/http"
)

// listsOf are the queries with which the lists of a path come, each with cursors that
// the list could have made, so that only the others are refused.
var listsOf = map[string]map[string]string{
	"/v1/tasks": {
		"":               "",
		"?status=queued": "-/5/0192f0a1b2c3d4/task_0123456789abcdef_1764300000_q50192f0a1b2c3d4",
		"?status=ended":  "0192f0a1b2c3d4/task_0123456789abcdef_1764300000_q50192f0a1b2c3d4",
		"?status=dead":   "0192f0a1b2c3d4/task_0123456789abcdef_1764300000_q50192f0a1b2c3d4",
	},
	"/v1/notices":                   {"": "7f0d1c2b3a4/msg_0192f0a1b2c_abcdefghijklmnopqrstuvwx", "?status=waiting": "msg_0192f0a1b2c_abcdefghijklmnopqrstuvwx"},
	"/v1/runs":                      {"": "95027753/task_0123456789abcdef_1764300000"},
	"/v1/runs/counts":               {"": "95027753/task_0123456789abcdef_1764300000"},
	"/v1/batches":                   {"": "di5k8wq1z2ab-batch_0123456789abcdef_1764300000"},
	"/v1/batches/{batchId}/results": {"": "0192f0a1b2c3d4/0000000007", "?order=items": "12"},
	"/v1/batches/{batchId}/failed":  {"": ""},
	"/v1/batches/{batchId}/dropped": {"": ""},
	"/v1/sessions":                  {"": ""}, "/v1/workers": {"": ""}, "/v1/flows": {"": ""}, "/v1/profiles": {"": ""}, "/v1/schedules": {"": ""}, "/v1/endpoints": {"": ""}, "/v1/tokens": {"": ""}, "/v1/links": {"": ""},
}

// notLists are the other things that a client gets with a token.
var notLists = []string{"/v1/get-result", "/v1/usage", "/v1/cluster", "/v1/notice-secret", "/v1/events", "/v1/capacity"}

// TestCursorsThatAreNone: an empty part would look like the end of a list, so a cursor
// that no list has made is refused by each.
func TestCursorsThatAreNone(t *testing.T) {
	e := &stranger{liveServer: openLiveServer(t)}
	for _, w := range http.Routes() {
		if w.Method != "GET" || !strings.HasPrefix(w.Path, "/v1/") {
			continue
		}
		lists, is := listsOf[w.Path]
		if !is {
			name := strings.Contains(w.Path, "{")
			for _, other := range notLists {
				name = name || w.Path == other
			}
			if !name {
				t.Errorf("%s is neither a list nor something else: add it to listsOf", w.Path)
			}
			continue
		}
		for query, own := range lists {
			sep := "?"
			if query != "" {
				sep = "&"
			}
			path := strings.ReplaceAll(w.Path, "{batchId}", "batch_1")
			for _, cursor := range []string{"none", "0", "-", "x/y", "..", "%00", "%20", "null", "task_1", strings.Repeat("a", 300), own + "x/", "/" + own} {
				if query == "?order=items" && cursor == "0" {
					continue
				}
				status, p, text, _ := e.send("GET", path+query+sep+"cursor="+cursor, "", bearerGood)
				if status != 400 || !strings.Contains(text, `"path":"/cursor"`) {
					t.Errorf("%s%s with %q: %d %s %s", w.Path, query, cursor, status, p.Code, text)
				}
			}
			if own != "" {
				if status, _, text, _ := e.send("GET", path+query+sep+"cursor="+own, "", bearerGood); status == 400 {
					t.Errorf("%s%s with %q: %d %s", w.Path, query, own, status, text)
				}
			}
			if status, _, text, _ := e.send("GET", path+query+sep+"cursor=", "", bearerGood); status == 400 {
				t.Errorf("%s%s without a cursor: %d %s", w.Path, query, status, text)
			}
		}
	}
}
