package engine

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// headings of the situations of public reports, in the order of docs/coverage.md, by the
// name of their file.
var headings = []struct{ file, title, actions string }{
	{"keyboard", "Keys", "`press`, `type`, `focus`"},
	{"pointer", "Pointing", "`click`, `hover`, `tap`, `doubleClick`, `rightClick`"},
	{"choices", "Choices", "`check`, `uncheck`, `selectOption`"},
	{"editing", "Editing and dragging", "`fill`, `paste`, `drag`"},
	{"scrolling", "Scrolling", "`scrollTo`, `loop`, `while`, `until`"},
	{"frames", "Frames", "`iframe` beside other actions"},
	{"windows", "Windows and dialogs", "`closeTab`, `onDialog`, new tabs"},
	{"history", "History", "`back`, `forward`, pages that lead on"},
	{"downloads", "Files", "`waitForDownload`, `uploadFile`"},
	{"tables", "Tables and texts", "`getTable`, `getText`, `getAttribute`, `getValue`"},
}

// situationsOf reads a file of situations.
func situationsOf(t *testing.T, file string) script {
	t.Helper()
	return readScript(t, filepath.Join("testdata", "situations", file+".txtar"))
}

// TestSituations plays what people who automate pages report in public, as small pages of
// its own. It tries every fifth of them unless all tests are asked for, or it is named.
func TestSituations(t *testing.T) {
	need.Browser(t)
	for _, h := range headings {
		s := situationsOf(t, h.file)
		if len(s.cases) < 10 {
			t.Errorf("%s has %d situations, want 10", h.file, len(s.cases))
		}
		t.Run(h.file, func(t *testing.T) {
			t.Parallel()
			base, other := s.server(t)
			with := s.given(t)
			for i, c := range s.cases {
				if *only != "" && !regexp.MustCompile(*only).MatchString(c.name) || !need.Nth(i, 5) {
					continue
				}
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					fill := strings.NewReplacer("{{url}}", base, "{{other}}", other)
					runCase(t, fill.Replace(c.task), fill.Replace(c.want), with)
				})
			}
		})
	}
}

// situationsTable lists them for docs/coverage.md.
func situationsTable(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("\n## Situations of public reports\n\nPeople who automate pages report these situations in public. Each is a small page and a list of actions in `engine/testdata/situations`. Run one with `go test ./engine -run TestSituations -case 'its title'`.\n\n| heading | actions | situation |\n|---|---|---|\n")
	for _, h := range headings {
		for _, c := range situationsOf(t, h.file).cases {
			fmt.Fprintf(&b, "| %s | %s | %s |\n", h.title, h.actions, c.name)
		}
	}
	return b.String()
}
