package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/engine/lang"
	"troupe/testkit/heap"
	"troupe/testkit/need"
)

// How many bytes a pattern and a selector may have.
const (
	longestPattern  = 4 << 10
	longestSelector = 8 << 10
)

// hugePatterns are short and would become hundreds of thousands of steps; the last
// one is as large as one may be.
var hugePatterns = map[string]string{
	"repeated":          strings.Repeat("a{1000}", longestPattern/7),
	"repeated in turns": strings.Repeat("(((a?){10}){10}){10}", longestPattern/20),
	"at least":          strings.Repeat("(a|b){900,}", longestPattern/11),
	"optional":          strings.Repeat("a{0,1000}", longestPattern/9),
	"classes":           strings.Repeat(`[^\x00]\pL`, longestPattern/10),
	"the largest":       strings.Repeat("(a?){200}", 8),
}

// TestAttackLargePatterns: a request of patterns that repeat themselves is refused or
// read with little memory, in little time. It measures memory, so nothing runs beside.
func TestAttackLargePatterns(t *testing.T) {
	need.Time(t)
	need.All(t)
	need.NoRace(t)
	for name, p := range hugePatterns {
		p, _ := json.Marshal(p)
		for action, one := range map[string]string{
			"waitForResponse":   fmt.Sprintf(`{"waitForResponse":%s}`, p),
			"/re/flags":         fmt.Sprintf(`{"waitForResponse":"/%s/i"}`, p[1:len(p)-1]),
			"matches":           fmt.Sprintf(`{"if":{"cached":"a","matches":%s},"then":[{"wait":1}]}`, p),
			"operator, spelled": fmt.Sprintf(`{"if":{"cached":"a","operator":"matches","value":%s},"then":[{"wait":1}]}`, p),
		} {
			n := min(100, (1<<20-100)/(len(one)+1))
			body := []byte(`{"actions":[` + strings.Repeat(one+",", n) + `{"wait":1}]}`)
			var err error
			began := time.Now()
			grown := heap.Growth(func() { _, err = Parse(body, nil) })
			took := time.Since(began)
			var invalid *Invalid
			if err != nil && !errors.As(err, &invalid) || err == nil && strings.HasPrefix(action, "wait") {
				t.Errorf("%s, %s: %v", name, action, err)
			}
			if grown > 200<<20 || took > 15*time.Second {
				t.Errorf("%s, %s: the heap grows by %d MiB and it takes %v for %d patterns", name, action, grown>>20, took, n)
			}
		}
	}
}

// TestAttackSlowComparisons: a comparison that would outlast its task is refused, and
// those that people write are made, also of long texts. Nothing runs beside it, which
// would have to wait.
func TestAttackSlowComparisons(t *testing.T) {
	need.Time(t)
	need.All(t)
	need.NoRace(t)
	long, _ := json.Marshal(strings.Repeat("a", 16<<20))
	page, _ := json.Marshal(strings.Repeat("a word ", 10_000) + "total: 12,50 EUR")
	for name, c := range map[string]struct {
		have    []byte
		pattern string
		fault   string
		yes     bool
	}{
		"a long text":              {long, hugePatterns["the largest"], "too much for a text", false},
		"a long text, /re/flags":   {long, "/" + hugePatterns["the largest"] + "b/i", "too much for a text", false},
		"a huge pattern":           {page, hugePatterns["repeated"], "too many steps", false},
		"a page":                   {page, `total:\s+\d+[.,]\d{2} (EUR|USD)`, "", true},
		"a page, with repetitions": {page, `(\w+ ){100,300}total`, "", true},
		"a long text, plain":       {long, `^a+$`, "", true},
	} {
		began := time.Now()
		yes, err := lang.Compare(c.have, "matches", c.pattern)
		if yes != c.yes || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%s: %v, %.300v", name, yes, err)
		}
		// A second at most on a machine that does nothing else, more than a minute without the
		// bound; with races looked for, on a busy one, fourteen seconds were seen.
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// TestAttackPatternsForManyRequests: patterns that take long to compare, and a page
// that asks for very many long addresses, do not keep the task from going on.
func TestAttackPatternsForManyRequests(t *testing.T) {
	need.Browser(t)
	need.All(t)
	t.Parallel()
	a := attacks(t, map[string]string{"/": `<script>for (let i = 0; i < 150; i++) fetch('/x?' + i + 'a'.repeat(i % 2 ? 60000 : 1500)).catch(() => {})</script>`})
	pattern := strings.Repeat("(a?){800}", 2)
	var waits strings.Builder
	for i := range 4 {
		fmt.Fprintf(&waits, `{"waitForResponse":"%sb%d","options":{"timeout":20000}},`, pattern, i)
	}
	began := time.Now()
	o := play(t, newInstance(t), fmt.Sprintf(`{"timeout":60000,"config":{"actionTimeout":30000},"actions":[%s{"open":"%s/"},{"evaluate":"return 'here'"}]}`, waits.String(), a.url), TaskEnv{})
	if len(o.Failures) != 4 || !strings.Contains(o.Failures[0].Text, "were not compared") {
		t.Errorf("%+v", o.Failures)
	}
	if took := time.Since(began); took > 50*time.Second {
		t.Errorf("it took %v", took)
	}
}
