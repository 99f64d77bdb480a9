package mcp

import (
	"strings"
	"testing"
)

// TestModelsSeeWhatPeopleRead: every look at a page asks for what a person reads.
func TestModelsSeeWhatPeopleRead(t *testing.T) {
	for tool, all := range map[string][]string{
		"look": {`{"url":"https://a.test/","as":"full"}`, `{"url":"https://a.test/","as":"interactive"}`, `{"url":"https://a.test/","as":"diff"}`, `{"url":"https://a.test/","as":"markdown"}`, `{"url":"https://a.test/","find":"buy"}`},
		"run":  {`{"actions":[{"open":"https://a.test/"}],"snapshot":"full"}`, `{"actions":[{"open":"https://a.test/"}],"snapshot":"interactive"}`, `{"actions":[{"open":"https://a.test/"}],"snapshot":"diff"}`},
	} {
		for _, arguments := range all {
			s := newServer(t, always(`{"success":true,"taskId":"task_1","sessionId":"s1","steps":[]}`), Policy{})
			s.call(t, tool, arguments)
			if sent := strings.Join(s.requests(), "\n"); !strings.Contains(sent, `"seen":true`) {
				t.Errorf("%s %s: %s", tool, arguments, sent)
			}
		}
	}
}
