package outside_test

import (
	"cmp"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// described is where the documents say that the service is.
const described = "http://127.0.0.1:8080"

// describedMetrics is where they say that its metrics are.
const describedMetrics = "http://127.0.0.1:9464"

// TestEveryExampleOfTheDocuments does what the documents of the repository say,
// from the top of each to its end, with a service of its own. A block of JSON
// that is a request is posted, a block of commands is run in a shell, and a
// block of JSON right after either is the answer that must come. A block that is
// neither fails: whoever writes an example finds it tested.
//
// In commands TOKEN is the token of the first start, and TASK, SESSION, WORKER,
// NOTICE, ENDPOINT, FILE, TICKET, TICKET_ID and LINK_ID are what the answers so far had last as
// taskId, sessionId, workerId, noticeId, endpointId, url, ticket and its id, and the id of a link.
//
// Of the pages that only play tasks every sixth one is read, unless all tests are asked for.
func TestEveryExampleOfTheDocuments(t *testing.T) {
	t.Parallel()
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	data := filepath.Join(dir, "data")
	c, base := serve(t, data, "--log-level=error")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatal("the first start shows no token")
	}
	for _, page := range []string{"/", "/docs/start"} { // where a new user is sent
		if status, _ := fetch(t, base+page, ""); status != 200 || !regexp.MustCompile(regexp.QuoteMeta(base+page)+`[,\s]`).MatchString(c.out.String()) {
			t.Errorf("%s%s answers %d, and the first start says %s", base, page, status, strings.ReplaceAll(c.out.String(), token[1], "TOKEN"))
		}
	}
	n := 0
	var inOrder, pages []string
	for _, doc := range documents(t) {
		if filepath.Base(filepath.Dir(doc)) == runbook { // TestRunbook does what it says
			continue
		}
		if filepath.Base(doc) == "backup.md" { // TestBackupByTheDocuments does
			continue
		}
		n += len(blocksOf(t, doc))
		if folder := filepath.Base(filepath.Dir(doc)); folder == "actions" || folder == "recipes" || filepath.Base(doc) == "examples.md" {
			pages = append(pages, doc)
		} else {
			inOrder = append(inOrder, doc)
		}
	}
	if n < 100 || len(pages) < 30 {
		t.Errorf("there are %d examples, and %d pages of actions: the documents are not where they were", n, len(pages))
	}
	read := func(t *testing.T, r *reader, doc string) {
		for _, b := range blocksOf(t, doc) {
			if err := r.read(b); err != nil {
				t.Errorf("%s:%d: %v\n%s", doc, b.line, err, b.text)
			}
		}
		if err := r.finish(); err != nil {
			t.Errorf("%s: %v", doc, err)
		}
	}
	// What the documents say of workers is true while nobody else has any, so the
	// pages that play tasks only have a service of their own.
	t.Run("documents", func(t *testing.T) {
		t.Parallel()
		for _, doc := range inOrder {
			t.Run(doc, func(t *testing.T) { read(t, newReader(t, base, token[1], data), doc) })
		}
	})
	t.Run("pages", func(t *testing.T) {
		t.Parallel()
		const workers = 2
		data := filepath.Join(dir, "pages")
		c, base := serve(t, data, "--log-level=error", fmt.Sprint("--workers=", workers))
		token := tokenLine.FindStringSubmatch(c.out.String())
		if token == nil {
			t.Fatal("the first start shows no token")
		}
		storeExampleFlow(t, newReader(t, base, token[1], data))
		free := make(chan struct{}, workers)
		for i, doc := range pages {
			if !need.Nth(i, 6) {
				continue
			}
			t.Run(doc, func(t *testing.T) {
				t.Parallel()
				free <- struct{}{}
				defer func() { <-free }()
				read(t, newReader(t, base, token[1], data), doc)
			})
		}
	})
}

// storeExampleFlow stores the flow that the documents run, as the first command of its
// page does.
func storeExampleFlow(t *testing.T, r *reader) {
	t.Helper()
	blocks := blocksOf(t, "../../../docs/flows.md")
	if len(blocks) == 0 || !strings.Contains(blocks[0].text, "/v1/flows/") {
		t.Fatal("the page of flows does not begin with one")
	}
	err := r.read(blocks[0])
	if err == nil {
		err = r.finish()
	}
	if err != nil {
		t.Fatal(err)
	}
}

// documents are the pages that people read, by their paths from here.
func documents(t *testing.T) (all []string) {
	t.Helper()
	const root = "../../.."
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if hidden := strings.HasPrefix(d.Name(), ".") && path != root; d.IsDir() && (hidden || slices.Contains([]string{"node_modules", "testdata", "data"}, d.Name())) {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			all = append(all, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A block is a fenced part of a document.
type block struct {
	line       int
	lang, text string
	page       string // the page of the demo shop that it is for, where the text before it names one
}

var (
	fence  = regexp.MustCompile("^```(\\w*)\\s*$")
	onPage = regexp.MustCompile("^On `(http\\S+)`:$")
)

func blocksOf(t *testing.T, doc string) (all []block) {
	t.Helper()
	b, err := os.ReadFile(doc)
	if err != nil {
		t.Fatal(err)
	}
	var in *block
	page := ""
	for i, line := range strings.Split(string(b), "\n") {
		m := fence.FindStringSubmatch(line)
		switch {
		case in != nil && line == "```":
			all = append(all, *in)
			in, page = nil, ""
		case in != nil:
			in.text += line + "\n"
		case m != nil:
			in = &block{line: i + 1, lang: m[1], page: page}
		case onPage.MatchString(line):
			page = onPage.FindStringSubmatch(line)[1]
		}
	}
	if in != nil {
		t.Errorf("%s:%d: the block does not end", doc, in.line)
	}
	return all
}

// TestEveryRouteHasAnExample wants a line in the documents that shows how each
// route of the service is used.
func TestEveryRouteHasAnExample(t *testing.T) {
	source, err := os.ReadFile("../../../http/routes.go")
	if err != nil {
		t.Fatal(err)
	}
	_, all, _ := strings.Cut(string(source), ") routes() []route {")
	all, _, _ = strings.Cut(all, "\n}\n")
	var asked []string
	for _, b := range blocksOf(t, "../../../docs/api.md") {
		if b.lang == "sh" {
			asked = append(asked, logicalLines(b.text)...)
		}
	}
	// How the code writes an address, and what stands there in an example.
	written := strings.NewReplacer(`"`, "", "+", "", "{taskId}", "$TASK", "{id}", "$", "{object}", "$", "{order}", "", "{name}", "", "{page}", "",
		"tasksPath", "/v1/tasks/", "validatePath", "/v1/validate", "ticketsPath", "/v1/tickets", "linksPath", "/v1/links", "feedPath", "/v1/events", "livePath", "/v1/live/",
		"mcpPath", "/mcp", "llmsPath", "/llms.txt", "assetsPath", "/app/", "docsPath", "/docs/", "documents.SearchPath", "search", "operatorPath", "/v1/operator/")
	found := regexp.MustCompile(`(?:(?:token|credential|operator|open)Route\("([A-Z]+)", |\.callRoute\()([^,]+),`).FindAllStringSubmatch(all, -1)
	if len(found) < 25 {
		t.Fatalf("only %d routes: %v", len(found), found)
	}
	for _, m := range found {
		method, address := cmp.Or(m[1], "POST"), described+written.Replace(m[2]) // calls are all of one method
		switch m[2] {
		case `filesPath+"{file}"`:
			address = "$FILE"
		case `"/v1"`:
			address += "/" // the same
		}
		whole := regexp.MustCompile(regexp.QuoteMeta(address) + `(["'? \n]|$)`) // and not the beginning of another
		if strings.HasSuffix(address, "/") && address != described+"/" && address != described+"/v1/" || strings.HasSuffix(address, "$") {
			whole = regexp.MustCompile(regexp.QuoteMeta(address))
		}
		if !slices.ContainsFunc(asked, func(line string) bool {
			used := "GET"
			if other := regexp.MustCompile(` -X ([A-Z]+) `).FindStringSubmatch(line); other != nil {
				used = other[1]
			} else if strings.Contains(line, " -d ") || strings.Contains(line, " -F ") {
				used = "POST"
			}
			return used == method && whole.MatchString(line)
		}) {
			t.Errorf("docs/api.md has no example of %s %s: want a curl of %s", method, m[2], address)
		}
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	code    = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
)

// TestEveryLinkLeadsSomewhere follows the links between the documents.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	n := 0
	headings := map[string]map[string]bool{}
	for _, doc := range documents(t) {
		b, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(string(b), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			n++
			name, anchor, _ := strings.Cut(m[1], "#")
			target := doc
			if name != "" {
				target = filepath.Join(filepath.Dir(doc), name)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
				continue
			}
			if anchor == "" {
				continue
			}
			if headings[target] == nil {
				at, err := os.ReadFile(target)
				if err != nil {
					t.Fatal(err)
				}
				headings[target] = anchors(string(at))
			}
			if !headings[target][anchor] {
				t.Errorf("%s links to %s, but %s has no such heading", doc, m[1], target)
			}
		}
	}
	if n < 50 {
		t.Errorf("there are %d links: the documents are not where they were", n)
	}
}

var noAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)

// anchors are the names of a document's headings, as sites that show it make
// them.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		name := strings.ToLower(strings.ReplaceAll(m[1], "`", ""))
		name = noAnchor.ReplaceAllString(name, "")
		all[strings.ReplaceAll(name, " ", "-")] = true
	}
	return all
}
