package engine

import (
	"fmt"
	"strconv"
	"strings"
	"sync"

	"troupe/engine/browser"
)

// references are the numbers by which the snapshots of a session name elements. None is
// given twice. Each page script knows the elements of its own numbers; here is where
// each script is.
type references struct {
	mu     sync.Mutex
	last   int // the highest number that was given
	spans  []referenceSpan
	called map[int]calledAs // what the elements of the latest numbers are called
	shots  []*pastSnapshot  // the latest snapshots, for what has changed since
}

// referenceSpan is the numbers that a page script was given at a time.
type referenceSpan struct {
	from, to int // to is the last one
	tab      *browser.Tab
	place    []browser.Part // the way to its frame
}

type calledAs struct{ role, name string }

const (
	maxReferenceSpans = 5000
	maxCalled         = 20_000
	maxCalledName     = 80
)

// free is the next number.
func (rs *references) free() int {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.last + 1
}

// gave takes in that a page script has given numbers up to the next free one.
func (rs *references) gave(tab *browser.Tab, place []browser.Part, next int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if next-1 <= rs.last {
		return
	}
	rs.spans = append(rs.spans, referenceSpan{rs.last + 1, next - 1, tab, place})
	if len(rs.spans) > maxReferenceSpans {
		rs.spans = append([]referenceSpan(nil), rs.spans[len(rs.spans)-maxReferenceSpans/2:]...)
	}
	rs.last = next - 1
}

// calls remembers what an element is called.
func (rs *references) calls(number int, role, name string) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.called == nil || len(rs.called) >= maxCalled {
		rs.called = map[int]calledAs{}
	}
	if len(name) > maxCalledName {
		name = strings.ToValidUTF8(name[:maxCalledName], "")
	}
	rs.called[number] = calledAs{role, strings.Clone(name)} // it is a part of all that the page said
}

func (rs *references) calledAs(number int) (as calledAs, known bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	as, known = rs.called[number]
	return as, known
}

// restore goes on behind the numbers of a session that was saved.
func (rs *references) restore(last int) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.last = max(rs.last, last)
}

// way is where the element of a reference is, in the tab that is current.
func (rs *references) way(ref string, tab *browser.Tab) ([]browser.Part, error) {
	n := referenceNumber(ref)
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if n > rs.last {
		return nil, Problemf(CodeElementGone, "%q was never given in this session: take a snapshot, and use the references in it", ref)
	}
	for i := len(rs.spans) - 1; i >= 0; i-- {
		s := rs.spans[i]
		if n < s.from || n > s.to {
			continue
		}
		if s.tab != tab {
			return nil, Problemf(CodeElementGone, "%q is in another tab than the current one, or its tab was closed: switch to it, or take a new snapshot", ref)
		}
		return s.place, nil
	}
	return nil, Problemf(CodeElementGone, "%q is gone with the page that it was on: take a new snapshot", ref)
}

// referenceNumber is the number of a reference such as "@e5".
func referenceNumber(ref string) int {
	n, _ := strconv.Atoi(strings.TrimPrefix(ref, "@e"))
	return n
}

func referenceOf(n int) string { return fmt.Sprintf("@e%d", n) }
