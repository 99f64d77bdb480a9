package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"
)

// part is one part of the report: Markdown that is shown as it comes and can
// be written into a document afterwards.
type part struct {
	name     string
	text     strings.Builder
	show     io.Writer
	appendix *part // results of the same measurement that have their own place
}

// say adds a paragraph.
func (p *part) say(format string, args ...any) {
	p.write(fmt.Sprintf(format, args...) + "\n\n")
}

func (p *part) add(t table) { p.write(t.String() + "\n") }

func (p *part) write(s string) {
	p.text.WriteString(s)
	fmt.Fprint(p.show, s)
}

// table is one of Markdown whose columns can also be read on a terminal.
type table struct {
	head []string
	rows [][]string
}

func (t *table) row(cells ...string) {
	t.rows = append(t.rows, append(cells, make([]string, len(t.head)-len(cells))...))
}

func (t table) String() string {
	wide := make([]int, len(t.head))
	all := append([][]string{t.head}, t.rows...)
	for _, r := range all {
		for i, c := range r {
			wide[i] = max(wide[i], utf8.RuneCountInString(c), 3)
		}
	}
	rule := make([]string, len(wide))
	for i, w := range wide {
		rule[i] = strings.Repeat("-", w)
	}
	all = append([][]string{t.head, rule}, t.rows...)
	var b strings.Builder
	for _, r := range all {
		for i, c := range r {
			b.WriteString("| " + c + strings.Repeat(" ", wide[i]-utf8.RuneCountInString(c)) + " ")
		}
		b.WriteString("|\n")
	}
	return b.String()
}

// The places of the parts in a document: what stands between is made anew.
func marks(name string) (begin, end string) {
	return "<!-- bench " + name + ": generated -->", "<!-- bench " + name + ": end -->"
}

// insert puts a part's text between its marks.
func insert(doc, name, text string) (string, error) {
	begin, end := marks(name)
	i := strings.Index(doc, begin)
	j := strings.Index(doc, end)
	if i < 0 || j < i || strings.Count(doc, begin) != 1 || strings.Count(doc, end) != 1 {
		return "", fmt.Errorf("want the lines %q and %q once each, in this order", begin, end)
	}
	return doc[:i+len(begin)] + "\n\n" + strings.TrimSpace(text) + "\n\n" + doc[j:], nil
}

// writeParts puts what was measured into a document. Parts without marks in it
// go to their own documents.
func writeParts(path string, parts []*part) error {
	for _, p := range parts {
		to, doc := path, ""
		b, err := os.ReadFile(to)
		if begin, _ := marks(p.name); err == nil && !strings.Contains(string(b), begin) {
			to = documentOf(p.name)
			b, err = os.ReadFile(to)
		}
		if err != nil {
			return err
		}
		if doc, err = insert(string(b), p.name, p.text.String()); err != nil {
			return fmt.Errorf("writing %s: %w", to, err)
		}
		if err := os.WriteFile(to, []byte(doc), 0o644); err != nil {
			return err
		}
	}
	return nil
}

// origin says when, with what and on what the numbers were taken. They mean
// nothing without it.
func origin(b *bench, packages ...string) string {
	versions := []string{runtime.Version(), version(b.browser, "--version")}
	if b.withPeers {
		versions = append(versions, "Node.js "+version("node", "--version"))
		if packages == nil {
			packages = []string{"puppeteer-core", "playwright-core"}
		}
		for _, name := range packages {
			versions = append(versions, name+" "+locked(name))
		}
	}
	if rev := revision(); rev != "" {
		versions = append(versions, "commit "+rev)
	}
	return fmt.Sprintf("Measured on %s on %d processors (%s), %s/%s, with %s, by `%s`.", time.Now().UTC().Format("2006-01-02"),
		runtime.NumCPU(), processor(), runtime.GOOS, runtime.GOARCH, strings.Join(versions, ", "), b.command)
}

func version(program string, args ...string) string {
	out, err := exec.Command(program, args...).Output()
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(out))
}

// locked is a peer's version in its lock file.
func locked(name string) string {
	lock, _ := peerFiles.ReadFile("peers/package-lock.json")
	more, _ := agentFiles.ReadFile("agents/package-lock.json")
	lock = append(lock, more...)
	m := regexp.MustCompile(`"node_modules/` + name + `": \{\s*"version": "([^"]+)"`).FindSubmatch(lock)
	if m == nil {
		return "unknown"
	}
	return string(m[1])
}

func revision() string {
	out, err := exec.Command("git", "rev-parse", "--short", "HEAD").Output()
	if err == nil {
		return strings.TrimSpace(string(out))
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		return info.Main.Version
	}
	return ""
}

var modelName = regexp.MustCompile(`(?m)^model name\s*:\s*(.+)$`)

func processor() string {
	b, _ := os.ReadFile("/proc/cpuinfo")
	if m := modelName.FindSubmatch(b); m != nil {
		return string(m[1])
	}
	return "unknown model"
}
