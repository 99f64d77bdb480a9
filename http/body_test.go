package http_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	nethttp "net/http"
	"net/textproto"
	"os"
	"strings"
	"testing"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/http"
)

const task = `{"actions":[{"open":"http://demo.troupe.test/"}]}`

// problem is what every error body has.
type problem struct {
	Success   *bool  `json:"success"`
	Error     string `json:"error"`
	Code      string `json:"code"`
	Retryable *bool  `json:"retryable"`
	Details   []struct{ Path, Message string }
}

// post sends a body and returns the answer, which is checked as far as every
// answer can be.
func (e *edge) post(t testing.TB, contentType string, body io.Reader, change ...func(*nethttp.Request)) (int, problem) {
	t.Helper()
	req, err := nethttp.NewRequest("POST", "http://"+e.addr+"/v1/", body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer good")
	req.Header.Set("Content-Type", contentType)
	for _, f := range change {
		f(req)
	}
	r, err := alone.RoundTrip(req)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	documented(t, "POST", "/v1/", r.StatusCode, r.Header.Get("Content-Type"), b)
	r.Body = io.NopCloser(bytes.NewReader(b))
	return r.StatusCode, judge(t, r)
}

func judge(t testing.TB, r *nethttp.Response) (p problem) {
	t.Helper()
	if r.Header.Get("X-Request-Id") == "" {
		t.Error("the answer has no X-Request-Id")
	}
	if err := json.NewDecoder(r.Body).Decode(&p); err != nil || p.Success == nil {
		t.Errorf("the answer's body (%d) is not of the contract: %+v, %v", r.StatusCode, p, err)
	}
	if r.StatusCode >= 400 && (p.Error == "" || p.Code == "" || p.Retryable == nil || *p.Success) {
		t.Errorf("the error body lacks something: %+v", p)
	}
	return p
}

// part is one part of a multipart body.
type part struct {
	name, file, kind string
	code             string // its Content-Transfer-Encoding
	data             []byte
}

func form(parts ...part) (contentType string, body *bytes.Buffer) {
	body = &bytes.Buffer{}
	w := multipart.NewWriter(body)
	for _, p := range parts {
		h := textproto.MIMEHeader{}
		disposition := fmt.Sprintf(`form-data; name=%q`, p.name)
		if p.file != "" {
			disposition += fmt.Sprintf(`; filename=%q`, p.file)
		}
		h.Set("Content-Disposition", disposition)
		if p.kind != "" {
			h.Set("Content-Type", p.kind)
		}
		if p.code != "" {
			h.Set("Content-Transfer-Encoding", p.code)
		}
		out, _ := w.CreatePart(h)
		_, _ = out.Write(p.data)
	}
	_ = w.Close()
	return w.FormDataContentType(), body
}

func TestFormReachesTheTaskAndLeavesNothing(t *testing.T) {
	big := bytes.Repeat([]byte("0123456789abcdef"), 3<<16) // 3 MiB
	c := &fakeActors{}
	c.execute = func(_ context.Context, m *api.Execute) (*api.Executed, error) {
		files := m.Task.Files
		if len(files) != 3 {
			return nil, fmt.Errorf("%d files", len(files))
		}
		for i, want := range [][]byte{big, []byte("two"), {}} {
			got, err := os.ReadFile(files[i].Path)
			if err != nil || !bytes.Equal(got, want) || files[i].Size != int64(len(want)) {
				t.Errorf("file %d has %d bytes (%d said): %v", i, len(got), files[i].Size, err)
			}
			if info, err := os.Stat(files[i].Path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("file %d: %v, %v", i, info.Mode(), err)
			}
		}
		if a, b, c := files[0], files[1], files[2]; a.Name != "größe.pdf" || a.Type != "application/pdf" ||
			b.Name != "evil" || b.Type != "application/octet-stream" || c.Name != "file-2" {
			t.Errorf("the files are %+v", files)
		}
		if string(m.Task.Source()) != task {
			t.Errorf("the task is %s", m.Task.Source())
		}
		return done(m), nil
	}
	e := openServer(t, c)
	kind, body := form(
		part{name: "files", file: "größe.pdf", kind: "application/pdf", data: big},
		part{name: "payload", data: []byte(task)},
		part{name: "files", file: "../../evil", kind: "what/ever; =", data: []byte("two")},
		part{name: "files"},
	)
	for _, chunked := range []bool{false, true} {
		var r io.Reader = bytes.NewReader(body.Bytes())
		if chunked {
			r = io.MultiReader(r) // of unknown length
		}
		if status, p := e.post(t, kind, r); status != 200 || !*p.Success {
			t.Fatalf("chunked %v: the answer is %d %+v", chunked, status, p)
		}
	}
	left, err := os.ReadDir(e.uploads)
	if err != nil || len(left) != 0 {
		t.Errorf("%d folders are left: %v", len(left), err)
	}
}

func TestFormFaults(t *testing.T) {
	c := &fakeActors{}
	e := openServer(t, c)
	payload := part{name: "payload", data: []byte(task)}
	many := []part{payload}
	for range 1001 {
		many = append(many, part{name: "files", file: "f"})
	}
	for name, tc := range map[string]struct {
		parts  []part
		spoil  func(string) string
		status int
		text   string
	}{
		"no payload":        {[]part{{name: "files", file: "a", data: []byte("a")}}, nil, 400, `"payload" is missing`},
		"no part":           {nil, nil, 400, `"payload" is missing`},
		"two payloads":      {[]part{payload, payload}, nil, 400, `more than one part "payload"`},
		"other part":        {[]part{payload, {name: "attachment", data: []byte("a")}}, nil, 400, `"attachment" is unknown`},
		"payload too large": {[]part{{name: "payload", data: make([]byte, 1<<20+1)}}, nil, 413, `"payload" is larger than 1 MiB`},
		"file too large":    {[]part{payload, {name: "files", file: "big", data: make([]byte, 25<<20+1)}}, nil, 413, `"big" is larger than 25 MiB`},
		"a file in base64":  {[]part{payload, {name: "files", file: "a", code: "base64", data: []byte("aGk=")}}, nil, 400, `The part "files" has the Content-Transfer-Encoding "base64"`},
		"too many files":    {many, nil, 413, "more than 1000 files"},
		"cut off":           {[]part{payload}, func(s string) string { return s[:len(s)-20] }, 400, "ended too early"},
		"no form":           {[]part{payload}, func(string) string { return task }, 400, `"payload" is missing`},
		"broken part": {[]part{payload}, func(s string) string {
			return strings.Replace(s, "Content-Disposition", "Content Disposition:\x00", 1)
		}, 400, "not valid multipart"},
	} {
		t.Run(name, func(t *testing.T) {
			kind, body := form(tc.parts...)
			s := body.String()
			if tc.spoil != nil {
				s = tc.spoil(s)
			}
			status, p := e.post(t, kind, strings.NewReader(s))
			if status != tc.status || !strings.Contains(p.Error, tc.text) {
				t.Errorf("the answer is %d %+v", status, p)
			}
			if left, err := os.ReadDir(e.uploads); err != nil || len(left) != 0 {
				t.Errorf("%d folders are left: %v", len(left), err)
			}
		})
	}
	if c.taskCount() != 0 {
		t.Errorf("%d tasks reached the actors", c.taskCount())
	}
}

// zeros gives as many bytes as one wants.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { return len(p), nil }

func TestTooLargeIsHeard(t *testing.T) {
	e := openServer(t, &fakeActors{})
	length := func(n int64) func(*nethttp.Request) {
		return func(r *nethttp.Request) { r.ContentLength = n }
	}
	kind, _ := form()
	for name, tc := range map[string]struct {
		kind string
		size int64
		text string
	}{
		"JSON":            {"application/json", 1<<20 + 1, "The body is larger than 1 MiB"},
		"JSON, huge":      {"application/json", 1 << 40, "The body is larger than 1 MiB"},
		"JSON, in chunks": {"application/json", -1, "The body is larger than 1 MiB"},
		"form":            {kind, 100<<20 + 1, "The request is larger than 100 MiB"},
	} {
		t.Run(name, func(t *testing.T) {
			n := tc.size
			if n < 0 || n > 128<<20 {
				n = 128 << 20 // more than anybody reads
			}
			status, p := e.post(t, tc.kind, io.LimitReader(zeros{}, n), length(tc.size))
			if status != 413 || p.Error != tc.text || p.Code != "payload_too_large" {
				t.Errorf("the answer is %d %+v", status, p)
			}
		})
	}
	// Exactly at the limit it is only not JSON.
	if status, p := e.post(t, "application/json", bytes.NewReader(make([]byte, 1<<20))); status != 400 || p.Code != "invalid_request" {
		t.Errorf("a body of 1 MiB: %d %+v", status, p)
	}
}

// TestFormAsAWholeHasALimit sends parts that are each allowed until together
// they are not.
func TestFormAsAWholeHasALimit(t *testing.T) {
	if testing.Short() {
		t.Skip("sends 100 MiB")
	}
	e := openServer(t, &fakeActors{})
	r, w := io.Pipe()
	m := multipart.NewWriter(w)
	go func() {
		_ = m.WriteField("payload", task)
		for i := range 5 {
			out, _ := m.CreateFormFile("files", fmt.Sprint(i))
			if _, err := io.CopyN(out, zeros{}, 24<<20); err != nil {
				break
			}
		}
		_ = m.Close()
		_ = w.Close()
	}()
	defer r.Close()
	status, p := e.post(t, m.FormDataContentType(), r)
	if status != 413 || p.Error != "The request is larger than 100 MiB" {
		t.Errorf("the answer is %d %+v", status, p)
	}
	if left, err := os.ReadDir(e.uploads); err != nil || len(left) != 0 {
		t.Errorf("%d folders are left: %v", len(left), err)
	}
}

// TestTokenComesFirst: who is not known hears nothing of limits or forms, and
// makes us keep nothing.
func TestTokenComesFirst(t *testing.T) {
	e := openServer(t, &fakeActors{})
	kind, body := form(part{name: "payload", data: []byte(task)}, part{name: "files", file: "a", data: make([]byte, 1<<20)})
	bad := func(r *nethttp.Request) { r.Header.Set("Authorization", "Bearer bad") }
	for kind, body := range map[string]io.Reader{kind: body, "application/json": bytes.NewReader(make([]byte, 2<<20)), "text/html": strings.NewReader("x")} {
		if status, p := e.post(t, kind, body, bad); status != 401 || p.Code != "unauthorized" {
			t.Errorf("%s: the answer is %d %+v", kind, status, p)
		}
	}
}

// TestStaleUploadsAreRemoved: a killed service cannot clean up after itself.
func TestStaleUploadsAreRemoved(t *testing.T) {
	dir := t.TempDir() + "/uploads"
	if err := os.MkdirAll(dir+"/task_1", 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(dir+"/task_1/0", []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	openServer(t, &fakeActors{}, func(c *http.Config) { c.Uploads = dir })
	left, err := os.ReadDir(dir)
	info, _ := os.Stat(dir)
	if err != nil || len(left) != 0 || info.Mode().Perm() != 0o700 {
		t.Errorf("%d entries, %v, %v", len(left), info.Mode(), err)
	}
}

// FuzzBody throws bodies at the edge: whatever comes, the answer is one of the
// contract's, and never a fault of ours.
func FuzzBody(f *testing.F) {
	kind, body := form(part{name: "payload", data: []byte(task)}, part{name: "files", file: "a", data: []byte("b")})
	f.Add(kind, body.Bytes())
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\n\r\n--x--"))
	f.Add("application/json", []byte(task))
	f.Add("application/json", []byte(`{"actions":[{"loop":{"repeat":1,"do":[]}}`))
	f.Add("application/json; charset=\"utf-8", []byte{0xff, 0xfe})
	f.Add("", []byte(nil))
	e := openServer(f, &fakeActors{}, func(c *http.Config) { c.RequestTimeout = 2 * time.Second })
	client := &nethttp.Transport{}
	f.Fuzz(func(t *testing.T, kind string, body []byte) {
		req, err := nethttp.NewRequest("POST", "http://"+e.addr+"/v1/", bytes.NewReader(body))
		if err != nil {
			t.Skip()
		}
		req.Header.Set("Authorization", "Bearer good")
		req.Header.Set("Content-Type", kind)
		r, err := client.RoundTrip(req)
		if err != nil {
			t.Skip() // what the client itself refuses to send
		}
		defer r.Body.Close()
		if r.StatusCode >= 500 {
			t.Errorf("the status is %d", r.StatusCode)
		}
		judge(t, r)
	})
}

// TestLargeFormsGetTheirTime: the time for a small body is not enough for a
// large one, and an upload that goes on is let go on.
func TestLargeFormsGetTheirTime(t *testing.T) {
	beside(t)
	const brief = 2 * time.Second // in which the first half comes
	e := openServer(t, &fakeActors{}, func(c *http.Config) { c.RequestTimeout = brief })
	kind, body := form(part{name: "files", file: "a", data: make([]byte, 1<<20)}, part{name: "payload", data: []byte(task)})
	slow := &halves{all: body.Bytes(), pause: brief + 500*time.Millisecond}
	status, p := e.post(t, kind, slow, func(r *nethttp.Request) { r.ContentLength = int64(body.Len()) })
	if status != 200 {
		t.Errorf("the answer is %d %+v", status, p)
	}
}

// halves gives its bytes in two parts, with a pause before the second.
type halves struct {
	all   []byte
	pause time.Duration
	given int
}

func (h *halves) Read(p []byte) (int, error) {
	if h.given == len(h.all) {
		return 0, io.EOF
	}
	end := len(h.all) / 2
	if h.given >= end {
		time.Sleep(h.pause)
		h.pause, end = 0, len(h.all)
	}
	n := copy(p, h.all[h.given:end])
	h.given += n
	return n, nil
}

// TestUploadsThatCannotBeWritten: the disk of the service is not the client's fault,
// nor one that its log would have to explain.
func TestUploadsThatCannotBeWritten(t *testing.T) {
	e := openServer(t, &fakeActors{})
	if err := os.RemoveAll(e.uploads); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(e.uploads, nil, 0o600); err != nil { // no folder can be made there
		t.Fatal(err)
	}
	kind, body := form(part{name: "payload", data: []byte(task)}, part{name: "files", file: "a.txt", data: []byte("hello")})
	status, p := e.post(t, kind, body)
	if status != 503 || p.Code != string(engine.CodeStorageUnwritable) || p.Retryable == nil || !*p.Retryable {
		t.Errorf("the answer is %d %+v", status, p)
	}
}
