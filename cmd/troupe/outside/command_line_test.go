package outside_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"troupe/testkit/leaks"
	"troupe/testkit/need"
)

// TestWrongUse: whatever is wrong stops the start with a sentence, before
// anything is made.
func TestWrongUse(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		env  [2]string
		text string
	}{
		"no command":           {text: "see troupe --help"},
		"help with nothing":    {args: []string{"help", "srve"}, text: "srve"},
		"unknown command":      {args: []string{"srve"}, text: "srve"},
		"unknown flag":         {args: []string{"serve", "--wrokers=3"}, text: "--wrokers"},
		"not a number":         {args: []string{"serve", "--workers=many"}, text: "--workers"},
		"too many":             {args: []string{"serve", "--workers=10000"}, text: "want 1 to 512"},
		"negative":             {args: []string{"serve", "--workers=-1"}, text: "want 1 to 512"},
		"no address":           {args: []string{"serve", "--listen=8080"}, text: "such as 127.0.0.1:8080"},
		"open address":         {args: []string{"serve", "--listen=0.0.0.0:0"}, text: "--insecure-listen"},
		"every address":        {args: []string{"serve", "--listen=:0"}, text: "--insecure-listen"},
		"open IPv6":            {args: []string{"serve", "--listen=[::]:0"}, text: "--insecure-listen"},
		"half of TLS":          {args: []string{"serve", "--tls-cert=a.pem"}, text: "give both"},
		"no certificate":       {args: []string{"serve", "--listen=127.0.0.1:0", "--tls-cert=no.pem", "--tls-key=no.pem"}, text: "no.pem"},
		"host with port":       {args: []string{"serve", "--host=browsers.example.org:443"}, text: "without a port"},
		"every origin":         {args: []string{"serve", "--allow-origin=*"}, text: "want a scheme and a host"},
		"files URL":            {args: []string{"serve", "--files-url=files.example.org"}, text: "--files-url"},
		"file time":            {args: []string{"serve", "--file-ttl=1s"}, text: "a minute or more"},
		"grace":                {args: []string{"serve", "--grace=-1s"}, text: "--grace"},
		"renewal tasks":        {args: []string{"serve", "--renew-tasks=-1"}, text: "--renew-tasks is -1"},
		"renewal age":          {args: []string{"serve", "--renew-age=1s"}, text: "a minute or more"},
		"renewal memory":       {args: []string{"serve", "--renew-memory=10"}, text: "256 or more"},
		"metrics address":      {args: []string{"serve", "--metrics-listen=9464"}, text: "such as 127.0.0.1:9464"},
		"allowed host":         {args: []string{"serve", "--allow-host=http://intranet.example"}, text: "such as intranet.example"},
		"allowed network":      {args: []string{"serve", "--allow-cidr=10.0.0.1/8"}, text: "a CIDR block"},
		"quota":                {args: []string{"serve", "--egress-quota=-1"}, text: "--egress-quota is -1"},
		"upstream":             {args: []string{"serve", "--upstream-proxy=proxy.example:3128"}, text: "such as http://proxy.example:3128"},
		"upstream password":    {args: []string{"serve", "--upstream-proxy=http://ada:pw@proxy.example:3128"}, text: "in a file"},
		"upstream file":        {args: []string{"serve", "--upstream-proxy=http://proxy.example", "--upstream-proxy-credentials=no.file"}, text: "no.file"},
		"credentials only":     {args: []string{"serve", "--upstream-proxy-credentials=no.file"}, text: "needs --upstream-proxy"},
		"renderers":            {args: []string{"serve", "--renderer-process-limit=-1"}, text: "want 1 or more"},
		"traces address":       {args: []string{"serve", "--traces=127.0.0.1:4318"}, text: "such as http://127.0.0.1:4318"},
		"half a node":          {args: []string{"serve", "--cluster-listen=127.0.0.1:7222"}, text: "a node of a cluster also needs --cluster-peers and --cluster-secret-file and --node"},
		"node's name":          {args: []string{"serve", "--cluster-listen=127.0.0.1:7222", "--cluster-peers=a:1,b:1,c:1", "--cluster-secret-file=go.mod", "--node=Node 1"}, text: "small letters, digits and hyphens"},
		"nodes' secret":        {args: []string{"serve", "--cluster-listen=127.0.0.1:7222", "--cluster-peers=a:1,b:1,c:1", "--cluster-secret-file=no.file", "--node=n1"}, text: "no.file"},
		"half of certificates": {args: []string{"serve", "--cluster-listen=127.0.0.1:7222", "--cluster-peers=a:1,b:1,c:1", "--cluster-secret-file=testdata/nodes.secret", "--node=n1", "--cluster-cert=a.pem"}, text: "belong together"},
		"two nodes":            {args: []string{"serve", "--cluster-listen=a:7222", "--cluster-peers=a:7222,b:7222", "--cluster-secret-file=testdata/nodes.secret", "--node=n1"}, text: "add a third as arbiter"},
		"no nodes":             {args: []string{"serve", "--cluster-unsynced"}, text: "a node of a cluster also needs --"},
		"nodes' certificate":   {args: []string{"serve", "--cluster-listen=a:7222", "--cluster-peers=a:7222,b:1,c:1", "--cluster-secret-file=testdata/nodes.secret", "--node=n1", "--cluster-cert=no.pem", "--cluster-key=no.pem", "--cluster-ca=no.pem"}, text: "no.pem"},
		"storage":              {args: []string{"serve", "--s3-endpoint=s3.example.org", "--s3-bucket=files"}, text: "such as https://"},
		"storage's path":       {args: []string{"serve", "--s3-endpoint=https://s3.example.org/files", "--s3-bucket=files"}, text: "without a path"},
		"no bucket":            {args: []string{"serve", "--s3-endpoint=https://s3.example.org"}, text: "want the name of a bucket"},
		"only a bucket":        {args: []string{"serve", "--s3-bucket=files"}, text: "--s3-bucket needs --s3-endpoint"},
		"no keys":              {args: []string{"serve", "--s3-endpoint=https://s3.example.org", "--s3-bucket=files"}, env: [2]string{"AWS_ACCESS_KEY_ID", ""}, text: "AWS_SECRET_ACCESS_KEY"},
		"no file of keys":      {args: []string{"serve", "--s3-endpoint=https://s3.example.org", "--s3-bucket=files", "--s3-credentials=no.file"}, text: "no.file"},
		"no keys in it":        {args: []string{"serve", "--s3-endpoint=https://s3.example.org", "--s3-bucket=files", "--s3-credentials=command_line_test.go"}, text: "one line, ACCESS-KEY:SECRET-KEY"},
		"drain":                {args: []string{"drain"}, text: "no service runs"},
		"resume":               {args: []string{"resume"}, text: "no service runs"},
		"drain for no time":    {args: []string{"drain", "--wait=-1s"}, text: "--wait is -1s"},
		"doctor":               {args: []string{"doctor", "--workers=-1"}, text: "want 1 to 512"},
		"log level":            {args: []string{"serve", "--log-level=loud"}, text: "want debug, info, warn or error"},
		"log format":           {args: []string{"serve", "--log-format=xml"}, text: "--log-format"},
		"unknown variable":     {args: []string{"serve"}, env: [2]string{"TROUPE_WROKERS", "3"}, text: `TROUPE_WROKERS is unknown; did you mean "TROUPE_WORKERS"?`},
		"no such variable":     {args: []string{"account", "list"}, env: [2]string{"TROUPE_ELSEWHERE", "3"}, text: "TROUPE_ELSEWHERE is unknown; --help names"},
		"bad variable":         {args: []string{"serve"}, env: [2]string{"TROUPE_WORKERS", "many"}, text: "TROUPE_WORKERS"},
		"a number in its name": {args: []string{"serve"}, env: [2]string{"TROUPE_S3_BUCKET", "files"}, text: "--s3-bucket needs --s3-endpoint"},
		"bad boolean":          {args: []string{"serve", "--demo=perhaps"}, text: "perhaps"},
		"no account":           {args: []string{"token", "create"}, text: "--account"},
		"no command of it":     {args: []string{"worker"}, text: "drain"},
		"no plan":              {args: []string{"account", "create", "ada"}, text: "--plan=PLAN"},
		"no such plan":         {args: []string{"account", "set-plan", "ada", "gold"}, text: `must be one of "free","basic","standard","pro"`},
		"no worker":            {args: []string{"worker", "add"}, text: "<name>"},
		"no grace":             {args: []string{"worker", "remove", "mine", "--grace=-1s"}, text: "--grace is -1s: want zero or more"},
		"no data":              {args: []string{"worker", "list"}, text: "name the service's with --data"},
		"no task":              {args: []string{"run"}, text: "task"},
		"no task file":         {args: []string{"run", "nothing.json"}, text: "nothing.json"},
		"no upload":            {args: []string{"run", "-", "--file=nothing.pdf"}, text: "nothing.pdf"},
	} {
		t.Run(name, func(t *testing.T) {
			data := filepath.Join(t.TempDir(), "data")
			t.Setenv("TROUPE_DATA", data)
			if tc.env[0] != "" {
				t.Setenv(tc.env[0], tc.env[1])
			}
			code, _, stderr := play(t, "", tc.args...)
			if code != exitUsage || !strings.Contains(stderr, tc.text) {
				t.Errorf("exit code %d, %s", code, stderr)
			}
			if _, err := os.Stat(data); err == nil {
				t.Error("a data folder was made")
			}
			if lines := strings.Split(strings.TrimSpace(stderr), "\n"); !strings.HasPrefix(lines[len(lines)-1], "troupe: ") {
				t.Errorf("the last line is no sentence: %s", stderr)
			}
		})
	}
}

// TestAnUnnamedFolderIsNotMade: a command that finds no service and no data makes nothing in
// a folder that nobody has named, and says so. In one that was named it does, and says so, too.
func TestAnUnnamedFolderIsNotMade(t *testing.T) {
	home := shortFolder(t)
	t.Setenv("XDG_DATA_HOME", home)
	for _, args := range [][]string{{"account", "create", "ada", "--plan=pro"}, {"token", "create", "--account=ada", "--plan=pro"},
		{"flow", "put", "f", "command_line_test.go", "--account=ada"}, {"account", "list"}} {
		code, out, stderr := play(t, "", args...)
		if left, _ := os.ReadDir(home); code != exitUsage || out != "" || !strings.Contains(stderr, "no service runs with it") && !strings.Contains(stderr, "no service runs with the data folder") ||
			!strings.Contains(stderr, "--data") || len(left) != 0 {
			t.Errorf("%v: exit code %d, %s%s, made %v", args, code, out, stderr, left)
		}
	}
	dir := filepath.Join(home, "named")
	for _, says := range []string{"A new data folder was made: " + dir + ". No service runs", "No service runs with the data folder " + dir} {
		code, out, stderr := play(t, "", "token", "create", "--account=ada", "--plan=pro", "--data="+dir)
		if code != 0 || !onlyToken.MatchString(out) || !strings.Contains(stderr, says) {
			t.Errorf("exit code %d, %s%s", code, out, stderr)
		}
	}
}

func TestEmptyVariableCountsAsNotSet(t *testing.T) {
	t.Setenv("TROUPE_WORKERS", "")
	if code, out, stderr := play(t, "", "version"); code != 0 || !strings.HasPrefix(out, "troupe ") {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
}

// TestClientsTokenStopsNothing: who has tried a program of the web page has it
// in the environment.
func TestClientsTokenStopsNothing(t *testing.T) {
	t.Setenv("TROUPE_TOKEN", "troupe_abc")
	if code, out, stderr := play(t, "", "version"); code != 0 || !strings.HasPrefix(out, "troupe ") {
		t.Errorf("exit code %d, %s%s", code, out, stderr)
	}
}

func TestHelp(t *testing.T) {
	code, out, _ := play(t, "", "serve", "--help")
	for _, want := range []string{"$TROUPE_LISTEN", "$TROUPE_FILES_URL", "$TROUPE_ALLOW_PRIVATE", "$TROUPE_LOG_LEVEL", "--[no-]demo"} {
		if !strings.Contains(out, want) {
			t.Errorf("the help does not mention %s", want)
		}
	}
	if code != 0 {
		t.Errorf("exit code %d", code)
	}
	if code, same, _ := play(t, "", "help", "serve"); code != 0 || same != out {
		t.Errorf("troupe help serve ends with %d and says %.80q", code, same)
	}
	if code, all, _ := play(t, "", "help"); code != 0 || !strings.Contains(all, "doctor") {
		t.Errorf("troupe help ends with %d and says %.80q", code, all)
	}
}

// TestCommandsTakeTheirNodeFromNoVariable: the variable is for the service beside
// which they are given, and its operator means the node of the data folder.
func TestCommandsTakeTheirNodeFromNoVariable(t *testing.T) {
	for _, command := range [][]string{{"drain"}, {"resume"}, {"worker", "add"}} {
		code, out, _ := play(t, "", append(command, "--help")...)
		if code != 0 || !strings.Contains(out, "--node") || strings.Contains(out, "TROUPE_NODE") {
			t.Errorf("%v: exit code %d, %s", command, code, out)
		}
	}
}

// result is what run prints.
type result struct {
	Success bool
	Code    string
	Data    json.RawMessage
	Details []struct{ Path string }
}

func parse(t *testing.T, out string) (r result) {
	t.Helper()
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("the result is no JSON: %v: %s", err, out)
	}
	return r
}

// TestRun plays task files in a real browser.
func TestRun(t *testing.T) {
	need.Browser(t)
	leaks.Check(t)
	out := filepath.Join(t.TempDir(), "pictures")
	file := filepath.Join(t.TempDir(), "task.json")
	task := `{"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"viewport"},{"screenshot":"viewport"},{"getText":".name"}],"config":{"trace":true}}`
	if err := os.WriteFile(file, []byte(task), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := play(t, "", "run", file, "--out", out)
	if r := parse(t, stdout); code != 0 || !r.Success || string(r.Data) != `"Demo Shop"` {
		t.Errorf("exit code %d, %s%s", code, stdout, stderr)
	}
	pictures, _ := filepath.Glob(filepath.Join(out, "*.png"))
	if len(pictures) != 2 {
		t.Errorf("the pictures are %v", pictures)
	}
	for _, p := range pictures {
		if b, err := os.ReadFile(p); err != nil || !bytes.HasPrefix(b, []byte("\x89PNG")) || !strings.Contains(stdout, "file://"+p) {
			t.Errorf("%s: %d bytes, %v, or the result does not name it", p, len(b), err)
		}
	}

	code, stdout, stderr = play(t, `{"config":null,"actions":[{"open":"http://demo.troupe.test/"},{"getText":".name"}]}`, "run", "-", "--trace", "--out", out)
	page, err := os.ReadFile(filepath.Join(out, "trace-1.html"))
	if code != 0 || err != nil || !strings.Contains(string(page), "Demo Shop") || !strings.Contains(stdout, "trace-1.html") {
		t.Errorf("with --trace: exit code %d, %v, %d bytes, %s%s", code, err, len(page), stdout, stderr)
	}

	code, stdout, _ = play(t, `{"actions":[{"click":"#nowhere","options":{"timeout":10}}]}`, "run", "-")
	if r := parse(t, stdout); code != exitFailed || r.Success {
		t.Errorf("a failed action: exit code %d, %s", code, stdout)
	}
	code, stdout, stderr = play(t, `{"actions":[{"clik":"#a"}]}`, "run", "-")
	if r := parse(t, stdout); code != exitUsage || r.Code != "invalid_request" || len(r.Details) != 1 || r.Details[0].Path != "/actions/0/clik" {
		t.Errorf("a fault in the file: exit code %d, %s%s", code, stdout, stderr)
	}
	code, _, stderr = play(t, task, "run", "-", "--browser=/bin/false")
	if code != exitUsage || !strings.Contains(stderr, "start the browser") {
		t.Errorf("a browser that is none: exit code %d, %s", code, stderr)
	}
	if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "troupe-run-*")); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// TestWithoutDemo: the demo shop can be taken away, in each spelling.
func TestWithoutDemo(t *testing.T) {
	need.Browser(t)
	for _, no := range []string{"--demo=false", "--no-demo"} {
		code, stdout, _ := play(t, `{"actions":[{"open":"http://demo.troupe.test/","options":{"timeout":5000}}]}`, "run", "-", no)
		if r := parse(t, stdout); code != exitFailed || r.Success {
			t.Errorf("%s: exit code %d, %s", no, code, stdout)
		}
	}
}
