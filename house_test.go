package troupe_test

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"troupe/testkit/need"
)

// A floor is a package and what it stands on: the packages of the house that it
// may import. What is not listed is above it or beside it.
type floor struct {
	pkg    string
	on     []string
	reason string
}

// house is the plan of the house, from the top. Tests may look further: see
// below.
var house = []floor{
	{"cmd/troupe", []string{"cmd/troupe/cgroup", "cmd/troupe/doctor", "http", "http/address", "http/admin", "http/answer", "http/flows", "http/live", "http/mcp", "http/telemetry", "cluster", "cluster/member", "cluster/store", "actors", "actors/api", "actors/runs", "engine", "engine/browser", "engine/egress", "engine/egress/demo", "persistence", "persistence/backup", "persistence/clock", "engine/lang", "engine/scarce"},
		"the binary wires everything and is imported by nothing"},
	{"cmd/troupe/outside", nil,
		"it tests the program as a process, as its users run it"},
	{"cmd/troupe/cgroup", nil,
		"it reads what the system allows the process: what follows from that is not its business"},
	{"cmd/troupe/doctor", []string{"cmd/troupe/cgroup", "http/telemetry", "engine", "engine/browser", "engine/scarce", "persistence"},
		"it judges a machine: which flags say what it is to judge is not its business"},
	{"bench", []string{"http", "http/answer", "cluster", "cluster/member", "cluster/store", "actors", "actors/api", "engine", "engine/browser", "engine/egress", "engine/egress/demo", "persistence", "testkit"},
		"it measures everything and is imported by nothing"},
	{"http/telemetry", []string{"http", "http/live", "actors/api", "actors/outcome", "engine", "engine/scarce"},
		"it hears of what the edge, the actors and the engine do: none of them may know that it listens"},
	{"http", []string{"http/access", "http/address", "http/admin", "http/answer", "http/documents", "http/flows", "http/gate", "http/live", "http/mcp", "http/socket", "actors", "actors/api", "actors/calendar", "actors/outcome", "actors/runs", "actors/view", "engine", "persistence", ".", "engine/host", "engine/lang", "engine/scarce"},
		"the edge towards clients turns requests into messages: it must not know browsers, nor other nodes"},
	{"http/access", []string{"http/answer", "actors/api", "engine", "persistence"},
		"it knows who sends a request: what is asked for is not its business"},
	{"http/address", []string{"engine", "engine/lang"},
		"it makes paths of what clients name: who asks, and who answers, is not its business"},
	{"http/gate", nil,
		"it weighs bytes: what they are, and how requests look, is not its business"},
	{"http/flows", []string{"engine", "persistence", "engine/lang"},
		"it is the stored flows as clients and operators see them: who asks for them is not its business"},
	{"http/mcp", []string{"http/address", "engine", "engine/lang", "persistence"},
		"it is a client of the API in the words of models: how requests are answered, and whether over a network, is not its business"},
	{"http/admin", []string{"http/answer", "http/flows", "actors", "actors/api", "engine", "persistence", "persistence/backup", "engine/lang", "engine/scarce"},
		"the command line runs the same commands where no service listens: it must not know the edge"},
	{"http/answer", []string{"actors/api", "actors/outcome", "actors/runs", "actors/view", "engine", "persistence", "engine/lang"},
		"it has the shapes that every part of the edge sends: it must not know who sends them"},
	{"http/live", []string{"http/access", "http/admin", "http/answer", "http/gate", "actors/api", "actors/view", "engine", "persistence", "persistence/owned", "engine/lang"},
		"it shows what goes on to those who may look: it must not know the server that it is part of"},
	{"http/socket", []string{"http/access", "http/answer", "actors/api", "engine", "engine/attach", "engine/lang", "persistence"},
		"it carries what clients say to sessions: which of it passes is not its business"},
	{"http/documents", nil,
		"it makes pages of texts: which texts, and who reads them, is not its business"},
	{"cluster", []string{"cluster/link", "cluster/member", "actors", "actors/api", "actors/view", "engine"},
		"the edge towards other nodes carries the actors' messages: it must not know clients, nor what is stored"},
	{"cluster/link", []string{"actors/api", "actors/view", "engine"},
		"it carries messages: who is asked for what, and what becomes of the answers, is not its business"},
	{"cluster/store", []string{"persistence/clock", "cluster/member", "persistence", "persistence/owned"},
		"it keeps plain records on all nodes: it must not know what they are about, nor who asks for them"},
	{"cluster/member", []string{"cluster/damage", "engine", "persistence", "engine/scarce"},
		"it makes the process a node: what nodes store and say to each other is not its business"},
	{"cluster/damage", []string{"persistence"},
		"it judges files before anything runs: it must not need what writes them"},
	{"testkit", []string{"actors", "actors/api", "engine", "persistence", "persistence/storetest", "testkit/leaks", "testkit/need"},
		"it stands beside the house and drives the actors as their users do"},
	{"testkit/leaks", nil,
		"it counts what tests leave behind, and is none of it itself"},
	{"testkit/heap", nil,
		"it measures what any code takes of the heap"},
	{"testkit/need", nil,
		"every test that needs a browser, a registry or time imports it"},
	{"testkit/paths", nil,
		"it reads answers as clients do, whatever gave them"},
	{"testkit/standalone", nil,
		"it ends a process that a test has started, whatever that serves"},
	{"testkit/wait", nil,
		"tests of every package wait"},
	{"testkit/golden", nil,
		"it compares what any package writes with what was written before"},
	{"testkit/networks", nil,
		"it cuts off nodes, whatever runs in them"},
	{"testkit/outproxy", nil,
		"it is a proxy as operators have them, whatever uses it"},
	{"testkit/npm", nil,
		"it fetches what tests drive, whatever they test"},
	{"testkit/enginetest", []string{"engine", "testkit"},
		"it tests engines, also those that others write"},
	{"actors", []string{"actors/api", "actors/backlog", "actors/batch", "actors/cron", "actors/fsm", "actors/lease", "actors/notice", "actors/outcome", "actors/records", "actors/runs", "actors/schedule", "actors/view", "persistence/clock", "engine", "engine/lately", "persistence"},
		"they decide who does what when: how requests look and how browsers are driven is not theirs"},
	{"actors/lease", []string{"persistence", "persistence/owned"},
		"it knows when a node may use its sessions: what those are is not its business"},
	{"actors/backlog", []string{"persistence/clock", "engine"},
		"it decides whose turn it is: what is on the disk, and who runs it, is not its business"},
	{"actors/batch", []string{"actors/api", "actors/outcome", "actors/records", "engine", "persistence"},
		"it stands above the queue: which task runs where and when is not its business"},
	{"actors/cron", []string{"actors/api", "actors/calendar", "actors/records", "persistence/clock", "engine", "persistence"},
		"it stands above the queue and the batches: it says when, and what becomes of a task is not its business"},
	{"actors/calendar", nil,
		"it computes times: what is to happen at them is not its business"},
	{"actors/notice", []string{"actors/api", "actors/outcome", "actors/records", "persistence/clock", "engine", "persistence"},
		"it sends notices of what has ended: who ended it, and how requests look, is not its business"},
	{"actors/outcome", []string{"actors/api", "engine"},
		"it says whether a task has failed: what counts, repeats, tells or colours that asks it, so it knows none of them"},
	{"actors/runs", []string{"actors/api", "actors/outcome", "engine", "engine/lang", "persistence", "persistence/owned", "persistence/sealed"},
		"it is the history of tasks that have ended: who runs them, and how requests look, is not its business"},
	{"actors/records", []string{"actors/api", "actors/backlog", "actors/outcome", "actors/runs", "engine", "persistence", "persistence/owned", "persistence/sealed"},
		"it is what outlives the process: who writes it, and when, is not its business"},
	{"actors/schedule", []string{"actors/api", "actors/fsm", "engine"},
		"it selects workers: how they are told, and what they do, is not its business"},
	{"actors/view", []string{"actors/api", "engine"},
		"it shows what goes on: it must not know who does it"},
	{"actors/fsm", []string{"actors/api", "engine"},
		"it decides and does nothing: who carries it out, and when, is not its business"},
	{"actors/api", []string{"engine", "persistence", "engine/scarce"},
		"it is what can be asked of the actors: it must not know how they do it"},
	{"engine", []string{"engine/attach", "engine/browser", "engine/egress", "engine/host", "engine/lately", "engine/mask", "engine/lang"},
		"what a task does must not depend on who plays it or where things are kept"},
	{"engine/attach", nil,
		"it decides what clients may say to a browser: who they are, and how browsers are driven, is not its business"},
	{"engine/host", nil,
		"it spells hosts: whose they are, and what follows from it, is not its business"},
	{"engine/lang", []string{"engine/host"},
		"it reads what clients wrote: which actions there are, and what plays them, is not its business"},
	{"persistence/clock", nil,
		"it waits until a wall clock shows a time: what is to happen then is not its business"},
	{"persistence/backup", []string{"persistence", "persistence/clock"},
		"it copies plain records and files elsewhere and back: what they are about, and when a service starts, is not its business"},
	{"persistence/storetest", []string{"persistence"},
		"it tests stores, also those that others write"},
	{"persistence", []string{"persistence/clock", "persistence/owned", "persistence/sealed"},
		"it keeps plain records: it must not know what they are about"},
	{"persistence/owned", nil,
		"it is a register, which whoever keeps records adds to"},
	{"persistence/sealed", nil,
		"it is a list that all fill who seal: it must not know them"},
	{"engine/browser", []string{"engine/host", "engine/mask", "engine/scarce"},
		"it is Chromium as nouns: it must not know tasks"},
	{"engine/lately", nil,
		"it remembers how long things take: which, and what follows from it, is not its business"},
	{"engine/scarce", nil,
		"it counts what the system refuses: to whom, and what follows from it, is not its business"},
	{"engine/mask", nil,
		"it takes secrets out of texts: where those come from, and where they go, is not its business"},
	{"engine/egress", []string{"engine/host", "engine/scarce"},
		"the way out guards browsers whatever they do: it must not know them, nor tasks"},
	{"engine/egress/demo", nil,
		"the demo shop is a web site like any other"},
	{".", nil,
		"the documents are texts"},
}

// drivers may be imported by these packages of the house only.
var drivers = map[string][]string{
	"github.com/chromedp/":      {"engine/browser"},
	"github.com/nats-io/":       {"cluster", "cluster/link", "cluster/member", "cluster/store"},
	"github.com/minio/minio-go": {"persistence"},
	"github.com/orcaman/":       {"actors"},
	"github.com/robfig/":        {"actors/calendar"},
	"github.com/valyala/":       {"http", "http/access", "http/admin", "http/answer", "http/live", "http/socket"},
	"github.com/yuin/":          {"http/documents", "engine"}, // engine's tests read Markdown with it

	"github.com/modelcontextprotocol/": {"http/mcp"},
}

// alone lists who may break the rule on drivers, and why.
var alone = map[string]string{
	"bench":              "it compares us with a client of the raw protocol",
	"cmd/troupe/outside": "it attaches clients to sessions, one of them chromedp",
}

// source is one Go file.
type source struct {
	path, pkg string // from the root; the folder
	test      bool
	file      *ast.File
	lines     int
}

// sources are the Go files of the house.
func sources(t *testing.T) []source {
	t.Helper()
	all, err := parsed()
	if err != nil || len(all) < 50 {
		t.Fatalf("%d files: %v", len(all), err)
	}
	return all
}

// parsed parses them, once for all tests.
var parsed = sync.OnceValues(func() (all []source, err error) {
	err = filepath.WalkDir(".", func(p string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "testdata" || d.Name() == "node_modules" || strings.HasPrefix(d.Name(), ".") && p != ".") {
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(p, "go.mod")); d.IsDir() && err == nil && p != "." { // a module of its own, which has been written elsewhere
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(p, ".go") {
			return nil
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), p, b, parser.ParseComments)
		if err != nil {
			return err
		}
		all = append(all, source{filepath.ToSlash(p), path.Dir(filepath.ToSlash(p)), strings.HasSuffix(p, "_test.go"), f, bytes.Count(b, []byte("\n"))})
		return nil
	})
	return all, err
})

func (s source) imports() []string {
	var all []string
	for _, i := range s.file.Imports {
		p, _ := strconv.Unquote(i.Path.Value)
		all = append(all, p)
	}
	return all
}

// TestFloors: a package imports only what it stands on.
func TestFloors(t *testing.T) {
	plan := map[string]floor{}
	for _, f := range house {
		plan[f.pkg] = f
	}
	module := modulePath(t)
	for _, s := range sources(t) {
		f, known := plan[s.pkg]
		if !known {
			t.Errorf("%s: the package %s has no floor: give it one in the plan of the house (house_test.go)", s.path, s.pkg)
			continue
		}
		for _, imported := range s.imports() {
			for prefix, owners := range drivers {
				if strings.HasPrefix(imported, prefix) && !slices.Contains(owners, s.pkg) && alone[s.pkg] == "" {
					t.Errorf("%s imports %s: only %v may, so that it can be exchanged", s.path, imported, owners)
				}
			}
			below, ours := strings.CutPrefix(imported, module+"/")
			if imported == module {
				below, ours = ".", true
			}
			switch {
			case !ours || below == s.pkg:
			case forTests(below) && !s.test && s.pkg != "bench" && s.pkg != "testkit":
				t.Errorf("%s imports %s: only tests may, for it is made for them", s.path, below)
			case s.test: // tests may set a scene with anything
			case !slices.Contains(f.on, below):
				t.Errorf("%s imports %s, but %s stands on %v only: %s", s.path, imported, s.pkg, f.on, f.reason)
			}
		}
	}
}

// modulePath is the path of the module, which a fork may change.
func modulePath(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(b), "\n")
	return strings.TrimPrefix(first, "module ")
}

// forTests reports whether a package is made for tests alone.
func forTests(pkg string) bool {
	return pkg == "testkit" || strings.HasPrefix(pkg, "testkit/") || pkg == "persistence/storetest"
}

// TestPackageComments: every package says once what it is for.
func TestPackageComments(t *testing.T) {
	comments := map[string][]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		comments[s.pkg] = append(comments[s.pkg], nil...)
		if s.file.Doc != nil {
			comments[s.pkg] = append(comments[s.pkg], s.path)
		}
	}
	for pkg, where := range comments {
		if len(where) != 1 {
			t.Errorf("%s has %d package comments, want one: %v", pkg, len(where), where)
		}
	}
}

// TestPackageNames: a package that could hold anything soon does.
func TestPackageNames(t *testing.T) {
	vague := []string{"types", "common", "util", "utils", "models", "helpers", "misc", "base", "core", "shared"}
	for _, s := range sources(t) {
		if slices.Contains(vague, strings.TrimSuffix(s.file.Name.Name, "_test")) || slices.Contains(vague, path.Base(s.pkg)) {
			t.Errorf("%s: %s says nothing of what is in it", s.path, s.file.Name.Name)
		}
	}
}

// longest is how many lines a file may have before it has to be asked whether
// it is still one thing.
const longest = 400

// long lists files that were asked and are.
var long = map[string]string{
	"house_test.go": "the plan of the house has a floor for each package",
}

func TestFileSizes(t *testing.T) {
	for _, s := range sources(t) {
		if s.lines > longest && long[s.path] == "" {
			t.Errorf("%s has %d lines: cut it where it is two things, or list it with the reason why it is one", s.path, s.lines)
		}
	}
}

// machine matches what is true on one machine only.
var machine = regexp.MustCompile(`(^|[^A-Za-z0-9._/-])/(root|work|home/[a-z]+)/`)

// TestNoMachinePaths: nothing that is committed names a folder of somebody's
// machine.
func TestNoMachinePaths(t *testing.T) {
	need.NoRace(t)
	listed, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("this is no checkout of git")
	}
	for _, p := range strings.Split(strings.TrimRight(string(listed), "\x00"), "\x00") {
		b, err := os.ReadFile(p)
		if err != nil || bytes.IndexByte(b, 0) >= 0 || p == "house_test.go" || !machine.Match(b) {
			continue // removed, or no text, or nothing to point at
		}
		for i, line := range bytes.Split(b, []byte("\n")) {
			if machine.Match(line) {
				t.Errorf("%s:%d names a path of one machine: %s", p, i+1, line)
			}
		}
	}
}

// named matches a test that a document names.
var named = regexp.MustCompile("`(Test[A-Za-z0-9]+)(?:/[^`]*)?`")

// TestDocumentsNameTests: a promise that names the test which shows it names
// one that is there, and each limit names one.
func TestDocumentsNameTests(t *testing.T) {
	there := map[string]bool{}
	for _, s := range sources(t) {
		for _, d := range s.file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && s.test {
				there[f.Name.Name] = true
			}
		}
	}
	documents, err := filepath.Glob("docs/*.md")
	if err != nil || len(documents) == 0 {
		t.Fatalf("%d documents: %v", len(documents), err)
	}
	for _, p := range documents {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(b), "\n") {
			found := named.FindAllStringSubmatch(line, -1)
			for _, m := range found {
				if !there[m[1]] {
					t.Errorf("%s:%d names %s, which is not there", p, i+1, m[1])
				}
			}
			if p == filepath.Join("docs", "limits.md") && strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| what") && len(found) == 0 {
				t.Errorf("%s:%d: no test shows this limit: %s", p, i+1, line)
			}
		}
	}
}

// TestTheMapIsTrue: the map in CONTRIBUTING.md has every package of the service,
// and each file and function that it leads to is there, and so is what the architecture names.
func TestTheMapIsTrue(t *testing.T) {
	b, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	text := string(b)
	for _, f := range house {
		if f.pkg == "." || f.pkg == "http/documents" || forTests(f.pkg) && f.pkg != "testkit" || strings.HasPrefix(f.pkg, "engine/egress/") {
			continue
		}
		if !strings.Contains(text, "| `"+f.pkg+"` |") {
			t.Errorf("the map has no line for %s", f.pkg)
		}
	}
	_, questions, _ := strings.Cut(text, "## Where is …")
	questions, _, _ = strings.Cut(questions, "\n## ")
	steps := regexp.MustCompile("`([a-z/_]+\\.(?:go|js))`(?:: `(\\w+)`)?").FindAllStringSubmatch(questions, -1)
	if len(steps) < 6 {
		t.Errorf("only %d files were found in the answers", len(steps))
	}
	for _, step := range steps {
		b, err := os.ReadFile(step[1])
		if err != nil {
			t.Error(err)
		} else if step[2] != "" && !regexp.MustCompile(`(?m)^(func (\([^)]*\) )?|type |const )`+step[2]+`\b`).Match(b) {
			t.Errorf("%s has no %s", step[1], step[2])
		}
	}
	b, err = os.ReadFile("docs/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	paths := regexp.MustCompile("`((?:actors|cluster|cmd|engine|http|persistence|testkit)[a-z0-9/_.]*)`").FindAllStringSubmatch(string(b), -1)
	if len(paths) < 40 {
		t.Errorf("only %d paths were found in the architecture", len(paths))
	}
	for _, path := range paths {
		if _, err := os.Stat(path[1]); err != nil && !strings.HasPrefix(path[1], "persistence.") {
			t.Error(err)
		}
	}
}
