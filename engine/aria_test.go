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
	packages, err := npm.Install(filepath.Join("testdata", "aria"), filepath.Join("..", ".cache", "aria"))
	if err != nil {
		t.Fatal(err)
	}
	path, err := browser.Find()
	if err != nil {
		t.Fatal(err)
	}
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
	base, _ := s.server(t)
	theirs := playwrightSnapshots(t, packages, path, base, names)
	var different []string
	for part := range slices.Chunk(names, 12) {
		for name, mine := range ownSnapshots(t, base, part) {
			want := ariaRef.ReplaceAllString(theirs[name], "[ref]")
			mine = ariaRef.ReplaceAllString(mine, "[ref]")
			switch {
			case mine == want && why[name] != "":
				t.Errorf("%s: it is the same as Playwright's, and a reason says that it differs", name)
			case mine != want && why[name] == "":
				t.Errorf("%s: it differs from Playwright's\nours:\n%s\nPlaywright's:\n%s\npage:\n%s", name, mine, want, s.pages["/"+name+".html"])
			case mine != want && mine != ours[name]:
				t.Errorf("%s: want\n%s\ngot\n%s\nPlaywright's:\n%s", name, ours[name], mine, want)
			}
			if mine != want {
				different = append(different, name)
			}
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
