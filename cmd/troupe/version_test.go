package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// fakeBrowser is a program that says a version.
func fakeBrowser(t *testing.T, says string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+says+"'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestVersion: the command says the version, the commit, Go and the browser.
func TestVersion(t *testing.T) {
	commit = "0123456789abcdef0123456789abcdef01234567"
	t.Cleanup(func() { commit = "" })
	path := fakeBrowser(t, "Chromium 156.0.1.2 ")
	code, out, stderr := play(t, "", "version", "--browser", path)
	want := "troupe " + version + " " + runtime.Version() + " " + runtime.GOOS + "/" + runtime.GOARCH + "\ncommit  " + commit + "\nbrowser Chromium 156.0.1.2 (" + path + ")\n"
	if code != 0 || out != want {
		t.Errorf("exit code %d, %q%s, want %q", code, out, stderr, want)
	}
	if ownVersion() != version+" 0123456789ab" {
		t.Errorf("others are told %q", ownVersion())
	}
	_, out, _ = play(t, "", "version", "--json", "--browser", path)
	var got map[string]any
	if err := json.Unmarshal([]byte(out), &got); err != nil {
		t.Fatal(err)
	}
	found, _ := got["browser"].(map[string]any)
	if got["version"] != version || got["commit"] != commit || got["go"] != runtime.Version() || found["path"] != path || found["version"] != "Chromium 156.0.1.2" {
		t.Errorf("as JSON it says %s", out)
	}
	if _, out, _ = play(t, "", "version", "--browser", "/bin/false"); !strings.HasSuffix(out, "browser /bin/false, which does not say its version\n") {
		t.Errorf("of a program that fails it says %q", out)
	}
}

// TestTheVersionIsInTheChangelog: what is released has its section.
func TestTheVersionIsInTheChangelog(t *testing.T) {
	b, err := os.ReadFile("../../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(b), "\n## "+version+"\n") {
		t.Errorf("CHANGELOG.md has no section %q", "## "+version)
	}
}

// TestCompletion: the program offers what may follow.
func TestCompletion(t *testing.T) {
	for _, tc := range []struct {
		words []string
		has   []string
		hasnt []string
	}{
		{[]string{""}, []string{"serve", "token", "completion"}, []string{"__complete", "manual", "--help"}},
		{[]string{"to"}, []string{"token"}, []string{"serve"}},
		{[]string{"token", ""}, []string{"create", "list", "revoke"}, []string{"serve"}},
		{[]string{"serve", "--no-d"}, []string{"--no-demo"}, []string{"--demo"}},
		{[]string{"serve", "--data", "token", "--list"}, []string{"--listen"}, []string{"create"}}, // token is the folder
		{[]string{"account", "create", "--plan", ""}, []string{"free", "pro"}, []string{"--json"}},
		{[]string{"account", "create", "--plan=p"}, []string{"--plan=pro"}, []string{"--plan=free"}},
		{[]string{"account", "create", "--plan", "=", "p"}, []string{"pro"}, []string{"--plan=pro"}}, // as bash cuts words
		{[]string{"account", "create", "--plan", "="}, []string{"free", "pro"}, nil},
		{[]string{"account", "create", "--plan", "=", "pro", "--js"}, []string{"--json"}, nil},
		{[]string{"completion", ""}, []string{"bash", "zsh", "fish"}, nil},
		{[]string{"run", "--", "--o"}, nil, []string{"--out"}},
		{[]string{"run", "--o"}, []string{"--out"}, []string{"--browser"}},
		{[]string{"no", "such", "--x="}, nil, []string{"serve"}},
		{nil, []string{"serve"}, nil},
	} {
		code, out, stderr := play(t, "", append([]string{"__complete", "--"}, tc.words...)...)
		var words []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			words = append(words, word)
		}
		all := " " + strings.Join(words, " ") + " "
		for _, w := range tc.has {
			if code != 0 || !strings.Contains(all, " "+w+" ") {
				t.Errorf("%q: %s is not offered: %s%s", tc.words, w, out, stderr)
			}
		}
		for _, w := range tc.hasnt {
			if strings.Contains(all, " "+w+" ") {
				t.Errorf("%q: %s is offered", tc.words, w)
			}
		}
	}
}

// TestCompletionInBash: bash itself completes with the script, by a program that answers as
// this one.
func TestCompletionInBash(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip(err)
	}
	_, script, _ := play(t, "", "completion", "bash")
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "troupe"), []byte("#!/bin/sh\nprintf '%s\\n' \"$*\" >&2\nprintf 'free\\tA plan.\\npro\\tAnother.\\n'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bash, "--norc", "-c", script+`
COMP_WORDS=(troupe account create --plan ""); COMP_CWORD=4
_troupe; printf '<%s>' "${COMPREPLY[@]}"; complete -p troupe`)
	cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"))
	out, err := cmd.CombinedOutput()
	if want := "<free><pro>complete -o default -F _troupe troupe\n"; err != nil || string(out) != want {
		t.Errorf("bash has %q (%v), want %q", out, err, want)
	}
	for _, other := range []string{"zsh", "fish"} {
		_, script, _ := play(t, "", "completion", other)
		if program, err := exec.LookPath(other); err == nil {
			if out, err := exec.Command(program, "-n", "-c", script).CombinedOutput(); err != nil {
				t.Errorf("%s cannot read its script: %s", other, out)
			}
		}
		if !strings.Contains(script, "__complete -- ") {
			t.Errorf("the script for %s does not ask the program", other)
		}
	}
}

// TestCompletionInFishAndZsh: the shells themselves offer what the program does, and files only
// where it has nothing to offer.
func TestCompletionInFishAndZsh(t *testing.T) {
	dir := t.TempDir()
	program := "#!/bin/sh\nprintf '%s\\n' \"$*\" >&2\ncase \"$*\" in *--plan*) printf 'free\\tA plan.\\npro\\tAnother.\\n';; esac\n"
	for name, text := range map[string]string{"troupe": program, "list.json": "{}"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for shell, ask := range map[string]string{
		"fish": "%s\ncomplete -C 'troupe account create --plan '; echo; complete -C 'troupe run li'\n",
		// Outside of its line editor, zsh's own functions for menus and files only say what they would show.
		"zsh": "compdef() { }\n%s\n_describe() { print -rl -- \"${(P@)2}\" }; _files() { print -rl -- ${words[CURRENT]}* }\n" +
			"words=(troupe account create --plan ''); CURRENT=5; _troupe; echo; words=(troupe run li); CURRENT=3; _troupe\n",
	} {
		t.Run(shell, func(t *testing.T) {
			program, err := exec.LookPath(shell)
			if err != nil {
				t.Skip(err)
			}
			_, script, _ := play(t, "", "completion", shell)
			args := []string{"-c", fmt.Sprintf(ask, script)}
			if shell == "zsh" {
				args = append([]string{"-f"}, args...)
			}
			cmd := exec.Command(program, args...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "HOME="+dir)
			out, err := cmd.CombinedOutput()
			got := strings.ReplaceAll(strings.TrimSpace(string(out)), "\t", ":")
			if want := "free:A plan.\npro:Another.\n\nlist.json"; err != nil || got != want {
				t.Errorf("%s has %q (%v), want %q", shell, got, err, want)
			}
		})
	}
}

// TestManual: each command that people see has a page with its flags and their variables, and
// man reads it without a complaint.
func TestManual(t *testing.T) {
	dir := t.TempDir()
	if code, _, stderr := play(t, "", "manual", dir); code != 0 {
		t.Fatal(stderr)
	}
	pages, _ := filepath.Glob(filepath.Join(dir, "*.1"))
	if len(pages) < 50 {
		t.Errorf("there are %d pages", len(pages))
	}
	for page, has := range map[string][]string{
		"troupe.1":              {"troupe token create", `.SH "COMMANDS"`},
		"troupe-serve.1":        {`\-\-listen=`, "TROUPE_LISTEN", `\-\-[no\-]demo`},
		"troupe-token-create.1": {`troupe\-token\-create`, `\-\-account=`},
	} {
		b, err := os.ReadFile(filepath.Join(dir, page))
		if err != nil {
			t.Error(err)
		}
		for _, s := range has {
			if !strings.Contains(string(b), s) {
				t.Errorf("%s does not have %q", page, s)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*__complete*")); len(left) != 0 {
		t.Errorf("what people do not call has a page: %v", left)
	}
	if groff, err := exec.LookPath("groff"); err == nil {
		for _, p := range pages {
			if out, err := exec.Command(groff, "-man", "-Kutf8", "-Tutf8", "-ww", "-z", p).CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("groff does not like %s: %s", filepath.Base(p), out)
			}
		}
	}
}

// TestBrowserInstall: the command says how to install a browser, and which others are found.
func TestBrowserInstall(t *testing.T) {
	code, out, stderr := play(t, "", "browser", "install")
	if code != 0 || !strings.Contains(out, "troupe doctor") || !strings.Contains(out, "Playwright") {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
	file := filepath.Join(t.TempDir(), "os-release")
	if err := os.WriteFile(file, []byte("NAME=\"Rocky Linux\"\nID=\"rocky\"\nID_LIKE='rhel centos fedora'\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if id, like := osRelease(file); id != "rocky" || like != "rhel centos fedora" {
		t.Errorf("the system is %q, like %q", id, like)
	}
}
