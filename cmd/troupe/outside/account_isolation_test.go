package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// TestAnotherAccountGetsNothing: one account leaves everything that a browser
// can keep on a hostile site, and has a session, tasks, files, a ticket and a
// secret. The next one plays on the same worker, on the same site, with whatever
// identifiers it could have come by.
//
// Promise: A task leaves nothing for tasks of another account (docs/isolation.md).
func TestAnotherAccountGetsNothing(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	code, other, stderr := play(t, "", "token", "create", "--account=mallory", "--plan=pro", "--data="+f.data)
	if other = strings.TrimSpace(other); code != 0 {
		t.Fatal(stderr)
	}
	const value = "hunter2 of ada"
	if code, _, stderr := play(t, value, "secret", "set", "pass", "--account=local", "--origin="+f.site, "--data="+f.data); code != 0 {
		t.Fatal(stderr)
	}
	leave := `document.cookie='a=` + value + `;max-age=9999';localStorage.a=sessionStorage.a=window.name='` + value + `';history.replaceState('` + value + `','');
		await (await caches.open('a')).put('/a',new Response('` + value + `'));
		await new Promise(r=>{const o=indexedDB.open('a');o.onupgradeneeded=()=>o.result.createObjectStore('a');o.onsuccess=()=>{const x=o.result.transaction('a','readwrite');x.objectStore('a').put('` + value + `','a');x.oncomplete=r}});
		await navigator.serviceWorker.register(` + quoted(f.script("onfetch=e=>e.respondWith(new Response('"+value+"'))")) + `,{scope:'/'});await navigator.serviceWorker.ready;
		await (await (await navigator.storage.getDirectory()).getFileHandle('a',{create:true})).createWritable().then(w=>w.close());
		new BroadcastChannel('a').postMessage('` + value + `');const s=new SharedWorker(` + quoted(f.script("onconnect=e=>e.ports[0].postMessage('"+value+"')")) + `,'a');return 'left'`
	names := map[string]bool{}
	use := func(token string, task any) (int, string) {
		t.Helper()
		body, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		status, answer, err := post(f.base, token, string(body))
		if err != nil {
			t.Fatal(err)
		}
		return status, answer
	}
	list := func(actions ...any) map[string]any {
		return map[string]any{"config": act{"continueOnError": true}, "timeout": 30000, "queueTimeout": 20000, "actions": actions}
	}
	type about struct{ TaskID, SessionID, WorkerID, WorkerName string }
	told := func(answer string) (a about) {
		if err := json.Unmarshal([]byte(answer), &a); err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
		return a
	}
	for range 2 { // on both workers, if they take turns
		status, answer := use(f.token, list(act{"open": f.page("<input id=i>")}, act{"fill": []any{"#i", "${secret:pass}"}}, act{"evaluate": "return i.value", "options": act{"save": "kept"}}, act{"evaluate": leave}))
		if status != 200 || !strings.Contains(answer, `"data":"left"`) {
			t.Fatalf("%d %s", status, answer)
		}
		names[told(answer).WorkerName] = true
	}
	look := `const all=[];const see=async f=>{try{all.push(await f())}catch(e){}};
		await see(()=>document.cookie);await see(()=>localStorage.a||'');await see(()=>sessionStorage.a||'');await see(()=>window.name);await see(()=>history.state||'');await see(async()=>String(history.length));
		await see(async()=>(await caches.keys()).join());await see(async()=>(await indexedDB.databases()).map(d=>d.name).join());
		await see(async()=>String((await navigator.serviceWorker.getRegistrations()).length));await see(async()=>(await fetch('/?h=mine')).text());
		await see(async()=>{const n=[];for await(const k of (await navigator.storage.getDirectory()).keys())n.push(k);return n.join()});
		await see(async()=>navigator.clipboard?await Promise.race([navigator.clipboard.readText(),new Promise(r=>setTimeout(()=>r(''),500))]):'');
		return all`
	seen := map[string]bool{}
	for range 4 {
		status, answer := use(other, list(act{"open": f.page("<input id=i>")}, act{"evaluate": look}))
		if status != 200 || strings.Contains(answer, "hunter2") || !strings.Contains(answer, `"","","","","",`) || !strings.Contains(answer, "mine") {
			t.Errorf("the stranger sees %d %s", status, answer)
		}
		seen[told(answer).WorkerName] = true
	}
	for name := range names {
		if !seen[name] {
			t.Logf("the stranger was never on %s", name)
		}
	}
	if len(seen) == 0 || !overlap(names, seen) {
		t.Errorf("the stranger was on other workers: %v, %v", names, seen)
	}
	// The cache of what a list has saved, and the secret.
	_, answer := use(other, list(act{"open": f.page("<input id=i>")}, act{"getSavedData": "kept"}, act{"fill": []any{"#i", "${secret:pass}"}}, act{"evaluate": "return i.value"}))
	if strings.Contains(answer, "hunter2") || !strings.Contains(answer, `no secret \"pass\"`) || !strings.Contains(answer, `"data":""`) {
		t.Errorf("a secret of somebody else: %s", answer)
	}

	// What has an identifier.
	held := list(act{"open": f.page("<h1>" + value + "</h1>")})
	held["session"] = act{"preserve": true}
	_, answer = use(f.token, held)
	session := told(answer)
	running := list(act{"wait": 60000})
	running["async"], running["timeout"] = true, 90000
	_, answer = use(f.token, running)
	task := told(answer)
	if session.SessionID == "" || task.TaskID == "" {
		t.Fatalf("%+v %+v", session, task)
	}
	ask := func(token, method, path, body string) (int, string) {
		t.Helper()
		header := ""
		if body != "" {
			header = "Content-Type: application/json\r\n"
		}
		return f.raw(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n%sContent-Length: %d\r\nConnection: close\r\n\r\n%s", method, path, token, header, len(body), body))
	}
	status, answer := ask(f.token, "POST", "/v1/tickets", `{"object":"`+task.TaskID+`"}`)
	var ticket struct{ ID, Ticket string }
	if err := json.Unmarshal([]byte(answer), &ticket); err != nil || status != 200 {
		t.Fatalf("%d %s", status, answer)
	}
	look = "return document.body.innerText"
	for what, c := range map[string]struct {
		method, path, body string
		want               int
	}{
		"the result":          {"GET", "/v1/get-result?taskId=" + task.TaskID, "", 404},
		"the events":          {"GET", "/v1/tasks/" + task.TaskID + "/events", "", 404},
		"an end to the task":  {"DELETE", "/v1/tasks/" + task.TaskID, "", 404},
		"a ticket":            {"POST", "/v1/tickets", `{"object":"` + task.TaskID + `"}`, 404},
		"one for the session": {"POST", "/v1/tickets", `{"object":"` + session.SessionID + `"}`, 404},
		"one for the worker":  {"POST", "/v1/tickets", `{"object":"` + session.WorkerID + `"}`, 404},
		"an end to a ticket":  {"DELETE", "/v1/tickets/" + ticket.ID, "", 404},
		"the session":         {"POST", "/v1/", `{"session":{"id":"` + session.SessionID + `"},"actions":[{"evaluate":"` + look + `"}]}`, 409},
		"its end":             {"POST", "/v1/", `{"session":{"id":"` + session.SessionID + `","close":true}}`, 409},
		"its worker":          {"POST", "/v1/", `{"workerId":"` + session.WorkerID + `","session":{"override":true},"actions":[{"evaluate":"` + look + `"}]}`, 409},
		"its worker, waiting": {"POST", "/v1/", `{"workerId":"` + session.WorkerID + `","actions":[{"evaluate":"` + look + `"}]}`, 409},
	} {
		if status, answer := ask(other, c.method, c.path, c.body); status != c.want || strings.Contains(answer, "hunter2") {
			t.Errorf("%s: %d %s, want %d", what, status, answer, c.want)
		}
	}
	if _, answer := ask(other, "GET", "/v1/workers", ""); strings.Contains(answer, session.SessionID) || strings.Contains(answer, task.TaskID) || strings.Contains(answer, "local") {
		t.Errorf("the list of workers shows %s", answer)
	}
	// All of it is still there for its owner.
	if status, answer := ask(f.token, "POST", "/v1/", `{"session":{"id":"`+session.SessionID+`"},"actions":[{"getText":"h1"}]}`); status != 200 || !strings.Contains(answer, `"data":"***"`) {
		t.Errorf("the session of its owner: %d %s", status, answer)
	}
	resp, err := http.Get(f.base + "/v1/tasks/" + task.TaskID + "/events?ticket=" + ticket.Ticket)
	if err != nil || resp.StatusCode != 200 {
		t.Errorf("the ticket of its owner: %v %v", resp, err)
	} else {
		resp.Body.Close()
	}
	if status, answer := ask(f.token, "DELETE", "/v1/tasks/"+task.TaskID, ""); status != 200 || !strings.Contains(answer, `"cancelled":true`) {
		t.Errorf("the task of its owner: %d %s", status, answer)
	}
}

func overlap(a, b map[string]bool) bool {
	for k := range a {
		if b[k] {
			return true
		}
	}
	return false
}
