package outside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/engine"
)

// A reader follows one document.
type reader struct {
	t           *testing.T
	base, token string
	metrics     string // where the service shows them; empty: it does not
	data, dir   string
	vars        map[string]string
	answer      []byte // of the block before, until it is compared
}

func newReader(t *testing.T, base, token, data string) *reader {
	t.Helper()
	dir := t.TempDir()
	if err := os.Symlink(program, filepath.Join(dir, "troupe")); err != nil {
		t.Fatal(err)
	}
	return &reader{t: t, base: base, token: token, data: data, dir: dir, vars: map[string]string{}}
}

func (r *reader) read(b block) error {
	switch b.lang {
	case "mermaid", "text": // drawings
		return nil
	case "sh", "":
		if strings.HasPrefix(b.text, "id: ") || strings.HasPrefix(b.text, "event: ") {
			return r.compare(b.text, eventsDiffer)
		}
		if err := r.finish(); err != nil {
			return err
		}
		return r.commands(b.text)
	case "json":
		return r.json(b)
	}
	return fmt.Errorf("the test does not know what a block of %q is", b.lang)
}

// json reads a block of JSON: a request, an action, an answer or a configuration.
func (r *reader) json(b block) error {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte(b.text), &fields); err != nil {
		return err
	}
	has := func(name string) bool { return fields[name] != nil }
	names := slices.Collect(maps.Keys(fields))
	switch {
	case has("success") || has("ready") || has("status"):
		return r.compare(b.text, jsonDiffers)
	case has("actions") || has("session"):
		if err := r.finish(); err != nil {
			return err
		}
		return r.post(b.text)
	case has("nodes"):
		if err := r.finish(); err != nil {
			return err
		}
		return r.workflow(b.text)
	case has("plans") || has("proxies"):
		path := filepath.Join(r.dir, "config.json")
		if err := os.WriteFile(path, []byte(b.text), 0o600); err != nil {
			return err
		}
		if out, err := runProgram(`{"actions":[{"wait":0}]}`, "validate", "--config="+path, "-"); err != nil {
			return fmt.Errorf("%w: %s", err, out)
		}
		return nil
	case slices.ContainsFunc(names, func(n string) bool { return slices.Contains(engine.ActionNames(), n) }):
		return r.action(b)
	}
	return fmt.Errorf("the test does not know what JSON with the fields %q is", names)
}

// post posts a request, and keeps its answer.
func (r *reader) post(task string) error {
	status, got, err := post(r.base, r.token, task)
	if err != nil {
		return err
	}
	r.answered([]byte(got))
	if status != 200 && !(status == 202 && strings.Contains(task, `"queue"`)) {
		return fmt.Errorf("it is answered with %d: %s", status, got)
	}
	return nil
}

// action plays one action where the document says that it is.
func (r *reader) action(b block) error {
	page := b.page
	if page == "" {
		page = "http://demo.troupe.test/"
	}
	list := `{"open":"` + page + `"},` + b.text
	if strings.Contains(b.text, `"waitForResponse"`) { // looks out for what comes after it
		list = b.text + `,{"open":"` + page + `"}`
	}
	if err := os.WriteFile(filepath.Join(r.dir, "hello.txt"), []byte("hello\n"), 0o600); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(r.dir, "task.json"), []byte(`{"actions":[`+list+`]}`), 0o600); err != nil {
		return err
	}
	if err := r.shell(`curl -sS ` + described + `/v1/ -H "Authorization: Bearer $TOKEN" -F payload=@task.json -F files=@hello.txt`); err != nil {
		return err
	}
	return r.finish()
}

// commands runs a block of commands, or looks whether what they name exists.
func (r *reader) commands(text string) error {
	runs := false
	for _, line := range logicalLines(text) {
		words := strings.Fields(line)
		switch words[0] {
		case "make":
			if err := known("../../../Makefile", `(?m)^`+regexp.QuoteMeta(words[1])+`:`); err != nil {
				return err
			}
		case "go":
			for _, w := range words {
				if strings.HasPrefix(w, "./") {
					if _, err := os.Stat(filepath.Join("../../..", w)); err != nil {
						return err
					}
				}
			}
		case "troupe":
			if words[1] == "serve" { // would not end
				if err := commandLine(words[1:]); err != nil {
					return err
				}
				continue
			}
			runs = true
		case "curl", "echo", "printf", "cat":
			runs = true
		default:
			return fmt.Errorf("the test does not know how to try %q", words[0])
		}
	}
	if !runs {
		return nil
	}
	return r.shell(text)
}

// logicalLines are the commands of a block: what stands in quotes may go on.
func logicalLines(text string) (out []string) {
	line, quote := "", rune(0)
	for _, c := range strings.ReplaceAll(text, "\\\n", " ") {
		switch {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '\n':
			if l := strings.TrimSpace(line); l != "" && !strings.HasPrefix(l, "#") {
				out = append(out, l)
			}
			line = ""
			continue
		}
		line += string(c)
	}
	return out
}

func known(file, pattern string) error {
	b, err := os.ReadFile(file)
	if err == nil && !regexp.MustCompile(pattern).Match(b) {
		err = fmt.Errorf("%s has nothing that matches %s", file, pattern)
	}
	return err
}

// commandLine checks that the program knows these flags and can read their values.
func commandLine(args []string) error {
	if out, err := runProgram("", append(slices.Clone(args), "--help")...); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
}

// runProgram runs a command and returns what it prints.
func runProgram(stdin string, args ...string) (string, error) {
	c := exec.Command(program, args...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	return string(out), err
}

// shell runs commands as a reader would, and keeps what they print.
func (r *reader) shell(script string) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-e", "-c", strings.NewReplacer(described, r.base, describedMetrics, "http://"+r.metrics).Replace(script))
	cmd.Dir = r.dir
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "TOKEN="+r.token, "TROUPE_TOKEN="+r.token, "TROUPE_DATA="+r.data, "XDG_CONFIG_HOME="+filepath.Join(r.dir, "config"), "PATH="+r.dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	for name, v := range r.vars {
		cmd.Env = append(cmd.Env, name+"="+v)
	}
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%w: %s%s", err, out, errs.String())
	}
	r.answered(out)
	return nil
}

// answered keeps an answer for the block that comes next, and what it names.
func (r *reader) answered(answer []byte) {
	r.answer = answer
	for name, pattern := range map[string]string{
		"TASK": `"taskId":"([^"]+)"`, "BATCH": `"batchId":"([^"]+)"`, "SCHEDULE": `"scheduleId":"([^"]+)"`, "SESSION": `"sessionId":"([^"]+)"`, "WORKER": `"workerId":"([^"]+)"`, "FILE": `"url":"([^"]+)"`,
		"NOTICE": `"noticeId":"([^"]+)"`, "ENDPOINT": `"endpointId":"([^"]+)"`,
		"TICKET": `"ticket":"([^"]+)"`, "TICKET_ID": `"id":"(tkt_[^"]+)"`, "LINK_ID": `"id":"(lnk_[^"]+)"`,
	} {
		if m := regexp.MustCompile(pattern).FindSubmatch(answer); m != nil {
			r.vars[name] = string(m[1])
		}
	}
}

// compare wants the last answer to be as the document has it.
func (r *reader) compare(want string, differ func(want, got string) error) error {
	got := strings.ReplaceAll(string(r.answer), r.base, described)
	r.answer = nil
	if got == "" {
		return fmt.Errorf("it is an answer, but to nothing")
	}
	return differ(want, got)
}

// finish wants an answer that no block shows to tell of success.
func (r *reader) finish() error {
	var got struct {
		Success          *bool
		Errors, Warnings []any
	}
	answer := r.answer
	r.answer = nil
	if json.Unmarshal(answer, &got) == nil && got.Success != nil && (!*got.Success || len(got.Errors)+len(got.Warnings) > 0) {
		return fmt.Errorf("nothing says that the example fails, but: %s", answer)
	}
	return nil
}
