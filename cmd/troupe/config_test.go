package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/engine"
)

func configFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "troupe.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestConfigChangesPlans(t *testing.T) {
	got, err := readConfig(configFile(t, `{"plans":{"free":{"tasksPerDay":7,"asyncTimeoutMs":90000,"sessions":true,"reserved":1,"storageMiB":5,"storageFiles":3},"pro":{"syncTimeoutMs":5000,"restoreSessions":false}}}`))
	if err != nil {
		t.Fatal(err)
	}
	want := engine.DefaultLimits()
	want[engine.Free] = engine.Limits{TasksPerDay: 7, Sync: time.Minute, Async: 90 * time.Second, Sessions: true, Reserved: 1, StorageBytes: 5 << 20, StorageFiles: 3}
	pro := want[engine.Pro]
	pro.Sync, pro.SessionsStay = 5*time.Second, true
	want[engine.Pro] = pro
	for _, p := range engine.Plans {
		if got.limits[p] != want[p] {
			t.Errorf("%s: %+v, want %+v", p, got.limits[p], want[p])
		}
	}
}

// TestWrongConfig: the start is refused with the name of what is wrong, and
// nothing is made.
func TestWrongConfig(t *testing.T) {
	for text, want := range map[string]string{
		``:                                    "want an object",
		`[]`:                                  "want an object",
		`{"plans":{}} {}`:                     "text after the JSON",
		`{"plan":{}}`:                         `unknown field "plan"`,
		`{"plans":{"gold":{}}}`:               `plan "gold" is unknown`,
		`{"plans":{"free":null}}`:             "plans.free: want an object",
		`{"plans":{"free":{"taskPerDay":1}}}`: `plans.free: json: unknown field "taskPerDay"`,
		`{"plans":{"free":{"tasksPerDay":"many"}}}`: "tasksPerDay",
		`{"plans":{"free":{"storageMiB":-1}}}`:      "plans.free: storageMiB is -1",
		`{"plans":{"free":{"tasksPerDay":-1}}}`:     "plans.free: tasksPerDay is -1",
		`{"plans":{"free":{"syncTimeoutMs":10}}}`:   "plans.free: syncTimeoutMs is 10",
		`{"plans":{"free":{"sessions":true}}}`:      "plans.free: reserved is 0",

		`{"proxies":{"a b":{"url":"http://p.example"}}}`:                                              `"a b" is no name`,
		`{"proxies":{"a":{"url":"p.example:3128"}}}`:                                                  "proxies.a: url: want the address of a proxy",
		`{"proxies":{"a":{"url":"socks4://p.example"}}}`:                                              "http, https, socks5",
		`{"proxies":{"a":{"url":"http://u:pw@p.example"}}}`:                                           "give them in a file",
		`{"proxies":{"a":{"url":"http://p.example","users":["ada"]}}}`:                                `unknown field "users"`,
		`{"proxies":{"a":{"url":"http://p.example","plans":["gold"]}}}`:                               `proxies.a: plans: plan "gold" is unknown`,
		`{"proxies":{"a":{"url":"http://p.example","credentialsFile":"/nowhere"}}}`:                   "proxies.a: credentialsFile: open /nowhere",
		`{"proxies":{"a":{"url":"http://p.example","credentialsEnv":"TROUPE_TEST_NO_SUCH"}}}`:         "the variable TROUPE_TEST_NO_SUCH is not set",
		`{"proxies":{"a":{"url":"http://p.example","credentialsEnv":"PATH","credentialsFile":"/x"}}}`: "not both",
	} {
		data := filepath.Join(t.TempDir(), "data")
		code, _, stderr := play(t, "", "serve", "--data="+data, "--config="+configFile(t, text))
		if _, err := os.Stat(data); code != exitUsage || !strings.Contains(stderr, want) || err == nil {
			t.Errorf("%s: exit code %d, %s", text, code, stderr)
		}
	}
	if code, _, stderr := play(t, "", "serve", "--config=nothing.json"); code != exitUsage || !strings.Contains(stderr, "nothing.json") {
		t.Errorf("no file: exit code %d, %s", code, stderr)
	}
}
