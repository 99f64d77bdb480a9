package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func mustParse(t *testing.T, body string) *Task {
	t.Helper()
	task, err := Parse([]byte(body), nil)
	if err != nil {
		t.Fatalf("parse %s: %v", body, err)
	}
	return task
}

func TestReviewWarnsOfKeysThatNothingHasSaved(t *testing.T) {
	const saves = `{"getText":"h1","options":{"save":"title"}}`
	const finds = `{"find":"ul","options":{"save":"list"}}`
	for name, c := range map[string]struct {
		actions string
		want    []string
	}{
		"saved, then used":                 {saves + `,{"fill":["#q","${title}"]}`, nil},
		"used, then saved":                 {`{"fill":["#q","${title}"]},` + saves, []string{"/actions/0: ${title} is used before it is saved, by /actions/1"}},
		"saved by nobody":                  {`{"fill":["#q","${title}"]}`, []string{"/actions/0: ${title} is used, but nothing saves it"}},
		"misspelt":                         {saves + `,{"fill":["#q","${titel}"]}`, []string{`/actions/1: ${titel} is used, but nothing saves it; did you mean "title"?`}},
		"in a selector":                    {`{"click":"#row-${id}"}`, []string{"/actions/0: ${id} is used, but nothing saves it"}},
		"in an option":                     {`{"findByText":"a","options":{"selector":"#${id}"}}`, []string{"/actions/0: ${id} is used"}},
		"in a frame":                       {`{"click":"a","options":{"iframe":"#${id}"}}`, []string{"/actions/0: ${id} is used"}},
		"a script may hold a template":     {`{"evaluate":"return ` + "`${x}`" + `"}`, nil},
		"two dollar signs":                 {`{"fill":["#q","$${title}"]}`, nil},
		"an element, then used":            {finds + `,{"click":"$list li"}`, nil},
		"an element before it is found":    {`{"click":"$list li"},` + finds, []string{"/actions/0: $list is used before it is saved, by /actions/1"}},
		"an element misspelt":              {finds + `,{"click":"$lits"}`, []string{`/actions/1: $lits is used, but nothing saves it; did you mean "list"?`}},
		"a value as an element":            {saves + `,{"click":"$title"}`, []string{"/actions/1: $title is a saved element, but \"title\" was saved as a value: ${title} reads it"}},
		"an element as a value":            {finds + `,{"fill":["a","${list}"]}`, []string{"/actions/1: ${list} reads a value, but \"list\" was saved as an element: $list uses it"}},
		"this in a loop over elements":     {`{"loop":{"each":"li","do":[{"click":"$this a"}]}}`, nil},
		"this in a loop that counts":       {`{"loop":{"repeat":2,"do":[{"click":"$this a"}]}}`, []string{"/actions/0/loop/do/0: $this is the current element of a loop with each"}},
		"this after its loop":              {`{"loop":{"each":"li","do":[]}},{"click":"$this"}`, []string{"/actions/1: $this is"}},
		"later in the same turn":           {`{"loop":{"repeat":2,"do":[{"click":"#${id}"},{"getText":"b","options":{"save":"id"}}]}}`, []string{"/actions/0/loop/do/0: ${id} is used before it is saved, by /actions/0/loop/do/1"}},
		"in one branch, used after it":     {`{"if":{"condition":"a","then":[` + saves + `]}},{"fill":["a","${title}"]}`, nil},
		"in one branch, used in the other": {`{"if":{"condition":"a","then":[` + saves + `],"else":[{"fill":["a","${title}"]}]}}`, []string{"/actions/0/if/else/0: ${title} is used before it is saved"}},
		"pushed":                           {`{"loop":{"each":"li","do":[{"getText":"$this","options":{"push":"all"}}]}},{"fill":["a","${all}"]}`, nil},
		"cleared":                          {saves + `,{"clearSavedData":true},{"fill":["a","${title}"]}`, []string{"/actions/2: ${title} is used after /actions/1 has cleared it"}},
		"saved again":                      {saves + `,{"clearSavedData":true},` + saves + `,{"fill":["a","${title}"]}`, nil},
		"a response is waited for":         {`{"waitForResponse":"/api","options":{"save":"body"}},{"fill":["a","${body}"]}`, nil},
		"responses until the end":          {`{"waitForResponse":"/api","options":{"save":"body","until":"end"}},{"fill":["a","${body}"]}`, []string{"/actions/1: ${body} is used before it is saved, by /actions/0"}},
		"a condition on a later key":       {`{"loop":{"repeat":2,"do":[{"if":{"condition":{"cached":"title","operator":"empty"},"then":[]}},` + saves + `]}}`, nil},
		"a condition on no key":            {saves + `,{"if":{"condition":{"cached":"titel","operator":"empty"},"then":[]}}`, []string{`/actions/1: nothing saves "titel": the condition finds it missing; did you mean "title"?`}},
		"a condition's value":              {`{"if":{"condition":{"selector":"a","property":"id","operator":"==","value":"${x}"},"then":[]}}`, []string{"/actions/0: ${x} is used"}},
		"in a cookie":                      {`{"setCookies":[{"url":"http://a.example/","name":"n","value":"${x}"}]}`, []string{"/actions/0: ${x} is used"}},
		"in a cookie's domain":             {`{"setCookies":[{"url":"http://a.example/","name":"n","value":"v","domain":"${x}"}]}`, []string{"/actions/0: ${x} is used"}},
		"in a cookie to delete":            {`{"deleteCookie":{"url":"http://a.example/","name":"${x}"}}`, []string{"/actions/0: ${x} is used"}},
		"in a loop that may not run":       {`{"while":{"condition":"a","do":[` + saves + `]}},{"fill":["a","${title}"]}`, nil},
		"a condition of many parts":        {`{"while":{"condition":{"all":[{"not":{"cached":"titel","operator":"empty"}},{"count":["li-${x}",">","${y}"]},{"cookie":["${z}","==","a"]}]},"do":[` + saves + `]}}`, []string{"/actions/0: ${x} is used", "/actions/0: ${y} is used", "/actions/0: ${z} is used", `/actions/0: nothing saves "titel": the condition finds it missing; did you mean "title"?`}},
		"another tool's selectors":         {`{"click":"text=Sign in"},{"loop":{"each":"li:visible","do":[{"getText":"$this >> b"}]}},{"click":{"role":"row","within":"div:has-text('a')"}}`, []string{`/actions/0/click: "text=Sign in" is not CSS: want {"text": "Sign in"}`, `/actions/1/loop/each: "li:visible" is not CSS: want {"selector": "li", "visible": true}`, `/actions/1/loop/do/0/getText: "$this >> b" is not CSS: want an object with "within"`, `/actions/2/click/within: "div:has-text('a')" is not CSS: want {"selector": "div", "hasText": "a"}`}},
		"an assertion":                     {`{"assert":{"title":["==","${x}"]}}`, []string{"/actions/0: ${x} is used"}},
		"in a try, and in its catch":       {`{"try":{"do":[` + saves + `],"catch":[{"fill":["a","${title} ${why.code}"]}],"as":"why"}},{"fill":["a","${title} ${why}"]}`, nil},
		"what was caught, before":          {`{"fill":["a","${why}"]},{"try":{"do":[],"catch":[],"as":"why"}}`, []string{"/actions/0: ${why} is used before it is saved, by /actions/1"}},
		"in a retry":                       {`{"retry":{"times":2,"do":[` + saves + `]}},{"fill":["a","${title}"]}`, nil},
		"a part of a value":                {saves + `,{"fill":["a","${title.0.name}"]},{"fill":["a","${titel.0}"]}`, []string{`/actions/2: ${titel.0} is used, but nothing saves it`}},
		"this in a loop in a loop":         {`{"loop":{"each":"li","do":[{"while":{"condition":"$this a","do":[{"click":"$this a"}]}}]}}`, nil},
		"this in a loop over pages":        {`{"forEach":{"elements":"li","do":[{"forEach":{"pages":{"next":"#next"},"do":[{"click":"$this a"}]}},{"forEach":{"elements":"$this a","do":[{"click":"$this"}]}}]}}`, nil},
		"this in a loop over values":       {`{"forEach":{"range":[1,2],"do":[{"click":"$this a"}]}}`, []string{"/actions/0/forEach/do/0: $this is"}},
		"the current value":                {`{"forEach":{"range":[1,2],"as":"n","do":[{"fill":["a","${n.x} ${item}"]}]}},{"fill":["a","${n}"]}`, []string{"/actions/0/forEach/do/0: ${item} is used, but nothing saves it"}},
		"what values and pages read":       {`{"forEach":{"values":"${rows}","do":[]}},{"forEach":{"range":[1,"${last}"],"do":[]}},{"forEach":{"pages":{"next":"#n${x}"},"do":[]}}`, []string{"/actions/0: ${rows} is used", "/actions/1: ${last} is used", "/actions/2: ${x} is used"}},
		"set, one from the other":          {`{"set":{"a":1,"b":"${a}","c":"${b.x} ${d}"}},{"return":["${c}","${e}",{"$length":"${f}"}]}`, []string{"/actions/0: ${d} is used", "/actions/1: ${e} is used", "/actions/1: ${f} is used"}},
		"saved data of no key":             {`{"getSavedData":["title"]},` + saves + `,{"getSavedData":["a","title"]}`, []string{`/actions/2: nothing saves "a": its value is null`}},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustParse(t, `{"actions":[`+c.actions+`]}`).Review(time.Minute).Warnings
			ok := len(got) == len(c.want)
			for i := 0; ok && i < len(got); i++ {
				ok = strings.HasPrefix(got[i].String(), c.want[i])
			}
			if !ok {
				t.Errorf("the warnings are %v, and should be %q", got, c.want)
			}
		})
	}
	// What a session has saved before is there; its elements are not.
	got := mustParse(t, `{"session":{"id":"s"},"actions":[{"fill":["$form","${title}"]},{"getSavedData":"title"}]}`).Review(time.Minute).Warnings
	if len(got) != 1 || !strings.Contains(got[0].Message, "$form") {
		t.Errorf("in a session the warnings are %v", got)
	}
}

func TestReviewTime(t *testing.T) {
	step := Millis(DefaultActionTimeout + grace)
	own := Millis(2*time.Second + grace)
	const quick = `"options":{"timeout":2000}`
	for name, c := range map[string]struct {
		request string
		want    int64
		warning string
	}{
		"one action":                      {`"actions":[{"click":"a"}]`, step, ""},
		"its own time":                    {`"actions":[{"click":"a",` + quick + `}]`, own, ""},
		"the request's time":              {`"config":{"actionTimeout":500},"actions":[{"click":"a"}]`, 500 + Millis(grace), ""},
		"several":                         {`"actions":[{"click":"a"},{"click":"b"},{"click":"c",` + quick + `}]`, 2*step + own, ""},
		"a wait is as long as it is":      {`"actions":[{"wait":1500.5}]`, 1501, ""},
		"a loop that counts":              {`"actions":[{"loop":{"repeat":7,"do":[{"click":"a"},{"wait":10}]}}]`, 7 * (step + 10), ""},
		"a loop over elements looks":      {`"actions":[{"loop":{"each":"li","do":[{"wait":10}]}}]`, step + 1000, ""},
		"bounded":                         {`"actions":[{"loop":{"each":"li","maxIterations":3,"do":[{"wait":10}]}}]`, step + 30, ""},
		"the longer branch":               {`"actions":[{"if":{"condition":"a","then":[{"wait":10}],"else":[{"wait":20},{"wait":5}]}}]`, step + 25, ""},
		"a condition without the page":    {`"actions":[{"if":{"condition":{"cached":"k","operator":"empty"},"then":[{"getText":"a","options":{"save":"k"}}]}}]`, step, ""},
		"a response after the list":       {`"actions":[{"waitForResponse":"x"},{"wait":100}]`, 100 + step, ""},
		"a response beside the list":      {`"actions":[{"wait":50},{"waitForResponse":"x",` + quick + `},{"wait":100}]`, 50 + own, ""},
		"a response, and a longer list":   {`"actions":[{"waitForResponse":"x",` + quick + `},{"wait":9000}]`, 9000, ""},
		"waits that are too long":         {`"actions":[{"wait":40000},{"if":{"condition":"a","then":[{"wait":50000}],"else":[{"wait":30000}]}}]`, 90000 + step, "the waits alone take 70000 ms, more than the task's time of 60000 ms"},
		"waits that may not come":         {`"actions":[{"loop":{"each":"li","do":[{"wait":10000}]}}]`, step + 1000000, ""},
		"a condition that looks":          {`"actions":[{"while":{"condition":"a","max":3,"do":[{"wait":10}]}}]`, 4*step + 30, ""},
		"a condition that does not":       {`"actions":[{"until":{"condition":{"all":[{"cached":"k","operator":"empty"},{"failure":["empty"]}]},"max":3,"do":[{"getText":"a","options":{"save":"k"}}]}}]`, 3 * step, ""},
		"loops in loops":                  {`"actions":[{"while":{"condition":{"failure":["empty"]},"max":5,"do":[{"loop":{"repeat":3,"do":[{"wait":10}]}}]}}]`, 150, ""},
		"attempts and their delays":       {`"actions":[{"retry":{"times":4,"delay":100.5,"do":[{"wait":10}]}}]`, 40 + 3*101, ""},
		"waits of every attempt":          {`"actions":[{"retry":{"times":4,"do":[{"wait":70000}]}}]`, 280000, "the waits alone take 70000 ms"},
		"what is tried, and the other":    {`"actions":[{"try":{"do":[{"wait":70000}],"catch":[{"wait":80000}]}}]`, 150000, ""},
		"waits that may be left out":      {`"actions":[{"while":{"condition":{"failure":["empty"]},"max":1,"do":[{"if":{"condition":{"failure":["empty"]},"then":[{"break":true}]}},{"wait":90000}]}}]`, 90000, ""},
		"values":                          {`"actions":[{"forEach":{"range":[1,2],"max":7,"do":[{"wait":10}]}}]`, 70, ""},
		"elements, and more of them":      {`"actions":[{"forEach":{"elements":"a","max":3,"do":[{"wait":10}]}},{"forEach":{"elements":"a","scroll":true,"max":3,"do":[{"wait":10}]}}]`, 5*step + 60, ""},
		"pages":                           {`"actions":[{"forEach":{"pages":{"next":"a"},"max":3,"do":[{"wait":10}]},"options":{"timeout":2000}}]`, 3 * (own + 10), ""},
		"values take no time":             {`"actions":[{"set":{"a":{"$trim":"x"}}},{"return":"${a}"}]`, 0, ""},
		"an address of the page":          {`"actions":[{"set":{"a":{"$absolute":"x"}}},{"return":{"x":[{"$absolute":["x","http://a.test"]}]}}]`, step, ""},
		"waits after what may return":     {`"actions":[{"if":{"condition":{"failure":["empty"]},"then":[{"return":1}]}},{"wait":70000}]`, 70000, ""},
		"an assertion":                    {`"actions":[{"assert":"a"}]`, step, ""},
		"a response in a loop":            {`"actions":[{"while":{"condition":{"failure":["empty"]},"max":3,"do":[{"wait":50},{"waitForResponse":"x",` + quick + `}]}}]`, 2*50 + 50 + own, ""},
		"days in loops are no small time": {`"actions":[{"loop":{"repeat":10000,"maxIterations":10000,"do":[{"wait":86400000},{"wait":86400000}]}}]`, 2 * 86400000 * 10000, "the waits alone"},
	} {
		t.Run(name, func(t *testing.T) {
			got := mustParse(t, `{`+c.request+`}`).Review(time.Minute)
			if got.Longest != c.want {
				t.Errorf("it takes %d at most, and should take %d", got.Longest, c.want)
			}
			if n := len(got.Warnings); n > 1 || (n == 1) != (c.warning != "") || n == 1 && !strings.HasPrefix(got.Warnings[0].Message, c.warning) {
				t.Errorf("the warnings are %v", got.Warnings)
			}
		})
	}
	// The largest sum that a request can make is still a number.
	var do []string
	for range MaxSteps - 1 {
		do = append(do, `{"wait":86400000}`)
	}
	got := mustParse(t, fmt.Sprintf(`{"actions":[{"loop":{"repeat":10000,"maxIterations":10000,"do":[%s]}}]}`, strings.Join(do, ","))).Review(time.Minute)
	if want := int64(MaxSteps-1) * 86400000 * 10000; got.Longest != want || got.Actions != MaxSteps || want > math.MaxInt64/1000 {
		t.Errorf("the longest of all takes %d ms with %d actions, and should take %d", got.Longest, got.Actions, want)
	}
}

// TestReviewKnowsUnboundedActions: an action that the action timeout does not
// bound has a time of its own, which review has to know.
func TestReviewKnowsUnboundedActions(t *testing.T) {
	var unbounded []string
	for _, name := range ActionNames() {
		if registry[name].unbounded {
			unbounded = append(unbounded, name)
		}
	}
	if want := []string{"forEach", "if", "loop", "retry", "run", "try", "until", "wait", "while"}; !slices.Equal(unbounded, want) {
		t.Errorf("the unbounded actions are %v, and review knows the time of %v", unbounded, want)
	}
}

// TestReviewTimeOfLoopsInLoops: what loops in loops multiply to is still a number.
func TestReviewTimeOfLoopsInLoops(t *testing.T) {
	list := `{"wait":86400000}`
	for range 12 {
		list = fmt.Sprintf(`{"while":{"condition":"a","max":10000,"do":[%s]}}`, list)
	}
	got := mustParse(t, `{"actions":[`+list+`]}`).Review(time.Minute)
	if got.Longest <= 0 || got.Longest > 1<<53 {
		t.Errorf("it takes %d ms at most, which is no number that every client can read", got.Longest)
	}
}

func TestLowestPlan(t *testing.T) {
	for request, want := range map[string]Plan{
		`"actions":[{"wait":1}]`:                                     Free,
		`"timeout":119000,"actions":[{"wait":1}]`:                    Free, // it is lowered
		`"async":true,"actions":[{"wait":1}]`:                        Standard,
		`"session":{"preserve":true}`:                                Standard,
		`"session":{"id":"s"},"actions":[{"wait":1}]`:                Standard,
		`"session":{"timeout":60000},"actions":[{"wait":1}]`:         Free, // asks for no session
		`"session":{"preserve":false},"actions":[{"wait":1}]`:        Free,
		`"session":{"override":true},"async":true,"timeout":3600000`: Standard,
	} {
		if got := LowestPlan(mustParse(t, `{`+request+`}`), DefaultLimits()); got != want {
			t.Errorf("{%s} needs %q, and should need %q", request, got, want)
		}
	}
	none := DefaultLimits()
	for p, l := range none {
		l.Sessions = false
		none[p] = l
	}
	if got := LowestPlan(mustParse(t, `{"session":{"preserve":true}}`), none); got != "" {
		t.Errorf("where no plan has sessions it needs %q", got)
	}
}
