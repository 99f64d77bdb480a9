package outside_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	picture := filepath.Join(t.TempDir(), "a.png")
	if err := os.WriteFile(picture, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(t.TempDir(), "plans.json")
	if err := os.WriteFile(config, []byte(`{"plans":{"free":{"sessions":true,"reserved":1}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	none := filepath.Join(t.TempDir(), "none.json")
	if err := os.WriteFile(none, []byte(`{"plans":{"standard":{"asyncTimeoutMs":0},"pro":{"asyncTimeoutMs":0}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	const session = `{"session":{"preserve":true}}`
	for name, tc := range map[string]struct {
		task string
		args []string
		code int
		want string
	}{
		"with evidence": {`{"config":{"onFailure":{"html":true}},"actions":[{"wait":5}]}`, nil, 0, `"worstCase": 2005`},
		"valid":         {`{"actions":[{"wait":5}]}`, nil, 0, `"worstCase": 5`},
		"a fault":       {`{"actions":[{"clik":"a"}]}`, nil, exitFailed, `did you mean`},
		"not JSON":      {`{`, nil, exitFailed, "not valid JSON"},
		"its place": {"{\"actions\": [\n  {\"clik\": \"a\"}]}", nil, exitFailed, `"line": 2,
      "column": 4`},
		"a warning":         {`{"actions":[{"click":"$a"}]}`, nil, 0, "nothing saves it"},
		"on any plan":       {session, nil, 0, `"lowest": "standard"`},
		"on a plan":         {session, []string{"--plan=pro"}, 0, `"allowed": true`},
		"on too low a plan": {session, []string{"--plan=basic"}, exitFailed, `"allowed": false`},
		"plans of a file":   {session, []string{"--plan=free", "--config=" + config}, 0, `"lowest": "free"`},
		"on none at all":    {`{"async":true,"actions":[{"wait":5}]}`, []string{"--config=" + none}, exitFailed, `"lowest": null`},
		"no file":           {`{"actions":[{"uploadFile":["a","$file:0"]}]}`, nil, exitFailed, "$file:0 does not exist"},
		"with the file":     {`{"actions":[{"uploadFile":["a","$file:0"]}]}`, []string{"--file=" + picture}, 0, `"valid": true`},
		"no such plan":      {session, []string{"--plan=gold"}, exitUsage, ""},
		"too large":         {strings.Repeat(" ", 1<<20+1), nil, exitUsage, ""},
	} {
		t.Run(name, func(t *testing.T) {
			code, out, stderr := play(t, tc.task, append([]string{"validate", "-"}, tc.args...)...)
			if code != tc.code || !strings.Contains(out, tc.want) {
				t.Errorf("exit code %d, %s%s", code, out, stderr)
			}
			if code != exitUsage && !json.Valid([]byte(out)) {
				t.Errorf("the result is no JSON: %s", out)
			}
		})
	}
	if _, _, stderr := play(t, "{\"actions\": [\n  {\"clik\": \"a\"}]}", "validate", "-"); !strings.Contains(stderr, "standard input:2:4: /actions/0/clik: ") {
		t.Errorf("the place of a fault is not said: %s", stderr)
	}
	if code, _, stderr := play(t, "", "validate", "nothing.json"); code != exitUsage || !strings.Contains(stderr, "nothing.json") {
		t.Errorf("without a file: exit code %d, %s", code, stderr)
	}
}
