package outside_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"troupe/testkit/need"
)

// shop is a site with a counter in each kind of storage.
func shop(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!doctype html><title>shop</title>")
	}))
	t.Cleanup(srv.Close)
	return srv
}

// countsVisits adds one to each counter and returns them.
const countsVisits = `const next = (v) => Number(v ?? 0) + 1; const done = (r) => new Promise((ok, no) => { r.onsuccess = () => ok(r.result); r.onerror = () => no(r.error); });
	const c = next(document.cookie.match(/visits=(\d+)/)?.[1]); document.cookie = 'visits=' + c + ';max-age=9999';
	const l = next(localStorage.visits); localStorage.visits = l; localStorage.mark = 'mark-of-a-person';
	const o = indexedDB.open('shop'); o.onupgradeneeded = () => o.result.createObjectStore('s'); const s = (await done(o)).transaction('s', 'readwrite').objectStore('s');
	const d = next(await done(s.get('n'))); await done(s.put(d, 'n')); return [c, l, d].join()`

func visit(profile, site string) string {
	return fmt.Sprintf(`{"profile":%s,"timeout":60000,"queueTimeout":120000,"actions":[{"open":%q},{"evaluate":%s}]}`, profile, site, quoted(countsVisits))
}

// TestProfiles: a profile goes from task to task in a real service, one writer at a time,
// sealed on the disk, out and in as a storage state, and is gone with its account.
func TestProfiles(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	data := t.TempDir()
	site := shop(t).URL
	code, token, stderr := play(t, "", "token", "create", "--account=ada", "--plan=pro", "--data="+data)
	if token = strings.TrimSpace(token); code != 0 {
		t.Fatal(stderr)
	}
	_, base := serve(t, data, "--workers=2", "--allow-private")
	want := func(method, path, body string, status int, parts ...string) string {
		t.Helper()
		got, answer, err := sendTo(method, base+path, token, body)
		if err != nil || got != status {
			t.Fatalf("%s %s: %d %s %v, want %d", method, path, got, answer, err, status)
		}
		for _, part := range parts {
			if !strings.Contains(answer, part) {
				t.Errorf("%s %s: %s\nhas no %s", method, path, answer, part)
			}
		}
		return answer
	}
	want("POST", "/v1/", visit(`{"name":"shop-ada","readonly":true}`, site), 404, `"profile_not_found"`)
	var all sync.WaitGroup
	for range 5 {
		all.Go(func() { want("POST", "/v1/", visit(`"shop-ada"`, site), 200, `"success":true`) })
	}
	all.Wait()
	want("POST", "/v1/", visit(`{"name":"shop-ada","readonly":true}`, site), 200, `"data":"6,6,6"`)
	want("POST", "/v1/", visit(`{"name":"shop-ada","readonly":true,"version":2}`, site), 200, `"data":"3,3,3"`)
	want("POST", "/v1/", visit(`"shop-ada"`, site), 200, `"data":"6,6,6"`)
	want("POST", "/v1/", fmt.Sprintf(`{"queueTimeout":20000,"actions":[{"open":%q},{"evaluate":%s}]}`, site, quoted(countsVisits)), 200, `"data":"1,1,1"`)
	want("GET", "/v1/profiles", "", 200, `"name":"shop-ada","version":6`, `"origins":["`+site+`"]`)

	// One that runs holds the profile: others are refused, or take a copy.
	started := want("POST", "/v1/", fmt.Sprintf(`{"async":true,"profile":"shop-ada","timeout":60000,"actions":[{"open":%q},{"waitForElement":"#go","options":{"timeout":50000}}]}`, site), 200)
	var task struct{ TaskID string }
	if err := json.Unmarshal([]byte(started), &task); err != nil {
		t.Fatal(err)
	}
	busy := strings.Replace(visit(`"shop-ada"`, site), `"queueTimeout":120000`, `"queueTimeout":0`, 1)
	want("POST", "/v1/", busy, 409, `"profile_busy"`, `"retryable":true`)
	want("POST", "/v1/", visit(`{"name":"shop-ada","busy":"copy"}`, site), 200, `"data":"7,7,7"`, "has used a copy")
	want("PUT", "/v1/profiles/shop-ada", `{"cookies":[]}`, 409, `"profile_busy"`)
	want("DELETE", "/v1/profiles/shop-ada", "", 409, `"profile_busy"`)
	want("DELETE", "/v1/tasks/"+task.TaskID, "", 200)
	want("GET", "/v1/get-result?wait=20000&taskId="+task.TaskID, "", 200, `"failed"`)

	started = want("POST", "/v1/", strings.Replace(visit(`"queued"`, site), `"queueTimeout":120000`, `"queue":true`, 1), 202)
	if err := json.Unmarshal([]byte(started), &task); err != nil {
		t.Fatal(err)
	}
	want("GET", "/v1/get-result?wait=60000&taskId="+task.TaskID, "", 200, `"complete"`, `"data":"1,1,1"`)
	var b struct{ Batch struct{ BatchID string } }
	if err := json.Unmarshal([]byte(want("POST", "/v1/batches", fmt.Sprintf(`{"task":%s,"items":[{},{},{}]}`, strings.Replace(visit(`"queued"`, site), `"queueTimeout":120000,`, "", 1)), 202)), &b); err != nil {
		t.Fatal(err)
	}
	until(t, "each item of the batch has gone on where the one before has stopped", func() bool {
		_, answer, _ := sendTo("GET", base+"/v1/batches/"+b.Batch.BatchID+"/results", token, "")
		return strings.Contains(answer, `"data":"2,2,2"`) && strings.Contains(answer, `"data":"3,3,3"`) && strings.Contains(answer, `"data":"4,4,4"`)
	})
	want("POST", "/v1/", visit(`"queued"`, site), 200, `"data":"5,5,5"`)

	state := want("GET", "/v1/profiles/shop-ada", "", 200, `"name":"visits","value":"6"`, `"indexedDB":[{"name":"shop"`)
	want("PUT", "/v1/profiles/copied", state, 200, `"version":1`)
	want("POST", "/v1/", visit(`"copied"`, site), 200, `"data":"7,7,7"`)
	want("GET", "/v1/profiles/copied@1", "", 200, `"value":"6"`)
	want("GET", "/v1/profiles/copied@9", "", 404, `"profile_not_found"`)
	want("DELETE", "/v1/profiles/copied", "", 200)
	want("GET", "/v1/profiles/copied", "", 404, `"profile_not_found"`)
	if where := found(t, data, "mark-of-a-person"); where != "" {
		t.Errorf("what a profile holds can be read in %s", where)
	}
	if code, _, stderr := play(t, "", "account", "delete", "ada", "--data="+data); code != 0 {
		t.Fatal(stderr)
	}
	if code, token, stderr = play(t, "", "token", "create", "--account=ada", "--plan=pro", "--data="+data); code != 0 {
		t.Fatal(stderr)
	}
	token = strings.TrimSpace(token)
	want("GET", "/v1/profiles", "", 200, `"profiles":[]`)
}

// found is a file below a folder that has a text in it.
func found(t *testing.T, dir, text string) (where string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return nil // files come and go
		}
		if b, err := os.ReadFile(path); err == nil && bytes.Contains(b, []byte(text)) {
			where = path
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return where
}

// TestProfileOnTwoNodes: twenty tasks at once on two nodes (and an arbiter) use one profile, and each goes
// on where another has stopped.
func TestProfileOnTwoNodes(t *testing.T) {
	need.All(t)
	t.Parallel()
	g := newTestCluster(t, 2, 2, 0)
	site := shop(t).URL
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if status, answer, err := post(g.nodes[i%2].base, g.token, visit(`"shop-ada"`, site)); err != nil || status != 200 || !strings.Contains(answer, `"success":true`) {
				t.Errorf("%d %s %v", status, answer, err)
			}
		})
	}
	all.Wait()
	for _, m := range g.nodes {
		if status, answer, err := post(m.base, g.token, visit(`{"name":"shop-ada","readonly":true}`, site)); err != nil || status != 200 || !strings.Contains(answer, `"data":"21,21,21"`) {
			t.Errorf("%d %s %v", status, answer, err)
		}
	}
	status, answer, err := sendTo("GET", g.nodes[1].base+"/v1/profiles", g.token, "")
	if err != nil || status != 200 || !strings.Contains(answer, `"version":20`) {
		t.Errorf("%d %s %v", status, answer, err)
	}
}
