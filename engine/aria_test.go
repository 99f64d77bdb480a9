package engine

import (
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"troupe/engine/browser"
	"troupe/testkit/need"
	"troupe/testkit/npm"
)

var ariaRef = regexp.MustCompile(`\[ref=f?[0-9]*e[0-9]+\]`)

// TestSnapshotsAsPlaywrightHasThem compares snapshots with those of Playwright in the
// same browser, on pages of our own: the same lines, with references at the same
// elements. Where ours differ, the page's file NAME.why says why, and NAME.ours
// what ours is.
func TestSnapshotsAsPlaywrightHasThem(t *testing.T) {
	need.All(t)
	need.Registry(t)
	t.Parallel()
	a, err := txtar.ParseFile(filepath.Join("testdata", "aria", "pages.txtar"))
	if err != nil {
		t.Fatal(err)
	}
	s := script{pages: map[string][]byte{}}
	why, ours := map[string]string{}, map[string]string{}
	var names []string
	for _, f := range a.Files {
		name, kind, _ := strings.Cut(f.Name, ".")
		switch text := strings.TrimRight(string(f.Data), "\n"); kind {
		case "why":
			why[name] = text
		case "ours":
			ours[name] = text
		default:
			s.pages["/"+f.Name] = f.Data
			if name != "framed" {
				names = append(names, name)
			}
		}
	}
	if len(names) < 80 {
		t.Errorf("there are %d pages, want at least 80", len(names))
	}
	var different []string
	for _, c := range compareSnapshots(t, s, names) {
		switch {
		case c.ours == c.theirs && why[c.page] != "":
			t.Errorf("%s: it is the same as Playwright's, and a reason says that it differs", c.page)
		case c.ours != c.theirs && why[c.page] == "":
			t.Errorf("%s: it differs from Playwright's\nours:\n%s\nPlaywright's:\n%s\npage:\n%s", c.page, c.ours, c.theirs, s.pages["/"+c.page+".html"])
		case c.ours != c.theirs && c.ours != ours[c.page]:
			t.Errorf("%s: want\n%s\ngot\n%s\nPlaywright's:\n%s", c.page, ours[c.page], c.ours, c.theirs)
		}
		if c.ours != c.theirs {
			different = append(different, c.page)
		}
	}
	slices.Sort(different)
	t.Logf("%d pages, %d the same, %d different for a reason: %s", len(names), len(names)-len(different), len(different), strings.Join(different, " "))
	for _, name := range slices.Sorted(maps.Keys(why)) {
		if !slices.Contains(names, name) {
			t.Errorf("there is a reason for %q, and no page", name)
		}
	}
}

// compared is a page, and its snapshots by us and by Playwright, without numbers.
type compared struct{ page, ours, theirs string }

// compareSnapshots takes the snapshots of pages in the same browser.
func compareSnapshots(t *testing.T, s script, names []string) (out []compared) {
	t.Helper()
	packages, err := npm.Install(filepath.Join("testdata", "aria"), filepath.Join("..", ".cache", "aria"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := browser.Find()
	if err != nil {
		t.Fatal(err)
	}
	base, _ := s.server(t)
	theirs := playwrightSnapshots(t, packages, path, base, names)
	for part := range slices.Chunk(names, 12) {
		ours := ownSnapshots(t, base, part)
		for _, name := range part {
			out = append(out, compared{name, ariaRef.ReplaceAllString(ours[name], "[ref]"), ariaRef.ReplaceAllString(theirs[name], "[ref]")})
		}
	}
	return out
}

// playwrightSnapshots are Playwright's, by page.
func playwrightSnapshots(t *testing.T, packages, browser, url string, names []string) (out map[string]string) {
	t.Helper()
	args := []string{packages, browser, url}
	for _, n := range names {
		args = append(args, n+".html")
	}
	pages := map[string]string{}
	playwright(t, "snapshots.cjs", &pages, args...)
	out = map[string]string{}
	for page, text := range pages {
		out[strings.TrimSuffix(page, ".html")] = text
	}
	return out
}

// ownSnapshots are ours, by page.
func ownSnapshots(t *testing.T, url string, names []string) map[string]string {
	t.Helper()
	var actions []string
	for _, n := range names {
		actions = append(actions, fmt.Sprintf(`{"open":"%s/%s.html"},{"snapshot":{"urls":true},"options":{"push":"all"}}`, url, n))
	}
	got, _ := answer(t, `{"actions":[`+strings.Join(actions, ",")+`,{"getSavedData":"all"}]}`, given{})
	data, ok := got["data"].(map[string]any)
	if !ok {
		t.Fatalf("%v", got)
	}
	out := map[string]string{}
	for i, v := range data["all"].([]any) {
		out[names[i]] = v.(map[string]any)["snapshot"].(string)
	}
	return out
}
