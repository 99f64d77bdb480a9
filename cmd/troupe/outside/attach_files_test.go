package outside_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// sessionFile is a file of a session in an answer.
type sessionFile struct {
	ID, Name, Type, Kind, URL string

	Size      int
	CreatedAt string
	ExpiresAt string
}

type sessionFiles struct {
	Files []sessionFile
	Code  string
	Error string
}

// give sends a body to the files of the session.
func (k *attachKit) give(t *testing.T, query, kind, body string, want int) (made sessionFiles) {
	t.Helper()
	req, err := http.NewRequest("POST", k.base+"/v1/sessions/"+k.session+"/files"+query, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+k.token)
	req.Header.Set("Content-Type", kind)
	r, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	b, _ := io.ReadAll(r.Body)
	if r.StatusCode != want {
		t.Fatalf("files%s: %d %s", query, r.StatusCode, b)
	}
	if err := json.Unmarshal(b, &made); err != nil {
		t.Fatalf("%v: %s", err, b)
	}
	return made
}

// filesForm is a form with files, by their names.
func filesForm(t *testing.T, files ...string) (kind, body string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for i := 0; i < len(files); i += 2 {
		part, err := w.CreateFormFile("files", files[i])
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprint(part, files[i+1])
	}
	w.Close()
	return w.FormDataContentType(), b.String()
}

// onDisk reports whether some file below a folder has a text.
func onDisk(t *testing.T, dir, text string) (found string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err == nil && e.Type().IsRegular() {
			if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(text)) {
				found = path
			}
		}
		return nil
	})
	return found
}

// TestFilesOfSessions: clients give files to a session and name them where a command wants paths; no
// other path passes. The bytes end with the session.
func TestFilesOfSessions(t *testing.T) {
	need.All(t)
	t.Parallel()
	packages := attachPackages(t)
	k := newAttachKit(t)
	const marker = "these bytes are in no other file: 5f0c2a"
	raw := k.give(t, "?name=report.pdf", "application/octet-stream", marker, 201)
	if len(raw.Files) != 1 || raw.Files[0].Name != "report.pdf" || raw.Files[0].Type != "application/octet-stream" || raw.Files[0].Size != len(marker) || raw.Files[0].ExpiresAt == "" {
		t.Errorf("one file: %+v", raw)
	}
	kind, body := filesForm(t, "../a.txt", "first", "b.txt", "second", "b.txt", "other")
	k.give(t, "", kind, body, 201)
	for query, c := range map[string]struct{ kind, body, want string }{
		"":        {"application/octet-stream", "x", "has no name"},
		"?name=.": {"application/octet-stream", "x", "has no name"},
	} {
		if no := k.give(t, query, c.kind, c.body, 400); !strings.Contains(no.Error, c.want) {
			t.Errorf("%q: %+v", query, no)
		}
	}
	if kind, body := filesForm(t); !strings.Contains(k.give(t, "", kind, body, 400).Error, `no part "files"`) {
		t.Error("an empty form")
	}
	if kind, body := filesForm(t, "a", "1"); !strings.Contains(k.give(t, "", kind, strings.Replace(body, `name="files"`, `name="payload"`, 1), 400).Error, `"payload" is unknown`) {
		t.Error("a form with a payload")
	}
	if no := k.give(t, "?name=large", "application/octet-stream", strings.Repeat("x", 25<<20+1), 413); no.Code != "payload_too_large" {
		t.Errorf("a large one: %+v", no)
	}
	list := func() (names []string) {
		t.Helper()
		var all sessionFiles
		k.do(t, "GET", "/v1/sessions/"+k.session+"/files", "", 200, &all)
		for _, f := range all.Files {
			names = append(names, fmt.Sprint(f.Name, " ", f.Size))
		}
		return names
	}
	if names := fmt.Sprint(list()); names != "[report.pdf 40 a.txt 5 b.txt 5]" {
		t.Errorf("the files are %s", names)
	}

	cmd, out, errs := attachScript(t, packages, "files.cjs", k.ticket(t, `{}`), k.ticket(t, `{}`), k.site)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	var seen map[string]string
	if err := json.Unmarshal(out.Bytes(), &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]string{
		"chosen": "report.pdf " + marker, "several": "report.pdf " + marker + ", b.txt other", "dropped": "b.txt other", "puppeteer": "b.txt other",
	} {
		if seen[name] != want {
			t.Errorf("%s is %q: want %q", name, seen[name], want)
		}
	}
	for name, want := range map[string]string{"path": "paths would be those of the service's machine", "missing": `no file "none"`, "dragged": "paths would be those"} {
		if !strings.Contains(seen[name], want) {
			t.Errorf("%s is %q: want %q", name, seen[name], want)
		}
	}

	k.do(t, "DELETE", "/v1/sessions/"+k.session+"/files?name=b.txt", "", 200, nil)
	k.do(t, "DELETE", "/v1/sessions/"+k.session+"/files?name=b.txt", "", 404, nil)
	k.do(t, "DELETE", "/v1/sessions/"+k.session+"/files", "", 400, nil)
	if names := fmt.Sprint(list()); names != "[report.pdf 40 a.txt 5]" {
		t.Errorf("after one was removed: %s", names)
	}
	if onDisk(t, k.data, marker) == "" {
		t.Error("the bytes are nowhere: this test looks in the wrong place")
	}
	k.do(t, "DELETE", "/v1/sessions/"+k.session, "", 200, nil)
	if path := onDisk(t, k.data, marker); path != "" {
		t.Errorf("after the session its file is at %s", path)
	}
	if status, text := get(t, k.base, "", "/files/"+raw.Files[0].ID); status != 404 {
		t.Errorf("after the session: %d %s", status, text)
	}
	k.do(t, "GET", "/v1/sessions/"+k.session+"/files", "", 404, nil)
	k.give(t, "?name=a", "application/octet-stream", "x", 404)
	k.give(t, "?name=a", "text/plain", "x", 415)
}
