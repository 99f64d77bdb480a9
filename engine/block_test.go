package engine

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"troupe/engine/lang"
	"troupe/testkit/need"
)

// within nests a list of actions in so many loops that spin.
func within(n int, list string) string {
	for range n {
		list = fmt.Sprintf(`{"while":{"condition":{"cached":"none","operator":"empty"},"max":10000,"do":[%s]}}`, list)
	}
	return list
}

// TestBlocksHaveABudget: a task whose loops would run for ever ends long before its
// time, whatever its lists say of failures, and nothing in it catches that.
func TestBlocksHaveABudget(t *testing.T) {
	need.NoRace(t)
	in := newInstance(t)
	for name, list := range map[string]string{
		"empty loops":         within(5, ``),
		"loops that try":      within(3, `{"try":{"do":[`+within(2, ``)+`],"catch":[]}}`),
		"loops that retry":    within(3, `{"retry":{"times":100,"do":[`+within(1, `{"getText":"${none}"}`)+`]}}`),
		"failures":            within(3, `{"getText":"${none}"}`),
		"loops that continue": within(3, `{"continue":true}`),
		"a loop of its kind":  within(2, `{"loop":{"repeat":10000,"maxIterations":10000,"do":[]}}`),
		"break of the inner":  within(2, `{"while":{"condition":{"failure":["empty"]},"do":[{"break":true}]}}`),
	} {
		t.Run(name, func(t *testing.T) {
			if name != "loops that try" && name != "failures" {
				need.All(t)
			}
			began := time.Now()
			o := play(t, in, `{"timeout":120000,"actions":[`+list+`,{"wait":90000}]}`, TaskEnv{})
			if o.End != EndStopped || len(o.Failures) == 0 || time.Since(began) > 80*time.Second {
				t.Fatalf("it ends as %s after %v with %d failures", o.End, time.Since(began), len(o.Failures))
			}
			if last := o.Failures[len(o.Failures)-1]; last.Code != CodeStepLimit || !strings.Contains(last.Text, "1000000 actions and iterations") {
				t.Errorf("the last failure is %s: %s", last.Code, last.Text)
			}
		})
	}
}

// TestValuesInBlocksHaveABudget: comparing a large value again and again ends the
// task. Outside of blocks, the same comparisons are as many as the list says.
func TestValuesInBlocksHaveABudget(t *testing.T) {
	need.NoRace(t)
	in := newInstance(t)
	const large = `{"evaluate":"return 'a'.repeat(8 << 20)","options":{"save":"large"}}`
	o := play(t, in, `{"timeout":120000,"actions":[`+large+`,{"while":{"condition":{"cached":"large","operator":"notContains","value":"b"},"max":10000,"do":[]}},{"getSavedData":"x"}]}`, TaskEnv{})
	if n := len(o.Failures); o.End != EndStopped || n != 1 || o.Failures[0].Code != CodeStepLimit || !strings.Contains(o.Failures[0].Text, "bytes of values") {
		t.Errorf("it ends as %s: %v", o.End, failuresOf(o))
	}
}

// TestFunctionsHaveABudget: one action can hold thousands of functions, each on a
// large text.
func TestFunctionsHaveABudget(t *testing.T) {
	need.NoRace(t)
	in := newInstance(t)
	const large = `{"evaluate":"return 'a'.repeat(4 << 20)","options":{"save":"large"}}`
	for name, function := range map[string]string{
		"long texts":          `{"$length":"${large}"}`,
		"slow patterns":       `{"$match":["${large}","(a?){4}b"]}`,
		"long texts in texts": `{"$length":"x${large}"}`,
		"parts of values":     `"${list.0}"`,
	} {
		if name != "slow patterns" && !need.AllAsked() && !need.Named() {
			continue
		}
		list := strings.Repeat(function+",", 5000)
		began := time.Now()
		o := play(t, in, `{"timeout":120000,"config":{"actionTimeout":60000},"actions":[`+large+`,{"set":{"list":["x","${large}"]}},{"set":{"x":[`+list[:len(list)-1]+`]}},{"getSavedData":"x"}]}`, TaskEnv{})
		if n := len(o.Failures); o.End != EndStopped || n != 1 || o.Failures[0].Code != CodeStepLimit || time.Since(began) > 60*time.Second {
			t.Errorf("%s: it ends as %s after %v: %v", name, o.End, time.Since(began), failuresOf(o))
		}
	}
}

// TestValuesEndWithTheirTime: an action that only makes values ends when its time is
// over, too.
func TestValuesEndWithTheirTime(t *testing.T) {
	need.NoRace(t)
	in := newInstance(t)
	list := strings.Repeat(`{"$match":["${large}","(a?){10}b"]},`, 1000)
	began := time.Now()
	o := play(t, in, `{"timeout":60000,"actions":[{"evaluate":"return 'a'.repeat(4 << 20)","options":{"save":"large"}},{"set":{"x":[`+list[:len(list)-1]+`]},"options":{"timeout":1}}]}`, TaskEnv{})
	if len(o.Failures) != 1 || o.Failures[0].Code != CodeTimeout || !strings.Contains(o.Failures[0].Text, "were not made within 1ms") || time.Since(began) > 20*time.Second {
		t.Errorf("it ends after %v: %v", time.Since(began), failuresOf(o))
	}
}

// TestRunningTasksHaveBounds: what a list bounds by its length, loops bound as they
// run.
func TestRunningTasksHaveBounds(t *testing.T) {
	need.All(t)
	t.Parallel()
	in := newInstance(t)
	url := serve(t, `<!doctype html><p id=p>x</p>`)
	k := &kept{}
	o := play(t, in, fmt.Sprintf(`{"timeout":120000,"actions":[{"open":%q},{"while":{"condition":"#p","max":%d,"do":[{"screenshot":"#p"}]}}]}`, url, maxPictures+2), TaskEnv{SaveFile: k.save})
	if len(o.Pictures) != maxPictures || len(o.Failures) != 2 || o.Failures[0].Code != CodeStorageQuota {
		t.Errorf("%d pictures: %v", len(o.Pictures), failuresOf(o))
	}
	o = play(t, in, fmt.Sprintf(`{"timeout":120000,"config":{"actionTimeout":500},"actions":[{"open":%q},{"while":{"condition":"#p","max":%d,"do":[{"waitForResponse":"none"}]}}]}`, url, maxCaptures+2), TaskEnv{})
	refused := 0
	for _, f := range o.Failures {
		if strings.Contains(f.Text, "1000 responses") {
			refused++
		}
	}
	if refused != 2 || len(o.Failures) != maxCaptures+2 {
		t.Errorf("%d failures, %d of them say how many responses a task can wait for", len(o.Failures), refused)
	}
}

func TestConditionsHaveABound(t *testing.T) {
	many := strings.Repeat(`"a",`, lang.MaxConditionParts)
	got := faultsOf(t, `{"actions":[{"assert":{"all":[`+many+`"b"]}},{"while":{"condition":{"all":[`+many[:len(many)-5]+`]},"do":[]}}]}`)
	if len(got) != 1 || got[0] != fmt.Sprintf("/actions/0/assert: want a condition of at most %d parts, not %d", lang.MaxConditionParts, lang.MaxConditionParts+2) {
		t.Errorf("the faults are %q", got)
	}
}
