package mcp

import (
	"strings"
	"testing"

	"troupe/engine"
)

// TestModelsChooseSurroundings: a model chooses what pages find around them and a profile
// of logins, and nothing that a person bounds.
func TestModelsChooseSurroundings(t *testing.T) {
	s := newServer(t, always(`{"success":true,"taskId":"task_1","sessionId":"sess_1"}`), Policy{Sites: []string{"a.test"}})
	for _, c := range []struct{ tool, arguments, want string }{
		{"session", `{"do":"open","config":{"locale":"de-DE","device":"iPhone 15"}}`,
			`{"actions":[{"wait":0}],"config":{"continueOnError":false,"device":"iPhone 15","downloads":"refuse","locale":"de-DE","sites":["a.test"],"trace":true,"uploads":"refuse"},"queueTimeout":15000,"session":{"preserve":true}}`},
		{"session", `{"do":"open"}`, `{"queueTimeout":15000,"session":{"preserve":true}}`},
		{"run", `{"actions":[{"wait":0}],"config":{"timezone":"Europe/Berlin"},"profile":"ada","snapshot":"full"}`,
			`{"actions":[{"wait":0},{"snapshot":{"maxTokens":7850,"seen":true}}],"async":true,"config":{"continueOnError":false,"downloads":"refuse","sites":["a.test"],"timezone":"Europe/Berlin","trace":true,"uploads":"refuse"},"profile":"ada","queueTimeout":15000}`},
		{"run", `{"actions":[{"wait":0}],"profile":{"name":"ada","readonly":true}}`, `"profile":{"name":"ada","readonly":true}`},
	} {
		before := len(s.requests())
		if text, res := s.call(t, c.tool, c.arguments); res.IsError {
			t.Errorf("%s: %s", c.arguments, text)
			continue
		}
		if got := s.requests()[before]; !strings.Contains(got, c.want) {
			t.Errorf("%s sends\n%s, want\n%s", c.arguments, got, c.want)
		}
	}
	sent := len(s.requests())
	for _, c := range []struct{ tool, arguments, want string }{
		{"session", `{"do":"open","config":{"local":"de"}}`, `There is no "local" in config: want device, locale, timezone, geolocation, colorScheme, reducedMotion, permissions, javascript; did you mean "locale"?`},
		{"session", `{"do":"open","config":{"sites":["b.test"]}}`, `There is no "sites" in config`},
		{"run", `{"actions":[{"wait":0}],"config":{"uploads":"allow"}}`, `There is no "uploads" in config`},
		{"run", `{"actions":[{"wait":0}],"config":"de"}`, `"config" must be an object`},
		{"run", `{"actions":[{"wait":0}],"session":"sess_1","profile":"ada"}`, `leave out "session" or "profile"`},
		{"session", `{"do":"open","profile":"ada"}`, `Give "profile" to run, without a session`},
	} {
		if text, res := s.call(t, c.tool, c.arguments); !res.IsError || !strings.Contains(text, c.want) {
			t.Errorf("%s: %s", c.arguments, text)
		}
	}
	if got := s.requests()[sent:]; len(got) > 0 {
		t.Errorf("what is wrong was sent: %s", got)
	}
	text, res := s.call(t, "actions", `{"names":["config"]}`)
	for _, name := range engine.SurroundingNames() {
		if !strings.Contains(text, "\n- "+name+": ") || res.IsError {
			t.Errorf("no help on %s in %s", name, text)
		}
	}
	if n := len(text) / tokenSize; n > 900 {
		t.Errorf("the help on config has %d tokens", n)
	}
}
