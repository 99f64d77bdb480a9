package outside_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestCVE_2026_42591 and CVE-2026-40281 (Gotenberg): nothing that a client or a
// page says becomes an argument of a process.
func TestCVE_2026_42591(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	const mark = "--mark4d5e=;$(id)"
	f.during(f.page("<title>"+mark+"</title><input type=file><input id=a>"), func() {
		status, p := f.send(map[string]any{"timeout": 30000, "queueTimeout": 20000, "config": act{"continueOnError": true}, "actions": []any{
			act{"open": f.site + "/" + mark + "?h=" + mark + "#" + mark}, act{"open": f.page("<input type=file><input id=a>")}, act{"fill": []any{"#a", mark}}, act{"uploadFile": []any{"input", f.site + "/named?as=" + mark}},
			act{"evaluate": "document.title='" + mark + "';return 1"}, act{"openNewTab": f.site + "/" + mark}, act{"setCookies": []any{act{"name": "a", "value": "--mark4d5e", "url": f.site}}}, act{"screenshot": "viewport"},
		}})
		if status != 200 || !p.Success {
			t.Errorf("%d %+v", status, p)
		}
		seen := 0
		for _, proc := range processes(t) {
			b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", proc.pid))
			if err != nil || proc.pid == os.Getpid() {
				continue
			}
			seen++
			if strings.Contains(string(b), "mark4d5e") {
				t.Errorf("process %d has the arguments %q", proc.pid, b)
			}
		}
		if seen < 4 {
			t.Errorf("%d processes were looked at", seen)
		}
	})
}

// TestCVE_2026_42597 and GHSA-g924-cjx7-2rjw (Gotenberg), and the pull request 139
// of browserbase/skills: no task finds another's files, and nobody else on the
// machine does.
func TestCVE_2026_42597(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	upload := f.site + "/named?as=" + "inline"
	_, p := f.do(act{"open": f.page("<input type=file>")}, act{"uploadFile": []any{"input", upload}}, act{"screenshot": "viewport"})
	if !p.Success {
		t.Fatalf("%+v", p)
	}
	f.during(f.page("quiet"), func() {
		browsers := browsersIn(f.data)
		for name, mode := range tree(t, f.data) {
			if strings.HasPrefix(name, storeIn(f.data)+"/") { // the store's own way: nobody gets through the folder
				continue
			}
			if mode&fs.ModeSymlink == 0 && mode.Perm()&0o077 != 0 && !strings.HasPrefix(name, browsers) {
				t.Errorf("%s has the rights %v", name, mode)
			}
		}
		own, err := os.ReadDir(browsers)
		folders := 0
		for _, d := range own {
			if info, err := d.Info(); err == nil && d.IsDir() {
				folders++
				if info.Mode().Perm() != 0o700 {
					t.Errorf("the browser's folder %s has the rights %v", d.Name(), info.Mode())
				}
			}
		}
		if err != nil || folders < 2 {
			t.Errorf("%d folders of browsers in %s: %v", folders, browsers, err)
		}
	})
	// What is known of the place does not help either.
	for _, a := range []string{"file://" + f.data + "/key", "file://" + os.TempDir() + "/"} {
		if status, _ := f.do(act{"open": a}); status != 400 {
			t.Errorf("%s: %d", a, status)
		}
	}
}

// TestGotenbergIssue1588: an expression cannot take time without end.
func TestGotenbergIssue1588(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	began := time.Now()
	status, p := f.do(act{"open": f.page("<p id=p></p>")}, act{"evaluate": "document.getElementById('p').textContent='a'.repeat(50000)+'!';return 1"},
		act{"if": act{"condition": act{"selector": "#p", "property": "textContent", "operator": "matches", "value": "^(a+)+$$"}, "then": []any{act{"evaluate": "return 'yes'"}}, "else": []any{act{"evaluate": "return 'no'"}}}})
	if status != 200 || string(p.Data) != `"no"` || time.Since(began) > hang {
		t.Errorf("%d after %v: %+v", status, time.Since(began), p)
	}
	if status, p := f.do(act{"open": f.page("x")}, act{"waitForResponse": "(" + strings.Repeat("a?", 2100) + ")"}); status != 400 || len(p.Details) == 0 {
		t.Errorf("a long expression: %d %+v", status, p)
	}
}

// TestFilesDoNotRun: what a site gave to be kept is never a page of the service's
// own address, and a picture that is shown is one of nobody's.
func TestFilesDoNotRun(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t, "--allow-private") // so that a browser can look at the service
	save := `const a=document.createElement('a');a.download='x.html';a.href=URL.createObjectURL(new Blob(["<script>document.title='ran'</script><h1>ran</h1>"],{type:'text/html'}));a.click()`
	var kept string
	var p played
	for try := 1; kept == "" && try < 10; try++ { // what comes too late for one task comes in time for another
		_, p = f.do(act{"open": f.page("x")}, act{"evaluate": save}, act{"wait": 100 * try}, act{"screenshot": "viewport"})
		kept = regexp.MustCompile(regexp.QuoteMeta(f.base) + `/files/[a-z2-7]{32}(\.html)?`).FindString(fmt.Sprint(p.Steps))
	}
	var picture struct{ URL string }
	if err := json.Unmarshal(p.Data, &picture); err != nil || kept == "" || picture.URL == "" {
		t.Fatalf("%v %+v", err, p)
	}
	frame := fmt.Sprintf(`<h1>quiet</h1><iframe src="%s"></iframe><object data="%[1]s"></object><embed src="%[1]s"><script src="%[1]s"></script><script type=module src="%[1]s"></script><link rel=stylesheet href="%[1]s">`, kept)
	look := "return document.title+document.body.innerText+[...Array(frames.length).keys()].map(i=>{try{return frames[i].document.body.innerText}catch(e){return 'closed'}})"
	for _, address := range []string{kept, kept + "?x", f.page(frame), f.page("<script>open('" + kept + "')</script>"), f.page("<script>location='" + kept + "'</script>")} {
		_, p := f.do(act{"open": address}, act{"evaluate": look})
		if strings.Contains(string(p.Data), "ran") {
			t.Errorf("%s shows %s", address, p.Data)
		}
	}
	_, p = f.do(act{"open": picture.URL}, act{"evaluate": "let s;try{s=localStorage.length}catch(e){s=e.name};return [origin,document.contentType,s]"})
	if string(p.Data) != `["null","image/png","SecurityError"]` {
		t.Errorf("a picture is a page of %s, %+v", p.Data, p.Errors)
	}
	// Nor does a page that can reach the service get anything from it.
	_, p = f.do(act{"open": f.page("x")}, act{"evaluate": fmt.Sprintf(`const all=[];for(const path of ['/v1/workers','/v1/usage','/v1/get-result?taskId=x','/openapi.json','/readyz','/files/'])for(const o of [{},{headers:{Authorization:'Bearer x'}},{method:'POST',body:'{}'}])try{all.push(await(await fetch(%q+path,o)).text())}catch{};return all`, f.base)})
	if string(p.Data) != "[]" {
		t.Errorf("a page has read %s", p.Data)
	}
}
