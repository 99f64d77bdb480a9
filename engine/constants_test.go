package engine

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"troupe/engine/mask"
	"troupe/testkit/heap"
	"troupe/testkit/need"
)

// repeated is a value that is as long as a flow can be.
func repeated(begin, end string, one func(i int) string) string {
	var b strings.Builder
	b.WriteString(begin)
	for i := 0; b.Len() < MaxFlow-200; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(one(i))
	}
	return b.String() + end
}

// always is the same for each.
func always(s string) func(int) string { return func(int) string { return s } }

// TestValuesTakeWhatTheirTextTakes: what is kept of a request while its task waits, and
// of the flows that it runs, is a few times its text, however short its values are.
func TestValuesTakeWhatTheirTextTakes(t *testing.T) {
	need.NoRace(t)
	for name, c := range map[string]struct {
		value string
		times int // of the text, at most
	}{
		"numbers":                      {repeated(`{"set":{"a":[`, `]}}`, always("1")), 3},
		"numbers and blanks":           {repeated(`{"set":{"a":[`, `]}}`, always(" 1")), 3},
		"texts":                        {repeated(`{"set":{"a":[`, `]}}`, always(`""`)), 3},
		"empty arrays":                 {repeated(`{"set":{"a":[`, `]}}`, always(`[]`)), 3},
		"empty objects":                {repeated(`{"set":{"a":[`, `]}}`, always(`{}`)), 3},
		"fields":                       {repeated(`{"set":{"a":{`, `}}}`, func(i int) string { return fmt.Sprintf(`"%d":1`, i) }), 3},
		"constants beside a value":     {repeated(`{"set":{"a":["${b}",`, `,"${b}"]}}`, always("1")), 4},
		"dollar signs":                 {repeated(`{"set":{"a":[`, `]}}`, always(`"$$"`)), 3},
		"values of keys":               {repeated(`{"set":{"a":[`, `]}}`, always(`"${b}"`)), 8},
		"texts with values of keys":    {repeated(`{"set":{"a":[`, `]}}`, always(`"${b} "`)), 8},
		"functions":                    {repeated(`{"set":{"a":[`, `]}}`, always(`{"$trim":1}`)), 8},
		"patterns":                     {repeated(`{"set":{"a":[`, `]}}`, always(`{"$match":["","a"]}`)), 10},
		"keys that are set":            {repeated(`{"set":{`, `}}`, func(i int) string { return fmt.Sprintf(`"k%d":1`, i) }), 9},
		"a text of values":             {`{"fill":["#a","` + strings.Repeat("${b}", MaxFlow/5) + `"]}`, 3},
		"a text of dollar signs":       {`{"fill":["#a","` + strings.Repeat("$$", MaxFlow/3) + `"]}`, 3},
		"constants of forEach":         {repeated(`{"forEach":{"values":[`, `],"do":[{"wait":1}]}}`, always("1")), 3},
		"constants of return":          {repeated(`{"return":[`, `]}`, always("1")), 3},
		"constants beside one another": {repeated(`{"set":{"a":[`, `]}}`, always(`{"$$a":[1,"b",{"c":null}]}`)), 3},
	} {
		t.Run(name, func(t *testing.T) {
			body := `{"actions":[` + c.value + `]}`
			live := liveAfter(func() any {
				var parsed any
				var err error
				if strings.HasPrefix(c.value, `{"return"`) {
					parsed, err = ParseFlow("it", []byte(body), nil)
				} else {
					parsed, err = ParseWith([]byte(body), nil, nil)
				}
				if err != nil {
					t.Fatal(err)
				}
				return parsed
			})
			// The text itself is kept, too.
			if limit := (c.times + 1) * len(body); live > limit {
				t.Errorf("a task of %d bytes takes %d, which is %d times as much", len(body), live, live/len(body))
			}
		})
	}
}

// liveAfter is by how much the heap has grown while what f gives is in use.
func liveAfter(f func() any) int {
	live := func() int {
		var m runtime.MemStats
		runtime.GC()
		runtime.GC() // what pools held is gone after the second
		runtime.ReadMemStats(&m)
		return int(m.HeapAlloc)
	}
	before := live()
	kept := f()
	grown := live() - before
	runtime.KeepAlive(kept)
	return grown
}

// TestFlowsOfARequestAreNotAllInMemory: a request that runs very many large flows holds
// the tree of one at a time.
func TestFlowsOfARequestAreNotAllInMemory(t *testing.T) {
	need.NoRace(t)
	var stored FlowList
	var calls []string
	for i := range 6 {
		stored = append(stored, StoredFlow{fmt.Sprint("f", i), 1, []byte(`{"actions":[` + repeated(`{"set":{"a":[`, `]}}`, always("1")) + `]}`), nil})
		calls = append(calls, fmt.Sprintf(`{"run":"f%d"}`, i))
	}
	text := 6 * MaxFlow
	var task *Task
	peak := heap.Growth(func() {
		var err error
		if task, err = ParseWith([]byte(`{"actions":[`+strings.Join(calls, ",")+`]}`), nil, stored); err != nil {
			t.Fatal(err)
		}
	})
	if peak > 80<<20 {
		t.Errorf("at most %d MiB were in use", peak>>20)
	}
	if live := liveAfter(func() any {
		task, _ = ParseWith([]byte(`{"actions":[`+strings.Join(calls, ",")+`]}`), nil, stored)
		return task
	}); live > 2*text {
		t.Errorf("a task with %d bytes of flows takes %d", text, live)
	}
}

// TestLargeValuesAreMaskedInPlace: masking takes the memory of what it gives.
func TestLargeValuesAreMaskedInPlace(t *testing.T) {
	need.NoRace(t)
	m := mask.New([]string{"hunter2hunter2"})
	for name, one := range map[string]string{
		"numbers": `12345`, "short texts": `"a"`, "secrets": `"hunter2hunter2"`, "objects": `{"name":"a\n","price":1.5}`, "escapes": `"%41&amp;+"`,
	} {
		in := json.RawMessage(`[` + strings.Repeat(one+",", (14<<20)/(len(one)+1)) + `"x hunter2hunter2"]`)
		var out json.RawMessage
		grown := heap.Growth(func() { out = m.JSON(in) })
		if strings.Contains(string(out), "hunter2") || len(out) < 1<<20 {
			t.Errorf("%s: a secret is left", name)
		}
		// What it gives may be longer, and a buffer that grows is there twice for a moment.
		if most := int64(4 * len(in)); grown > most {
			t.Errorf("%s: masking %d MiB takes %d MiB", name, len(in)>>20, grown>>20)
		}
	}
}
