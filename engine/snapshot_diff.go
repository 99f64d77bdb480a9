package engine

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	"troupe/engine/browser"
)

func sortMatches(all []foundNode) {
	sort.SliceStable(all, func(i, j int) bool { return all[i].Score > all[j].Score })
}

// before gives the last snapshot of the same kind in the same document, and keeps this
// one for the next. One that goes on is a part of the one before it.
func (p *surveying) before(lines []snapshotLine) *pastSnapshot {
	v := p.value
	kind := fmt.Sprint(p.interactive, v.seen, v.boxes, v.urls, len(p.place))
	if v.within != nil {
		kind += " " + v.within.String()
	}
	if v.depth != nil {
		kind += fmt.Sprint(" depth ", *v.depth)
	}
	for _, part := range p.place {
		kind += " in " + part.As
	}
	now := &pastSnapshot{tab: p.tab, document: p.page.Document, kind: kind, url: p.page.URL, title: p.page.Title, interactive: p.interactive}
	size := 0
	now.lines = make([]shotLine, 0, len(lines))
	for i, l := range lines {
		now.lines = append(now.lines, shotLine{ref: l.ref, parent: refAround(lines, i), head: l.head})
		size += len(l.head)
	}
	rs := p.run.refs
	rs.mu.Lock()
	defer rs.mu.Unlock()
	at := slices.IndexFunc(rs.shots, func(s *pastSnapshot) bool { return s.tab == now.tab && s.kind == kind })
	var last *pastSnapshot
	if at >= 0 {
		if last = rs.shots[at]; last.document != now.document {
			last = nil
		}
		rs.shots = slices.Delete(rs.shots, at, at+1)
	}
	if size <= maxShotText {
		rs.shots = append(rs.shots, now)
	}
	if len(rs.shots) > maxShots {
		rs.shots = slices.Delete(rs.shots, 0, 1)
	}
	return last
}

// lastInteractive reports whether the last snapshot of a tab was an interactive one: what
// has changed is told in the same way.
func (rs *references) lastInteractive(tab *browser.Tab) bool {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	for _, s := range slices.Backward(rs.shots) {
		if s.tab == tab {
			return s.interactive
		}
	}
	return false
}

// refAround is the reference of the nearest line around one.
func refAround(lines []snapshotLine, i int) int {
	for at := lines[i].parent; at >= 0; at = lines[at].parent {
		if lines[at].ref > 0 {
			return lines[at].ref
		}
	}
	return 0
}

// changes are the lines that were not there before, or not so, each with the lines that
// it is below.
func (p *surveying) changes(out *treeResult, before *pastSnapshot, lines []snapshotLine) []snapshotLine {
	heads, texts := map[int]string{}, map[shotLine]int{}
	for _, l := range before.lines {
		if l.ref > 0 {
			heads[l.ref] = l.head
		} else {
			texts[l]++
		}
	}
	marks := make([]string, len(lines))
	shown := make([]bool, len(lines))
	some := false
	for i, l := range lines {
		if l.ref > 0 {
			old, was := heads[l.ref]
			delete(heads, l.ref)
			switch {
			case !was:
				marks[i] = "+"
			case strings.TrimSuffix(old, ":") != strings.TrimSuffix(l.head, ":"):
				marks[i] = "~"
			}
		} else if key := (shotLine{parent: refAround(lines, i), head: l.head}); texts[key] > 0 {
			texts[key]--
		} else {
			marks[i] = "+"
		}
		if l.quiet && (i > 0 && repeats(lines[i-1], l) || i+1 < len(lines) && repeats(lines[i+1], l)) {
			marks[i] = ""
		}
		if marks[i] != "" {
			some = true
			for at := i; at >= 0 && !shown[at]; at = lines[at].parent {
				shown[at] = true
			}
		}
	}
	gone := make([]int, 0, len(heads))
	for ref := range heads {
		gone = append(gone, ref)
	}
	slices.Sort(gone)
	out.GoneMore = max(0, len(gone)-maxGone)
	for _, ref := range gone[:min(len(gone), maxGone)] {
		out.Gone = append(out.Gone, referenceOf(ref))
	}
	for _, n := range texts {
		some = some || n > 0
	}
	some = some || len(gone) > 0
	out.Changed = &some
	for i := range lines {
		lines[i].mark = marks[i]
	}
	return chosenLines(lines, func(i int) bool { return shown[i] })
}

// repeats reports whether a text is the name of a line, such as that of a label.
func repeats(line, text snapshotLine) bool {
	return line.ref > 0 && strings.Contains(line.head, " "+quotedName(strings.TrimPrefix(text.head, "text: ")))
}

// withoutQuiet are the lines that are shown also where nothing has changed.
func withoutQuiet(lines []snapshotLine) []snapshotLine {
	if !slices.ContainsFunc(lines, func(l snapshotLine) bool { return l.quiet }) {
		return lines
	}
	return chosenLines(lines, func(i int) bool { return !lines[i].quiet })
}

// chosenLines are some of the lines. A line that is chosen has those that it is below.
func chosenLines(lines []snapshotLine, chosen func(int) bool) []snapshotLine {
	kept := make([]snapshotLine, 0, len(lines))
	place := make([]int, len(lines))
	for i, l := range lines {
		if !chosen(i) {
			continue
		}
		place[i] = len(kept)
		if l.parent >= 0 {
			l.parent = place[l.parent]
		}
		kept = append(kept, l)
	}
	return kept
}
