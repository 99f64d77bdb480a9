package main

import (
	"errors"
	"fmt"
	"slices"
)

// maxSlower is by how much a task may take longer than with an older build.
const maxSlower = 1.05

// olderBuild is the service as the program of -before.
var olderBuild = kind{"before", func(b *bench, n int) (*side, error) {
	now := b.service
	defer func() { b.service = now }()
	b.service = b.before
	return startService(b, n)
}}

// runBuilds compares the service with an older build of it.
func runBuilds(b *bench, p *part) error {
	if b.before == "" {
		return errors.New("want -before, the program of an older build")
	}
	p.say("%s", origin(b))
	p.say("Two builds of the service with one worker each. %s", howPaired)
	for _, w := range works {
		if !slices.Contains(simple, w.name) {
			continue
		}
		r, err := comparePair(b, w, olderBuild, kind{"now", startService})
		if err != nil {
			return err
		}
		p.say("### %s: %s", w.name, w.what)
		p.add(r.table(func(more, first float64) string {
			return verdict(1+more/first, maxSlower, "at most %.2f ×")
		}))
		fmt.Printf("%s measured\n", w.name)
	}
	return nil
}
