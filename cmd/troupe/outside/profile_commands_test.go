package outside_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestProfileCommands: troupe profile imports, lists, shows, exports and deletes profiles of
// a service, and says what is wrong.
func TestProfileCommands(t *testing.T) {
	dir, data := t.TempDir(), t.TempDir()
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatalf("no token is printed: %s", c.out.String())
	}
	t.Setenv("TROUPE_TOKEN", token[1])
	profile := func(stdin string, want int, parts ...string) func(args ...string) string {
		return func(args ...string) string {
			t.Helper()
			code, out, errs := play(t, stdin, append([]string{"profile", args[0], "--url", base}, args[1:]...)...)
			for _, part := range parts {
				if code != want || !strings.Contains(out+errs, part) {
					t.Errorf("profile %s: %d %s %s\nwant %d and %q", args, code, out, errs, want, part)
				}
			}
			return out
		}
	}
	state := `{"cookies":[{"name":"sid","value":"1","domain":"shop.example","path":"/","expires":-1,"httpOnly":true,"secure":false,"sameSite":"Lax"}],"origins":[{"origin":"https://shop.example","localStorage":[{"name":"k","value":"one"}]}]}`
	file, exported := filepath.Join(dir, "state.json"), filepath.Join(dir, "exported.json")
	if err := os.WriteFile(file, []byte(state), 0o600); err != nil {
		t.Fatal(err)
	}
	profile("", 0, "Version 1 of the profile shop-ada is stored")("import", "shop-ada", file)
	profile(strings.Replace(state, "one", "two", 1), 0, `"version": 2`)("import", "shop-ada", "-", "--json")
	profile("", 0, "PROFILE", "shop-ada", "https://shop.example")("list")
	profile("", 0, "an import", "SITES")("show", "shop-ada")
	var shown struct {
		Version  int
		Versions []struct{ Version int }
	}
	if out := profile("", 0, "")("show", "shop-ada", "--json"); json.Unmarshal([]byte(out), &shown) != nil || shown.Version != 2 || len(shown.Versions) != 2 {
		t.Errorf("%s", out)
	}
	for name, value := range map[string]string{"shop-ada": "two", "shop-ada@1": "one"} {
		if out := profile("", 0, `"value":"`+value+`"`)("export", name); !json.Valid([]byte(out)) {
			t.Errorf("%s", out)
		}
	}
	if err := os.WriteFile(exported, []byte("of another one"), 0o644); err != nil {
		t.Fatal(err)
	}
	profile("", 0, "Protect the file")("export", "shop-ada", "--out", exported)
	b, err := os.ReadFile(exported)
	info, _ := os.Stat(exported)
	if err != nil || !json.Valid(b) || !strings.Contains(string(b), `"two"`) || info.Mode().Perm() != 0o600 {
		t.Errorf("%s %v %v", b, info.Mode(), err)
	}
	profile("", 0, "Version 1 of the profile copied")("import", "copied", exported)
	profile("", 0, "The profile shop-ada is deleted")("delete", "shop-ada")

	profile("", exitFailed, "profile_not_found")("export", "shop-ada")
	profile("", exitFailed, "profile_not_found")("delete", "shop-ada")
	profile("", exitFailed, `there is none with the name "shop-ada"`)("show", "shop-ada")
	profile("", exitFailed, "no such file")("export", "copied", "--out", filepath.Join(dir, "none", "state.json"))
	profile("", exitUsage, "no such file")("import", "copied", filepath.Join(dir, "none"))
	profile("{", exitUsage, "is no JSON")("import", "copied", "-")
	profile(`{"cookies":[{}]}`, exitFailed, "/cookies/0")("import", "copied", "-")
	profile(state, exitUsage, "is not the name of a profile")("import", "a b", "-")
	if left, err := filepath.Glob(filepath.Join(dir, ".profile-*")); err != nil || len(left) > 0 {
		t.Errorf("%v %v", left, err)
	}
	t.Setenv("TROUPE_TOKEN", "")
	profile("", exitUsage, "TROUPE_TOKEN")("list")
}
