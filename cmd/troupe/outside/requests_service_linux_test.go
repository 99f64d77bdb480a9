package outside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// besieged is a service that requests of the largest kind are sent to, as many at once as
// it has connections for. One account sends them; another one wants to notice nothing.
type besieged struct {
	t            *testing.T
	data         string
	memory       int // MiB for requests: --request-memory
	conns        int // how many requests are sent at once
	c            *child
	private      *http.Client // to the private socket
	base, addr   string
	metrics      string
	eve, op, ada string // tokens: of who sends the requests, of the operator, of somebody else
	neighbour    *http.Client
	made         map[string]string // what was prepared, by what it is
	rest         toll              // what the service takes when nobody asks for anything
	operations   map[string]string // method and path by identifier
	tools        []string          // of models, with what they do
	said         map[int]string    // how the last answer with a status began
	commands     int               // operator commands that it was sent since it began
}

// toll is what requests take of the service.
type toll struct {
	live, peak int64         // bytes: what a collection leaves, and all that the process has
	files      int           // descriptors
	processor  time.Duration // for each request that was answered
}

// besiege makes an account of each kind, and starts the service.
func besiege(t *testing.T, memory, conns int) *besieged {
	k := &besieged{t: t, data: filepath.Join(shortFolder(t), "data"), memory: memory, conns: conns, made: map[string]string{}, operations: map[string]string{}}
	if code, _, errs := play(t, "", "account", "create", "op", "--plan=pro", "--operator", "--data="+k.data); code != 0 {
		t.Fatalf("account create: %d %s", code, errs)
	}
	for token, args := range map[*string][]string{&k.eve: {"--account=eve", "--plan=pro"}, &k.ada: {"--account=ada", "--plan=free"}, &k.op: {"--account=op"}} {
		code, out, errs := play(t, "", append([]string{"token", "create", "--data=" + k.data}, args...)...)
		if code != 0 {
			t.Fatalf("token create: %d %s", code, errs)
		}
		*token = strings.TrimSpace(out)
	}
	if code, _, errs := play(t, "correct horse battery", "secret", "set", "staple", "--account=eve", "--origin=https://a.test", "--data="+k.data); code != 0 {
		t.Fatalf("secret set: %d %s", code, errs)
	}
	k.begin()
	k.learn()
	return k
}

// begin makes its clients, and starts it.
func (k *besieged) begin() {
	k.t.Helper()
	k.neighbour = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 8}}
	k.private = &http.Client{Timeout: hang, Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socketIn(k.data))
	}}}
	k.t.Cleanup(k.neighbour.CloseIdleConnections)
	k.start()
}

// stop ends the service.
func (k *besieged) stop() {
	k.t.Helper()
	k.neighbour.CloseIdleConnections()
	_ = k.c.Process.Signal(syscall.SIGTERM)
	if err := k.c.end(k.t, hang); err != nil {
		k.t.Errorf("the service ended with %v: %s", err, k.c.errs.String())
	}
	k.c = nil
}

// copied is another service for a test, with all that this one has but other memory for
// requests. This one does not run.
func (k *besieged) copied(t *testing.T, memory int) *besieged {
	twin := *k
	twin.t, twin.data, twin.memory = t, filepath.Join(shortFolder(t), "data"), memory
	twin.made = maps.Clone(k.made)
	if out, err := exec.Command("cp", "-a", k.data, twin.data).CombinedOutput(); err != nil {
		t.Fatalf("copying the data: %v: %s", err, out)
	}
	twin.begin()
	return &twin
}

// start starts the service, again too, and weighs it.
func (k *besieged) start() {
	k.t.Helper()
	if k.c != nil {
		k.stop()
	}
	k.c, k.base = serve(k.t, k.data, "--workers=1", "--metrics-listen=127.0.0.1:0", "--log-format=json", "--max-connections="+strconv.Itoa(k.conns+32), "--request-memory="+strconv.Itoa(k.memory))
	k.addr = strings.TrimPrefix(k.base, "http://")
	k.metrics = "http://" + k.c.metricsAddress(k.t) + "/metrics"
	k.commands = 0
	for range 4 { // it takes some more as soon as anybody uses it, somebody else too
		k.othersNoticeNothing()
	}
	k.rest = toll{live: k.left(), peak: k.resident(), files: k.descriptors()}
}

// learn asks the service which routes and which tools it has.
func (k *besieged) learn() {
	k.t.Helper()
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
		}
	}
	k.ask("GET", "/openapi.json", "", "", &doc)
	for path, all := range doc.Paths {
		for method, o := range all {
			k.operations[o.OperationID] = strings.ToUpper(method) + " " + path
		}
	}
	var list struct {
		Result struct {
			Tools []struct {
				Name        string
				InputSchema struct {
					Properties map[string]struct{ Enum []string }
				}
			}
		}
	}
	k.ask("POST", "/mcp", k.eve, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, &list)
	for _, tool := range list.Result.Tools {
		does := tool.InputSchema.Properties["do"].Enum
		for _, do := range does {
			k.tools = append(k.tools, "mcp "+tool.Name+" "+do)
		}
		if len(does) == 0 {
			k.tools = append(k.tools, "mcp "+tool.Name)
		}
	}
	if len(k.operations) < 50 || len(k.tools) < 6 {
		k.t.Fatalf("the service has the routes %v and the tools %v", k.operations, k.tools)
	}
}

// ask sends a request of little weight, and reads its answer.
func (k *besieged) ask(method, path, token, body string, to any, headers ...string) int {
	k.t.Helper()
	req, err := http.NewRequest(method, k.base+path, strings.NewReader(body))
	if err != nil {
		k.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		req.Header.Set(name, value)
	}
	res, err := k.neighbour.Do(req)
	if err != nil {
		k.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	if to != nil {
		if err := json.Unmarshal(b, to); err != nil {
			k.t.Fatalf("%s %s: %d %.500s", method, path, res.StatusCode, b)
		}
	}
	return res.StatusCode
}

// once prepares something that outlives the service, and remembers how it is called.
func (k *besieged) once(what string, prepare func() string) string {
	if k.made[what] == "" {
		k.made[what] = prepare()
	}
	return k.made[what]
}

// number reads a number of the service's metrics.
func (k *besieged) number(page, name string) int64 {
	m := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindStringSubmatch(page)
	if m == nil {
		k.t.Fatalf("the metrics do not have %s:\n%s", name, page)
	}
	f, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		k.t.Fatal(err)
	}
	return int64(f)
}

func (k *besieged) page() string {
	res, err := k.neighbour.Get(k.metrics)
	if err != nil {
		k.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		k.t.Fatal(err)
	}
	return string(b)
}

// left is the least that collections leave: some garbage is just being used.
func (k *besieged) left() int64 {
	k.collect()
	least := k.live()
	k.collect()
	return min(least, k.live())
}

// live is what the last collection has left.
func (k *besieged) live() int64 { return k.number(k.page(), "go_gc_heap_live_bytes") }

// collect has the service collect its garbage, as a profile of the heap does first.
func (k *besieged) collect() {
	k.t.Helper()
	res, err := k.private.Get("http://troupe/debug/pprof/heap?gc=1")
	if err != nil {
		k.t.Fatal(err)
	}
	defer res.Body.Close()
	if _, err := io.Copy(io.Discard, res.Body); err != nil || res.StatusCode != http.StatusOK {
		k.t.Fatalf("a profile is answered with %d, %v", res.StatusCode, err)
	}
}

// little is a request of somebody else, who notices nothing.
const little = `{"actions":[{"set":{"n":[1,2,3]}}]}`

// othersNoticeNothing sends a request of another account.
func (k *besieged) othersNoticeNothing() {
	k.t.Helper()
	if status := k.ask("POST", "/v1/validate", k.ada, little, nil); status != 200 {
		k.t.Errorf("somebody else is answered with %d", status)
	}
}

// resident is what the process has of the memory that is its own: not what is mapped of files.
func (k *besieged) resident() int64 {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", k.c.Process.Pid))
	if err != nil {
		k.t.Error(err)
		return 0
	}
	_, rest, _ := bytes.Cut(b, []byte("RssAnon:"))
	text, _, _ := bytes.Cut(rest, []byte("kB"))
	n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		k.t.Errorf("%v in\n%s", err, b)
	}
	return n << 10
}

func (k *besieged) descriptors() int {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", k.c.Process.Pid))
	if err != nil {
		k.t.Error(err)
	}
	return len(all)
}

// sockets are the descriptors of connections: the store opens files whenever it has time.
func (k *besieged) sockets() (n int) {
	dir := fmt.Sprintf("/proc/%d/fd", k.c.Process.Pid)
	all, err := os.ReadDir(dir)
	if err != nil {
		k.t.Error(err)
	}
	for _, e := range all {
		if to, err := os.Readlink(filepath.Join(dir, e.Name())); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// processor is how long processors have worked for the service.
func (k *besieged) processor() time.Duration {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", k.c.Process.Pid))
	if err != nil {
		k.t.Error(err)
	}
	fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')')+1:]))
	user, _ := strconv.ParseInt(fields[11], 10, 64)
	system, _ := strconv.ParseInt(fields[12], 10, 64)
	return time.Duration(user+system) * (time.Second / 100)
}

// disk is what the data folder takes.
func (k *besieged) disk() (n int64) {
	_ = filepath.WalkDir(k.data, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // it has just been removed
		}
		if info, err := e.Info(); err == nil {
			n += info.Sys().(*syscall.Stat_t).Blocks * 512
		}
		return nil
	})
	return n
}
