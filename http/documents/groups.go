package documents

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
)

// A Group is a part of the contents.
type Group struct {
	Title string
	Pages []*Page // in the order in which they are read
}

// groups lists the documents of each group. Those of a folder follow its own page,
// which is the folder's README, or the document that is called like the folder.
var groups = []struct {
	title string
	files []string
}{
	{"Begin", []string{"README.md", "docs/web.md", "docs/examples.md", "docs/recipes/README.md"}},
	{"Reference", []string{"docs/actions.md", "docs/pointing.md", "docs/snapshots.md", "docs/texts.md", "docs/flows.md", "docs/profiles.md", "docs/api.md", "docs/command-line.md", "docs/surroundings.md", "docs/agents.md", "docs/attach.md", "docs/attach-commands.md", "docs/queue.md", "docs/batches.md", "docs/schedules.md", "docs/notices.md", "docs/runs.md", "docs/errors.md", "docs/limits.md", "docs/states.md"}},
	{"Operate", []string{"docs/operations.md", "docs/backup.md", "docs/deployment.md", "docs/cluster.md", "docs/troubleshooting.md", "docs/runbook/README.md", "docs/security.md", "docs/isolation.md", "docs/reliability.md", "docs/performance.md"}},
	{"Project", []string{"CHANGELOG.md", "docs/glossary.md", "docs/architecture.md", "docs/decisions/README.md", "docs/coverage.md", "docs/dependencies.md", "CONTRIBUTING.md", "AGENTS.md", "SECURITY.md"}},
}

// titles are what documents are called in the contents where their own headings
// say too little there.
var titles = map[string]string{
	"README.md":                "Quick start",
	"docs/decisions/README.md": "Decisions",
	"docs/coverage.md":         "Test coverage",
	"SECURITY.md":              "Reporting a vulnerability",
	"AGENTS.md":                "Agents that build",
}

// place puts documents in their groups. Documents without a group come at the
// end, so that readers still find them.
func place(files fs.FS) (placed []Group, paths map[string]*Page, err error) {
	paths = map[string]*Page{}
	add := func(group *Group, name string, parent *Page) *Page {
		p := &Page{Path: address(name), Title: titles[name], Parent: parent, file: name}
		paths[name] = p
		if parent == nil {
			group.Pages = append(group.Pages, p)
		} else {
			parent.Pages = append(parent.Pages, p)
		}
		return p
	}
	for _, s := range groups {
		group := Group{Title: s.title}
		for _, name := range s.files {
			p := add(&group, name, nil)
			folder := strings.TrimSuffix(name, ".md")
			if path.Base(name) == "README.md" {
				folder = path.Dir(name)
			}
			if folder == "." {
				continue
			}
			below, err := fs.Glob(files, folder+"/*.md")
			if err != nil {
				return nil, nil, fmt.Errorf("list %s: %w", folder, err)
			}
			for _, b := range below {
				if b != name {
					add(&group, b, p)
				}
			}
		}
		placed = append(placed, group)
	}
	last := &placed[len(placed)-1]
	err = fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" && paths[name] == nil {
			add(last, name, nil)
		}
		return err
	})
	return placed, paths, err
}

// address is where a document is shown, below the address of all.
func address(name string) string {
	name = strings.TrimSuffix(name, ".md")
	if below, ok := strings.CutPrefix(name, "docs/"); ok {
		return strings.TrimSuffix(below, "/README")
	}
	// Those of the root are written large, and one of them would be taken for a
	// document of the folder otherwise.
	if name == "README" {
		return "start"
	}
	if name == "AGENTS" {
		return "building"
	}
	if name == "SECURITY" {
		return "reporting"
	}
	return strings.ToLower(name)
}

// inside are the pages of a group with those below them, in order.
func (s Group) inside() (all []*Page) {
	for _, p := range s.Pages {
		all = append(all, p)
		all = append(all, p.Pages...)
	}
	return all
}
