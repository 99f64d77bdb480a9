package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// logged are the lines of a log in JSON with a message.
func logged(t *testing.T, text, message string) (lines []map[string]any) {
	t.Helper()
	for line := range strings.Lines(text) {
		var l map[string]any
		if !strings.HasPrefix(line, "{") {
			continue
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Errorf("%s: %v", line, err)
		}
		if l["message"] == message {
			lines = append(lines, l)
		}
	}
	return lines
}

// TestLogSaysWhatHappened: the log begins with what runs, ends with why it does not
// any more, has the end of a task that nobody asked for, calls accounts by their
// names, and holds no token. What clients send begins no line.
//
// Promise: The log says how each task ended (docs/operations.md).
func TestLogSaysWhatHappened(t *testing.T) {
	t.Parallel()
	data := filepath.Join(shortFolder(t), "data")
	d := operatorCLI{t, data}
	token := d.says("token", "create", "--account=ada", "--plan=pro")
	id := accountID(t, d)
	c, base := serve(t, data, "--workers=1", "--log-format=json")
	status, got, err := post(base, token, `{"async":true,"queueTimeout":20000,"actions":[{"evaluate":"return 1"},{"click":"#nowhere","options":{"timeout":10}}]}`)
	if err != nil || status != 200 {
		t.Fatalf("%d, %v: %s", status, err, got)
	}
	task := read(t, got).TaskID
	for end := time.Now().Add(hang); len(logged(t, c.errs.String(), "asynchronous task ended")) == 0; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the log has no end of the task")
		}
	}
	for _, name := range []string{"X-Request-Id", "X-Forwarded-For", "traceparent"} {
		req, _ := http.NewRequest("POST", base+"/v1/?a=%0a{%22message%22:%22forged%22}", strings.NewReader("{"))
		req.Header.Set(name, `{"message":"forged"} \n \u000a`)
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if res, err := http.DefaultClient.Do(req); err != nil {
			t.Error(err)
		} else {
			res.Body.Close()
		}
	}
	d.refuses(exitFailed, "", "worker", "drain", "nobody\n{\"message\":\"forged\"}\x1b[2J")
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Errorf("the stop: %v", err)
	}

	text := c.errs.String()
	start, stop, ended := logged(t, text, "the service starts"), logged(t, text, "the service has stopped"), logged(t, text, "asynchronous task ended")
	if len(start) != 1 || start[0]["version"] == "" || !strings.Contains(fmt.Sprint(start[0]["settings"]), "workers:1 ") || !strings.HasPrefix(text, `{"level":"info","version"`) {
		t.Errorf("it begins with %v", start)
	}
	if len(stop) != 1 || stop[0]["reason"] != "signal: terminated" || stop[0]["interrupted"] != 0.0 || stop[0]["took"] == nil || !strings.Contains(lastLine(text), "the service has stopped") {
		t.Errorf("it ends with %v", stop)
	}
	if len(ended) != 1 || ended[0]["task"] != task || ended[0]["account"] != "ada" || ended[0]["code"] != "element_not_found" || ended[0]["end"] != "completed" || ended[0]["failed"] != 1.0 || ended[0]["took"] == nil {
		t.Errorf("the task's end is %v", ended)
	}
	if strings.Contains(text, token) || strings.Contains(text, "troupe_") {
		t.Errorf("the log holds a token")
	}
	if strings.Contains(text, id) {
		t.Errorf("the log has the account as %s", id)
	}
	if forged := logged(t, text, "forged"); len(forged) != 0 || strings.ContainsRune(text, '\x1b') {
		t.Errorf("forged: %v", forged)
	}
}

func lastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

// accountID is the identifier of the only account.
func accountID(t *testing.T, d operatorCLI) string {
	t.Helper()
	var all []struct{ ID string }
	if err := json.Unmarshal([]byte(d.says("account", "list", "--json")), &all); err != nil || len(all) != 1 {
		t.Fatalf("%v, %v", all, err)
	}
	return all[0].ID
}
