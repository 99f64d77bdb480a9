package engine

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
	"troupe/testkit/npm"
)

// fillsState leaves something of every kind that a profile keeps.
const fillsState = `
	document.cookie = 'kept=1; max-age=3600; path=/'; localStorage.setItem('theme', 'dark "ü" \u2028');
	const done = (r) => new Promise((ok, no) => { r.onsuccess = () => ok(r.result); r.onerror = () => no(r.error); });
	const o = indexedDB.open('shop', 7);
	o.onupgradeneeded = () => {
		const a = o.result.createObjectStore('orders', { keyPath: ['year', 'n'] });
		a.createIndex('by-tag', 'tags', { multiEntry: true }); a.createIndex('by-both', ['n', 'year'], { unique: true });
		o.result.createObjectStore('log', { autoIncrement: true });
		o.result.createObjectStore('loose');
	};
	const db = await done(o), t = db.transaction(['orders', 'log', 'loose'], 'readwrite');
	t.objectStore('orders').put({ year: 2026, n: 1, tags: ['x', 'y'], when: new Date(1e12) });
	for (let i = 0; i < 250; i++) t.objectStore('log').put('line ' + i);
	const ring = { map: new Map([['k', new Set([1n, NaN, undefined, -0])]]), bytes: new Uint8Array([0, 255, 7]), re: /a/gi, buf: new Uint16Array([1, 2]).buffer };
	ring.self = ring; Object.defineProperty(ring, '__proto__', { value: 5, enumerable: true, configurable: true, writable: true });
	t.objectStore('loose').put(ring, new Date(5)); t.objectStore('loose').put({ plain: [1, null, { a: 'b' }] }, 'text');
	await new Promise((ok, no) => { t.oncomplete = ok; t.onabort = () => no(t.error); });
	db.close(); return 1;`

// seesState tells what is there of it.
const seesState = `
	const done = (r) => new Promise((ok, no) => { r.onsuccess = () => ok(r.result); r.onerror = () => no(r.error); });
	const names = (await indexedDB.databases()).map((d) => d.name + d.version).join();
	if (names !== 'shop7') return document.cookie + '|' + localStorage.getItem('theme') + '|databases ' + names;
	const db = await done(indexedDB.open('shop')), t = db.transaction(['orders', 'log', 'loose'], 'readwrite');
	const order = (await done(t.objectStore('orders').index('by-tag').getAll('y')))[0], both = await done(t.objectStore('orders').index('by-both').get([1, 2026]));
	const lines = await done(t.objectStore('log').getAll()), next = await done(t.objectStore('log').put('more'));
	await done(t.objectStore('log').delete(next));
	const ring = await done(t.objectStore('loose').get(new Date(5))), plain = await done(t.objectStore('loose').get('text'));
	const set = [...ring.map.get('k')];
	db.close();
	return [document.cookie, localStorage.getItem('theme'), order.when.getTime(), both.tags.join(), lines.length, lines[249], next, ring.self === ring, typeof set[0], set[0] + '', set[1] + '', set[2] + '', set[3],
		ring.bytes.join(), ring.re + '', new Uint16Array(ring.buf).join(), Object.getOwnPropertyDescriptor(ring, '__proto__')?.value ?? 'lost', JSON.stringify(plain)].join('|');`

const stateSeen = `kept=1|dark "ü" ` + "\u2028" + `|1000000000000|x,y|250|line 249|251|true|bigint|1|NaN|undefined|0|0,255,7|/a/gi|1,2|5|{"plain":[1,null,{"a":"b"}]}`

func profileSite(t *testing.T) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write([]byte("<!doctype html><title>x</title>"))
	}))
	t.Cleanup(srv.Close)
	return srv
}

// withProfile plays a task with a profile, and gives what it saves.
func withProfile(t *testing.T, state json.RawMessage, actions string) (o *Outcome, saved json.RawMessage) {
	t.Helper()
	st := TaskEnv{Profile: &ProfileState{State: state, Keep: func(_ context.Context, b json.RawMessage, _ []string) error {
		saved = b
		return nil
	}}}
	o = play(t, newInstance(t), `{"profile":"p","timeout":60000,"actions":[`+actions+`]}`, st)
	if len(o.Failures) > 0 {
		t.Fatalf("%v %v", failuresOf(o), o.Warnings)
	}
	return o, saved
}

func seenText(t *testing.T, o *Outcome) (s string) {
	t.Helper()
	if err := json.Unmarshal(o.Data, &s); err != nil {
		t.Fatalf("%s: %v", o.Data, err)
	}
	return s
}

// TestProfileKeepsEverything: cookies, local storage and databases come back in another
// browser context, also of sites that the task between did not visit.
func TestProfileKeepsEverything(t *testing.T) {
	t.Parallel()
	counted(t)
	srv, other := profileSite(t), profileSite(t)
	open := `{"open":"` + srv.URL + `/"}`
	_, first := withProfile(t, nil, open+`,{"evaluate":`+quoted(fillsState)+`},{"open":"`+other.URL+`/"}`)
	_, second := withProfile(t, first, `{"open":"`+other.URL+`/"},{"evaluate":"localStorage.setItem('b','2')"}`)
	o, third := withProfile(t, second, open+`,{"evaluate":`+quoted(seesState)+`}`)
	if got := seenText(t, o); got != stateSeen || len(o.Warnings) > 0 {
		t.Errorf("the page sees\n%q, want\n%q (%v)\n%s", got, stateSeen, o.Warnings, first)
	}
	for _, want := range []string{`"name":"b","value":"2"`, other.URL, `"name":"kept"`, `"name":"shop"`} {
		if !strings.Contains(string(third), want) {
			t.Errorf("%s is not in the state after three tasks: %.300s", want, third)
		}
	}
	o = play(t, newInstance(t), `{"actions":[`+open+`,{"evaluate":`+quoted(seesState)+`}]}`, TaskEnv{})
	if got := seenText(t, o); got != "|null|databases " { // document.cookie is empty
		t.Errorf("without the profile a page sees %q", got)
	}
}

// TestProfileInPlaywright: its newContext loads a state of ours, and we load one of its.
func TestProfileInPlaywright(t *testing.T) {
	need.All(t)
	t.Parallel()
	need.Registry(t)
	counted(t)
	packages, err := npm.Install(filepath.Join("testdata", "aria"), filepath.Join("..", ".cache", "aria"))
	if err != nil {
		t.Fatal(err)
	}
	chromium, err := browser.Find()
	if err != nil {
		t.Fatal(err)
	}
	srv := profileSite(t)
	_, ours := withProfile(t, nil, `{"open":"`+srv.URL+`/"},{"evaluate":`+quoted(fillsState)+`}`)
	file := filepath.Join(t.TempDir(), "state.json")
	if err := os.WriteFile(file, ours, 0o600); err != nil {
		t.Fatal(err)
	}
	var got struct {
		Seen  string
		State json.RawMessage
	}
	playwright(t, "state.cjs", &got, packages, chromium, file, srv.URL+"/", seesState, fillsState)
	// Its own way to read objects leaves a field of that name out.
	if want := strings.Replace(stateSeen, "|5|{", "|lost|{", 1); got.Seen != want && got.Seen != stateSeen {
		t.Errorf("Playwright's page sees\n%q, want\n%q", got.Seen, stateSeen)
	}
	s, err := ReadStorageState(got.State)
	if err != nil {
		t.Fatalf("%v\n%s", err, got.State)
	}
	theirs, err := s.Encode()
	if err != nil {
		t.Fatal(err)
	}
	o, _ := withProfile(t, theirs, `{"open":"`+srv.URL+`/"},{"evaluate":`+quoted(seesState)+`}`)
	if seen := seenText(t, o); seen != stateSeen {
		t.Errorf("from Playwright's state a page sees\n%q, want\n%q", seen, stateSeen)
	}
}

// TestProfileNotSaved: a task that uses a copy, or whose profile cannot be saved, says so,
// and a cancelled one saves nothing.
func TestProfileNotSaved(t *testing.T) {
	t.Parallel()
	counted(t)
	srv := profileSite(t)
	body := `{"profile":"p","actions":[{"open":"` + srv.URL + `/"},{"evaluate":"indexedDB.open('files').onupgradeneeded = (e) => e.target.result.createObjectStore('f').put(new Blob(['x']), 1)"},{"wait":200}]}`
	o := play(t, newInstance(t), body, TaskEnv{Profile: &ProfileState{Copied: true}})
	if len(o.Warnings) != 1 || !strings.Contains(o.Warnings[0].Message, "has used a copy") {
		t.Errorf("%v", o.Warnings)
	}
	o = play(t, newInstance(t), body, TaskEnv{Profile: &ProfileState{Keep: func(context.Context, json.RawMessage, []string) error { return errors.New("no room") }}})
	if len(o.Warnings) != 2 || !strings.Contains(o.Warnings[0].Message, "1 storages, databases or records") || !strings.Contains(o.Warnings[1].Message, "was not saved, and stays as it was: no room") {
		t.Errorf("%v", o.Warnings)
	}
	task, err := Parse([]byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(ErrCancelled)
	o = newInstance(t).Play(ctx, task, TaskEnv{Profile: &ProfileState{Keep: func(context.Context, json.RawMessage, []string) error {
		t.Error("a cancelled task has saved its profile")
		return nil
	}}})
	if o.End != EndCancelled {
		t.Errorf("%+v", o)
	}
}

// TestProfileTooSlow: a task that has its profile too late has begun nothing, and says why. One
// that is over by then ends as any other.
func TestProfileTooSlow(t *testing.T) {
	t.Parallel()
	task, err := Parse([]byte(`{"profile":"p","actions":[{"wait":1}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	profile := &ProfileState{State: json.RawMessage(`{"origins":[{"origin":"http://a.example","localStorage":[{"name":"a","value":"b"}]}]}`)}
	in := newInstance(t)
	in.patience = time.Nanosecond - profileTime
	o := in.Play(context.Background(), task, TaskEnv{Profile: profile})
	if o.End != EndStopped || len(o.Failures) != 1 || o.Failures[0].Code != CodeTimeout || !strings.Contains(o.Failures[0].Text, "within 5000ms") {
		t.Errorf("too late: %+v", o)
	}
	for end, cause := range map[End]error{EndCancelled: ErrCancelled, EndInterrupted: ErrDraining, EndTimeout: context.DeadlineExceeded} {
		ctx, cancel := context.WithCancelCause(context.Background())
		cancel(cause)
		if o := newInstance(t).Play(ctx, task, TaskEnv{Profile: profile}); o.End != end || len(o.Failures) != 0 {
			t.Errorf("%v: %+v", cause, o)
		}
	}
}

// TestProfileFaults: what is wrong with a profile of a request, or with a storage state,
// is named with its place.
func TestProfileFaults(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"profile":"a b","actions":[{"wait":1}]}`:                           `/profile: want the name of a profile, 1 to 64 letters`,
		`{"profile":{"readonly":true},"actions":[{"wait":1}]}`:               `/profile: want name`,
		`{"profile":{"name":"a","version":2},"actions":[{"wait":1}]}`:        `/profile/version: want version only with readonly`,
		`{"profile":{"name":"a","busy":"go"},"actions":[{"wait":1}]}`:        `/profile/busy: want busy, one of wait, copy`,
		`{"profile":"a","session":{"id":"s"},"actions":[{"wait":1}]}`:        `/profile: a session has the profile that it was opened with: leave profile out`,
		`{"profile":"a","session":{"override":true},"actions":[{"wait":1}]}`: `/profile: want profile or session.override, not both`,
		`{"session":{"save":true},"actions":[{"wait":1}]}`:                   `/session: save needs a session: give its id, or preserve`,
		`{"profile":5,"actions":[{"wait":1}]}`:                               `/profile: want the name of a profile`,
	} {
		if _, err := Parse([]byte(body), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
	for body, want := range map[string]string{
		`{"cookies":{}}`:                         `/cookies: want an array of cookies`,
		`{"cookies":[{"name":"a","value":"b"}]}`: `/cookies/0: want a cookie with its domain and path`,
		`{"cookies":[{"name":"a","value":"b","domain":"c","path":"/","sameSite":""}]}`:                           `/cookies/0/sameSite`,
		`{"origins":[{"origin":"shop.example","localStorage":[]}]}`:                                              `/origins/0/origin: want an origin such as`,
		`{"origins":[{"origin":"http://a.example/","localStorage":[]}]}`:                                         `/origins/0/origin: want an origin`,
		`{"origins":[{"origin":"http://a.example","localStorage":[{"name":"a","value":1}]}]}`:                    `/origins/0/localStorage/0/value: want a string`,
		`{"origins":[{"origin":"http://a.example","localStorage":[],"indexedDB":[{"name":"x"}]}]}`:               `/origins/0/indexedDB/0: want a database with its name, version and stores`,
		`{"origins":[{"origin":"http://a.example","localStorage":[],"opfs":[{"path":"a","type":"directory"}]}]}`: `/origins/0/opfs: files of a site`,
		`{"cookie":[]}`: `did you mean`,
	} {
		if _, err := ReadStorageState([]byte(body)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}
