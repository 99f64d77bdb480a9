package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"time"
)

// pageWorks are workloads on pages as the web has them. Their pages are in pages_site.go.
var pageWorks = []work{
	{"W9", "open a page of 151 resources over HTTPS and HTTP/2, getText", one(func(b string) string {
		return `{"open":"` + b + `/heavy"},{"getText":"#h"}`
	}, is(`"Heavy"`))},
	{"W10", "open an application of 2 MB of script, wait until it has drawn a list, open an entry, getText", one(func(b string) string {
		entry := "#operations-things-read7"
		return `{"open":"` + b + `/app"},{"waitForElement":"` + entry + `"},{"click":"` + entry + ` .opblock-summary-control"},` +
			`{"waitForElement":"` + entry + ` .opblock-description"},{"getText":"` + entry + ` .opblock-description"}`
	}, is(`"What reads thing 7."`))},
	{"W11", "open, PDF of 20 pages", one(func(b string) string {
		return `{"open":"` + b + `/report"},{"pdf":{}}`
	}, isPDF)},
	{"W12", "open, a form of six fields with validation: fill, fill, fill, fill, selectOption, check, click, wait, getText", one(func(b string) string {
		return `{"open":"` + b + `/form"},{"fill":["#name","Ada Lovelace"]},{"fill":["#mail","ada@example.com"]},{"fill":["#phone","+44 20 7946 0000"]},` +
			`{"fill":["#age","36"]},{"selectOption":["#country","gb"]},{"check":"#terms"},{"click":"#send"},{"waitForElement":".done"},{"getText":".done"}`
	}, is(`"Thank you, Ada Lovelace of gb, 36"`))},
}

var aPDFPage = regexp.MustCompile(`/Type\s*/Page\b`)

func isPDF(c *client, d json.RawMessage) error {
	b, err := made(c, d)
	if err != nil {
		return err
	}
	if n := len(aPDFPage.FindAll(b, -1)); n != 20 {
		return fmt.Errorf("want a PDF of 20 pages, not %d", n)
	}
	return nil
}

// runPages measures pages as the web has them: many resources over HTTPS, much script,
// paper and forms.
func runPages(b *bench, p *part) error {
	stop, err := pageSite(b)
	if err != nil {
		return err
	}
	defer stop()
	blocking := kind{"troupe, with block", startBlocking}
	kinds := slices.Clone(three)
	if b.withPeers {
		kinds = append(kinds, stock...)
	}
	all := []string{"W9", "W10", "W11", "W12"}
	sides := names(kinds)
	kinds = append(kinds, blocking)
	groups := []group{
		{n: 1, kinds: kinds, works: pageWorks, cells: []cell{
			{works: all, sides: sides, tasks: 2},
			{works: []string{"W9"}, sides: []string{blocking.name}, tasks: 2},
		}},
		{n: 4, kinds: kinds, works: pageWorks, cells: []cell{
			{works: all, sides: sides, load: true},
			{works: []string{"W9"}, sides: []string{blocking.name}, load: true},
		}},
	}
	window := time.Second
	if b.quick {
		groups = groups[:1]
	}
	r := &results{of: map[key]*result{}, memory: map[key]float64{}}
	p.say("%s", origin(b))
	for _, g := range groups {
		if err := g.measure(b, r, b.rounds, window); err != nil {
			return err
		}
	}
	for _, one := range r.of {
		slices.Sort(one.times)
	}
	p.say("Rounds: %d. Idle: 2 tasks a round, %v between two. Load: %v a round. %s Ratios are troupe ÷ the other: below 1, troupe needs less. With `block`, W9 leaves out pictures, fonts and the scripts of another site.", b.rounds, b.idle, window, unitsOfTables)
	for i, g := range groups {
		p.say("### %s, %s", clientsOf(g.n), []string{"tasks with idle time between", "back to back at full load"}[i])
		p.add(g.table(r, i > 0))
	}
	return nil
}

// startBlocking starts the service for tasks that block what W9 does not need.
func startBlocking(b *bench, n int) (*side, error) {
	s, err := startService(b, n)
	if err == nil {
		for _, c := range s.clients {
			c.config = `"config":{"block":{"types":["image","font"],"thirdParty":["script"]}},`
		}
	}
	return s, err
}
