package outside_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// raw sends a request as it stands, which HTTP clients would tidy up, and
// returns the status and the body of the answer.
func (f *guardedService) raw(request string) (int, string) {
	f.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(f.base, "http://"))
	if err != nil {
		f.t.Fatal(err)
	}
	defer c.Close()
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(c, request); err != nil {
		f.t.Fatal(err)
	}
	resp, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	b, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b)
}

// TestCVE_2020_7758 and GHSA-8p9r-f949-699g (browserless): nothing but files that
// tasks made comes out of /files, however it is asked for.
func TestCVE_2020_7758(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	_, p := f.do(act{"open": f.page("x")}, act{"screenshot": "viewport"})
	var made struct{ URL string }
	if err := json.Unmarshal(p.Data, &made); err != nil || made.URL == "" {
		t.Fatalf("no picture was made: %+v", p)
	}
	path := strings.TrimPrefix(made.URL, f.base)
	if status, body := f.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); status != 200 || !strings.HasPrefix(body, "\x89PNG") {
		t.Fatalf("a picture cannot be fetched: %d", status)
	}
	id := strings.TrimPrefix(path, "/files/")
	const secret = "nobody may read this"
	for _, name := range []string{"secret", "files/secret", "files/" + id[:2] + "/secret"} {
		if err := os.WriteFile(filepath.Join(f.data, name), []byte(secret), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// A name as files have it, but for a way out.
	link := strings.Repeat("a", 32) + ".txt"
	for _, dir := range []string{"aa", "."} {
		_ = os.MkdirAll(filepath.Join(f.data, "files", dir), 0o700)
		for _, ext := range []string{"", ".blob", ".json"} {
			_ = os.Symlink(filepath.Join(f.data, "secret"), filepath.Join(f.data, "files", dir, link+ext))
		}
	}
	var paths []string
	for _, up := range []string{"..", "%2e%2e", "%2E.", ".%2e", "%252e%252e", "..;", "....", "%c0%ae%c0%ae", "%u002e%u002e", "\\..", "..%00"} {
		for _, sep := range []string{"/", "%2f", "%2F", "%5c", "\\", "%252f", "//", "/./", "%c0%af"} {
			paths = append(paths, up+sep+"secret", up+sep+"key", id[:2]+sep+up+sep+up+sep+"secret", id+sep+up+sep+up+sep+"key")
		}
	}
	paths = append(paths, link, "/etc/passwd", "%2fetc%2fpasswd", "file:///etc/passwd", "C:%5cwindows%5cwin.ini", "secret", "%00", id+"%00", id+"/", id+".blob", id+".json", id[:2]+"/"+id, id[:2]+"/"+id+".json", strings.ToUpper(id), "*", "?", "~root", "aa/"+link, "key", "store", "")
	for _, path := range paths {
		status, body := f.raw("GET /files/" + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
		if status == 200 || strings.Contains(body, secret) || strings.Contains(body, "root:") {
			t.Errorf("/files/%s: %d %.100q", path, status, body)
		}
	}
	if status, _ := f.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); status != 200 {
		t.Errorf("the picture is gone: %d", status)
	}
}

// TestBrowserlessShowsItsToken (the note of its version 2.51.0): no address gives
// the token, or anything of the flags, away.
func TestBrowserlessShowsItsToken(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	for _, path := range []string{"/", "/config", "/v1/config", "/debug/vars", "/debug/pprof/", "/env", "/json/version", "/json/list", "/metrics", "/healthz", "/readyz", "/v1/workers", "/v1/usage", "/v1/capacity", "/openapi.json", "/docs", "/admin", "/.env", "/data/key", "/token/list", "/account/list", "/secret/list"} {
		for _, auth := range []string{"", "Authorization: Bearer " + f.token + "\r\n", "Authorization: Bearer wrong\r\n"} {
			_, body := f.raw("GET " + path + " HTTP/1.1\r\nHost: localhost\r\n" + auth + "Connection: close\r\n\r\n")
			if strings.Contains(body, f.token) || strings.Contains(body, f.data) || strings.Contains(body, "allow-cidr=127.0.0.2") {
				t.Errorf("%s: %.300s", path, body)
			}
		}
	}
	for _, query := range []string{"?token=" + f.token, "?access_token=" + f.token, "?ticket=" + f.token} {
		if status, _ := f.raw("GET /v1/workers" + query + " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"); status != 401 {
			t.Errorf("a token in the address is taken: %d", status)
		}
	}
}

// TestCVE_2022_28108 (Selenium): what a page of any site can send without being
// asked is no request, and no request says how the browser is started.
func TestCVE_2022_28108(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	task := `{"actions":[{"open":"` + f.target(1) + `"}]}`
	send := func(headers, body string) (int, string) {
		return f.raw("POST /v1/ HTTP/1.1\r\nHost: localhost\r\n" + headers + fmt.Sprintf("Content-Length: %d\r\nConnection: close\r\n\r\n%s", len(body), body))
	}
	auth := "Authorization: Bearer " + f.token + "\r\n"
	for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "text/plain; charset=application/json", "", "text/plain, application/json", "application/jsonx"} {
		header := auth
		if kind != "" {
			header += "Content-Type: " + kind + "\r\n"
		}
		if status, body := send(header, task); status != 415 {
			t.Errorf("%q: %d %s", kind, status, body)
		}
	}
	for _, origin := range []string{"https://attacker.example", "null", "http://localhost.attacker.example", f.site} {
		if status, body := send(auth+"Content-Type: application/json\r\nOrigin: "+origin+"\r\n", task); status != 403 || !strings.Contains(body, "foreign_origin") {
			t.Errorf("from %s: %d %s", origin, status, body)
		}
	}
	if status, _ := send("Content-Type: application/json\r\n", task); status != 401 {
		t.Errorf("without a token: %d", status)
	}
	for _, field := range []string{"args", "binary", "capabilities", "executablePath", "env", "proxy", "userDataDir", "launch"} {
		for _, body := range []string{`{"%s":["--no-sandbox"],"actions":[{"wait":1}]}`, `{"config":{"%s":"x"},"actions":[{"wait":1}]}`, `{"actions":[{"wait":1,"options":{"%s":"x"}}]}`} {
			if status, answer := send(auth+"Content-Type: application/json\r\n", fmt.Sprintf(body, field)); status != 400 || !strings.Contains(answer, field) {
				t.Errorf("%s: %d %s", field, status, answer)
			}
		}
	}
}

// TestSeleniumGreed: nobody finds an open service by looking for one.
func TestSeleniumGreed(t *testing.T) {
	t.Parallel()
	for _, listen := range []string{"0.0.0.0:0", ":0", "[::]:0"} {
		code, _, stderr := play(t, "", "serve", "--listen="+listen, "--data="+filepath.Join(t.TempDir(), "d"))
		if code != exitUsage || !strings.Contains(stderr, "--tls-cert") {
			t.Errorf("%s: %d %s", listen, code, stderr)
		}
	}
	f := newGuardedService(t)
	for _, path := range []string{"POST /v1/", "POST /v1/execute", "GET /v1/workers", "GET /v1/get-result?taskId=x", "POST /v1/tickets", "GET /v1/tasks/x/events", "DELETE /v1/tasks/x", "POST /v1/validate"} {
		for _, auth := range []string{"", "Authorization: Bearer \r\n", "Authorization: Bearer null\r\n", "Authorization: Bearer undefined\r\n", "Authorization: Basic YTpi\r\n"} {
			if status, body := f.raw(path + " HTTP/1.1\r\nHost: localhost\r\n" + auth + "Content-Length: 0\r\nConnection: close\r\n\r\n"); status != 401 && status != 429 {
				t.Errorf("%s with %q: %d %s", path, auth, status, body)
			}
		}
	}
}

// TestCVE_2025_9611 (playwright-mcp): a name that was made to stand for this
// machine does not lead to the service.
func TestCVE_2025_9611(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	get := func(host string) (int, string) {
		return f.raw("GET /v1/workers HTTP/1.1\r\nHost: " + host + "\r\nAuthorization: Bearer " + f.token + "\r\nConnection: close\r\n\r\n")
	}
	port := f.base[strings.LastIndex(f.base, ":"):]
	for _, host := range []string{"attacker.example", "attacker.example" + port, "localhost.attacker.example", "127.0.0.1.attacker.example", "attacker.example:localhost", "localhost@attacker.example"} {
		if status, body := get(host); status != 421 && status != 400 {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
	for _, host := range []string{"localhost", "localhost" + port, "127.0.0.1" + port, "[::1]" + port} {
		if status, body := get(host); status != 200 {
			t.Errorf("%s: %d %s", host, status, body)
		}
	}
}

// TestCVE_2026_28462 (OpenClaw) and mcp-chrome #380: names that sites and clients
// give to files are labels, and never a way.
func TestCVE_2026_28462(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	before := tree(t, filepath.Dir(f.data))
	for _, name := range []string{"../../../escaped", "..\\..\\escaped", "/tmp/escaped", "%2e%2e%2fescaped", "escaped/../..", "..", ".", "/"} {
		disposition := `attachment; filename="` + strings.ReplaceAll(name, `\`, `\\`) + `"`
		address := f.site + "/named?as=" + url.QueryEscape(disposition)
		_, p := f.do(act{"open": f.page("<input type=file>")}, act{"uploadFile": []any{"input", address}}, act{"evaluate": "const i=document.querySelector('input');return i.files[0].name+' '+await i.files[0].text()"})
		if s := string(p.Data); len(p.Errors) > 0 || !strings.HasSuffix(s, ` bytes"`) || strings.ContainsAny(s, `/\`) {
			t.Errorf("%q: the page sees %s, %+v", name, s, p.Errors)
		}
		_, p = f.do(act{"open": address})
		kept := regexp.MustCompile(regexp.QuoteMeta(f.base) + `/files/[a-z2-7]{32}(\.[a-z0-9]+)?`).FindString(fmt.Sprint(p.Steps))
		if kept == "" {
			t.Errorf("%q: no download was kept: %+v", name, p)
			continue
		}
		resp, err := http.Get(kept)
		if err != nil {
			t.Fatal(err)
		}
		b, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		d := resp.Header.Get("Content-Disposition")
		if string(b) != "bytes" || !strings.HasPrefix(d, "attachment") || strings.Contains(d, "/") || strings.Contains(d, `\`) || resp.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.Contains(resp.Header.Get("Content-Security-Policy"), "sandbox") {
			t.Errorf("%q: %q with %v", name, b, resp.Header)
		}
	}
	for _, at := range []string{"/escaped", "/tmp/escaped", filepath.Join(filepath.Dir(f.data), "escaped"), filepath.Join(f.data, "escaped")} {
		if _, err := os.Lstat(at); err == nil {
			t.Errorf("%s was written", at)
		}
	}
	for name := range tree(t, filepath.Dir(f.data)) {
		if _, there := before[name]; !there && strings.Contains(name, "escaped") {
			t.Errorf("%s was written", name)
		}
	}
}

// tree is all that is in a folder, with its rights.
func tree(t *testing.T, dir string) map[string]fs.FileMode {
	t.Helper()
	all := map[string]fs.FileMode{}
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has gone meanwhile
		}
		if info, err := d.Info(); err == nil {
			all[p] = info.Mode()
		}
		return nil
	})
	if err != nil || len(all) < 5 {
		t.Fatalf("%d files in %s: %v", len(all), dir, err)
	}
	return all
}
