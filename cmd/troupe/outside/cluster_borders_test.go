package outside_test

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"time"
)

// What one account has is nobody else's at any node, whichever has it: the one
// that was asked, the one where the browser is, or a third.
var _ = promise(answering, "nothing of an account is another's at any node", short, func(g *testCluster) {
	n1, n2 := g.nodes[0], g.nodes[1]
	mallory := g.newToken("mallory", "pro")
	const value = "hunter2 of ada"
	var ended nodeAnswer
	for range 2 { // the second answer is the first one's, from whichever node
		ended = g.keyed(g.token, n1, `{"async":true,"queueTimeout":10000,"actions":[{"evaluate":"return '`+value+`'"}]}`)
	}
	if x := g.poll(n2, ended.TaskID, 20*time.Second); x.Data != value {
		g.t.Fatalf("the task %v has ended as %v", ended, x)
	}
	for _, m := range g.nodes {
		if x := g.keyed(mallory, m, `{"async":true,"queueTimeout":10000,"actions":[{"evaluate":"return '`+value+`'"}]}`); x.status != 200 || x.TaskID == ended.TaskID {
			g.t.Errorf("the same key at %s: %v", m.name, x)
		}
	}
	task, _ := g.site.opens()
	held := g.good(g.play(n1, on(n2.name, `"session":{"preserve":true},`+task+`,{"evaluate":"document.title='`+value+`';return 1"}]`)))
	defer g.play(n1, fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, held.SessionID))
	for _, m := range g.nodes {
		for what, c := range map[string]struct {
			method, path, body string
			status             int
		}{
			"the result":      {"GET", "/v1/get-result?taskId=" + ended.TaskID, "", 404},
			"the events":      {"GET", "/v1/tasks/" + ended.TaskID + "/events", "", 404},
			"the task":        {"GET", "/v1/tasks/" + ended.TaskID, "", 404},
			"its end":         {"DELETE", "/v1/tasks/" + ended.TaskID, "", 404},
			"a ticket":        {"POST", "/v1/tickets", fmt.Sprintf(`{"object":%q}`, ended.TaskID), 404},
			"a link":          {"POST", "/v1/links", fmt.Sprintf(`{"object":%q}`, held.SessionID), 404},
			"a link to watch": {"POST", "/v1/links", fmt.Sprintf(`{"object":%q}`, held.WorkerID), 404},
			"the session":     {"POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q},"actions":[{"evaluate":"return document.title"}]}`, held.SessionID), 409},
			"its close":       {"POST", "/v1/", fmt.Sprintf(`{"session":{"id":%q,"close":true}}`, held.SessionID), 409},
			"its worker":      {"POST", "/v1/", fmt.Sprintf(`{"workerId":%q,"session":{"override":true},"actions":[{"evaluate":"return document.title"}]}`, held.WorkerID), 409},
		} {
			if x := g.askAs(mallory, m, c.method, c.path, c.body); x.err != nil || x.status != c.status || strings.Contains(x.body, "hunter2") {
				g.t.Errorf("%s at %s: %v", what, m.name, x)
			}
		}
		if x := g.askAs(mallory, m, "GET", "/v1/workers", ""); x.status != 200 || strings.Contains(x.body, held.SessionID) || strings.Contains(x.body, "ada") {
			g.t.Errorf("the workers at %s: %v", m.name, x)
		}
	}
	if x := g.good(g.play(g.nodes[2], fmt.Sprintf(`{"session":{"id":%q},"actions":[{"evaluate":"return document.title"}]}`, held.SessionID))); x.Data != value {
		g.t.Errorf("the session of its owner says %v", x.Data)
	}
})

// keyed plays a task under one key.
func (g *testCluster) keyed(token string, m *member, task string) nodeAnswer {
	g.t.Helper()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_ = w.WriteField("payload", task)
	if err := w.Close(); err != nil {
		g.t.Fatal(err)
	}
	req, err := http.NewRequest("POST", m.base+"/v1/", &form)
	if err != nil {
		g.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", w.FormDataContentType())
	req.Header.Set("Idempotency-Key", "one-and-the-same")
	resp, err := alone.RoundTrip(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	x := nodeAnswer{status: resp.StatusCode, body: string(b), err: err}
	if err == nil {
		x.of, x.err = parsed(x.body)
	}
	return x
}
