package outside_test

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"troupe/testkit/need"
)

// ended waits for the end of a socket and returns its code and reason.
func (c *rawClient) ended() (int, string) {
	c.t.Helper()
	for {
		_ = c.ws.SetReadDeadline(time.Now().Add(hang))
		if _, _, err := c.ws.ReadMessage(); err != nil {
			var closed *websocket.CloseError
			if errors.As(err, &closed) {
				return closed.Code, closed.Text
			}
			return 0, err.Error()
		}
	}
}

// refusedAttach is the answer to a handshake that is refused.
func refusedAttach(t *testing.T, address string, header http.Header) (int, string) {
	t.Helper()
	d := websocket.Dialer{HandshakeTimeout: hang}
	ws, answer, err := d.Dial(address, header)
	if err == nil {
		ws.Close()
		return 101, ""
	}
	if answer == nil {
		t.Fatal(err)
	}
	b := make([]byte, 4096)
	n, _ := answer.Body.Read(b)
	return answer.StatusCode, string(b[:n])
}

// TestSocketsOfSessions: tickets open one connection or several, the discovery of clients uses none up,
// one client is there at a time, and each socket says why it ends.
func TestSocketsOfSessions(t *testing.T) {
	need.All(t)
	t.Parallel()
	k := newAttachKit(t)
	bearer := http.Header{"Authorization": {"Bearer " + k.token}}
	at := "/v1/sessions/" + k.session + "/cdp"
	socket := strings.Replace(k.base, "http", "ws", 1) + at

	// A ticket for one connection, which the discovery does not use up and carries on.
	once := k.ticket(t, `{}`)
	query := once[strings.Index(once, "?"):]
	for _, path := range []string{"/json/version", "/json/version/", "/json", "/json/", "/json/list", "/json/list/"} {
		status, text := 0, ""
		if r, err := http.Get(k.base + at + path + query); err == nil {
			b, _ := io.ReadAll(r.Body)
			r.Body.Close()
			status, text = r.StatusCode, string(b)
		}
		var named struct{ WebSocketDebuggerURL string }
		if !strings.Contains(path, "version") {
			text = strings.Trim(strings.TrimSpace(text), "[]")
		}
		if err := json.Unmarshal([]byte(text), &named); err != nil || status != 200 || named.WebSocketDebuggerURL != once {
			t.Errorf("%s: %v, %d %s: want %s", path, err, status, text, once)
		}
	}
	if status, text := get(t, k.base, k.token, at+"/json/version"); status != 200 || strings.Contains(text, "ticket") {
		t.Errorf("with the token: %d %s", status, text)
	}
	first := dialAttach(t, once, nil)
	if a := first.call("", "Browser.getVersion", ""); a.Error.Code != 0 {
		t.Errorf("%+v", a.Error)
	}
	if status, text := refusedAttach(t, once, nil); status != 401 {
		t.Errorf("the ticket a second time: %d %s", status, text)
	}
	for name, address := range map[string]string{
		"no ticket": socket, "a wrong one": socket + "?ticket=attach_x",
		"of another session": strings.Replace(k.ticket(t, `{}`), k.session, "sess_00000000000000000000000000000000", 1),
	} {
		if status, text := refusedAttach(t, address, nil); status != 401 {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	if status, text := refusedAttach(t, strings.Replace(socket, k.session, "sess_00000000000000000000000000000000", 1), bearer); status != 404 {
		t.Errorf("a session that is not there: %d %s", status, text)
	}
	if status, text := get(t, k.base, k.token, at); status != 426 {
		t.Errorf("no socket: %d %s", status, text)
	}
	for body, want := range map[string]string{`{"reuse":1}`: "reuse wants true or false", `{"ttl":1}`: `has no field \"ttl\"`, `[]`: "not an object"} {
		if status, text, err := sendTo("POST", k.base+"/v1/sessions/"+k.session+"/tickets", k.token, body); err != nil || status != 400 || !strings.Contains(text, want) {
			t.Errorf("%s: %v, %d %s", body, err, status, text)
		}
	}

	// One at a time, unless another takes over. A ticket with reuse opens several.
	again := k.ticket(t, `{"reuse":true}`)
	if status, text := refusedAttach(t, again, nil); status != 409 || !strings.Contains(text, `"session_attached"`) {
		t.Errorf("a second client: %d %s", status, text)
	}
	second := dialAttach(t, again+"&takeover=true", nil)
	if code, why := first.ended(); code != 4001 || !strings.HasPrefix(why, "taken_over") {
		t.Errorf("the first ended with %d %q", code, why)
	}
	if a := second.call("", "Browser.close", ""); a.Error.Code != 0 {
		t.Errorf("%+v", a.Error)
	}
	if code, why := second.ended(); code != 1000 || !strings.HasPrefix(why, "closed") {
		t.Errorf("the second ended with %d %q", code, why)
	}
	third := dialAttach(t, again+"&queueTimeout=20000", nil)
	page, _ := third.page()
	if a := third.call(page, "Runtime.evaluate", `{"expression":"1+1"}`); !strings.Contains(string(a.Result), "2") {
		t.Errorf("%+v", a)
	}

	// The end of the session ends the client, its tickets and the addresses.
	k.do(t, "DELETE", "/v1/sessions/"+k.session, "", 200, nil)
	if code, why := third.ended(); code != 4000 || !strings.HasPrefix(why, "session_ended") {
		t.Errorf("the third ended with %d %q", code, why)
	}
	if status, text := refusedAttach(t, again, nil); status != 401 {
		t.Errorf("after the session: %d %s", status, text)
	}

	// Sites hold for clients.
	k.open(t, `{"attach":true,"config":{"sites":["127.0.0.1"]}}`)
	bound := dialAttach(t, strings.Replace(k.base, "http", "ws", 1)+"/v1/sessions/"+k.session+"/cdp", bearer)
	page, _ = bound.page()
	for method, params := range map[string]string{"Page.navigate": `{"url":"` + k.other + `/home"}`, "Target.createTarget": `{"url":"` + k.other + `/home"}`} {
		at := page
		if method == "Target.createTarget" {
			at = ""
		}
		if a := bound.call(at, method, params); !strings.Contains(a.Error.Message, "not on one of the session's sites") {
			t.Errorf("%s: %+v", method, a)
		}
	}
	if a := bound.call("", "Target.createBrowserContext", ""); !strings.Contains(a.Error.Message, "has sites") {
		t.Errorf("a context beside: %+v", a)
	}
	bound.call(page, "Page.navigate", `{"url":"`+k.site+`/home"}`)
	bound.call(page, "Runtime.evaluate", `{"expression":"location.href = '`+k.other+`/home'"}`)
	time.Sleep(time.Second)
	if a := bound.call(page, "Runtime.evaluate", `{"expression":"location.href"}`); !strings.Contains(string(a.Result), k.site+"/home") {
		t.Errorf("a script went to %s", a.Result)
	}
}
