package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"troupe/engine/lang"
)

// faultsOf parses a body and gives its faults as "path: message".
func faultsOf(t *testing.T, body string) []string {
	t.Helper()
	_, err := Parse([]byte(body), nil)
	if err == nil {
		return nil
	}
	var invalid *Invalid
	if !errors.As(err, &invalid) || len(invalid.Faults) == 0 {
		t.Fatalf("Parse gave %T %v, want *Invalid with faults", err, err)
	}
	out := make([]string, len(invalid.Faults))
	for i, f := range invalid.Faults {
		out[i] = f.Path + ": " + f.Message
	}
	return out
}

func TestParseNamesEveryFault(t *testing.T) {
	deep := strings.Repeat(`{"if":{"condition":"a","then":[`, 40) + strings.Repeat(`]}}`, 40)
	for name, c := range map[string]struct {
		body string
		want []string // each fault in order; what it begins with
	}{
		"nothing":                   {``, []string{": the body is not valid JSON"}},
		"not JSON":                  {`{"actions":[`, []string{"/actions: the body is not valid JSON at byte 12: it ends too early"}},
		"half a string":             {`{"actions":["`, []string{"/actions/0: the body is not valid JSON"}},
		"something after it":        {`{"actions":[{"wait":1}]} x`, []string{": the body is not valid JSON: something follows"}},
		"two values":                {`{}{}`, []string{": the body is not valid JSON: something follows"}},
		"no object":                 {`[]`, []string{": want the request, an object, not an array"}},
		"a string":                  {`"x"`, []string{": want the request, an object, not a string"}},
		"invalid UTF-8":             {"{\"actions\":[{\"getText\":\"\xff\"}]}", []string{": the body is not valid UTF-8"}},
		"half a surrogate pair":     {`{"actions":[{"getText":"\ud800"}]}`, []string{"/actions/0/getText: the body is not valid JSON"}},
		"a name twice":              {`{"actions":[],"actions":[]}`, []string{"/actions: the body is not valid JSON at byte 14: duplicate"}},
		"too deep":                  {`{"actions":[` + deep + `]}`, []string{": the body is not valid JSON: it is nested more than 64"}},
		"a long selector":           {`{"actions":[{"click":"` + strings.Repeat("a", longestSelector+1) + `"}]}`, []string{"/actions/0/click: want a selector of at most 8192 bytes, not 8193"}},
		"a long pattern":            {`{"actions":[{"if":{"condition":{"cached":"k","operator":"matches","value":"` + strings.Repeat("a", longestPattern+1) + `"},"then":[]}}]}`, []string{"/actions/0/if/condition/value: \"aaa"}},
		"a long address pattern":    {`{"actions":[{"waitForResponse":"` + strings.Repeat("a", longestPattern+1) + `"}]}`, []string{"/actions/0/waitForResponse: pattern \"aaa"}},
		"many screenshots":          {`{"actions":[` + strings.Repeat(`{"screenshot":"viewport"},`, maxPictures) + `{"screenshot":"fullpage"}]}`, []string{"/actions/100/screenshot: want at most 100 screenshots"}},
		"deep arrays":               {strings.Repeat("[", 100000), []string{": the body is not valid JSON: it is nested more than 64"}},
		"empty object":              {`{}`, []string{": want actions, an array"}},
		"null actions":              {`{"actions":null}`, []string{": want actions, an array"}},
		"empty actions":             {`{"actions":[]}`, []string{"/actions: want at least one action"}},
		"actions no array":          {`{"actions":{}}`, []string{"/actions: want an array of actions, not an object"}},
		"unknown field":             {`{"action":[],"actions":[{"wait":1}]}`, []string{`/action: the request has no field "action"; did you mean "actions"?`}},
		"two action keys":           {`{"actions":[{"click":"a","wait":1}]}`, []string{`/actions/0: want one action in an object, but there are 2: "click", "wait"`}},
		"an option beside":          {`{"actions":[{"timeout":5,"click":"a"},{"open":"http://a.test","waitUntil":"load"}]}`, []string{`/actions/0/timeout: "timeout" is an option of click: want {"click": …, "options": {"timeout": …}}`, `/actions/1/waitUntil: `}},
		"options misspelt":          {`{"actions":[{"click":"a","option":{"timeout":5}}]}`, []string{`/actions/0/option: want nothing but "options" beside click, not "option"; did you mean "options"?`}},
		"another's spelling":        {`{"actions":[{"action":"click","selector":"#a"},{"selector":"#a","type":"fill","text":"b"}]}`, []string{`/actions/0: want an action, an object such as {"click":"#buy"}: did you mean {"click": …} in the place of {"action": "click"}?`, `/actions/1: want an action, an object such as {"click":"#buy"}: did you mean {"fill": …} in the place of {"type": "fill"}?`}},
		"two unknown actions":       {`{"actions":[{"clik":"a","wat":1}]}`, []string{`/actions/0: want one action in an object, such as {"click":"#buy"}, but there are 2 fields: "clik", "wat"`, `/actions/0/clik: action "clik" is unknown; did you mean "click"?`}},
		"no action key":             {`{"actions":[{"options":{}},{}]}`, []string{"/actions/0: want an action", "/actions/1: want an action"}},
		"an action that is none":    {`{"actions":["click",null,3]}`, []string{"/actions/0: want an action", "/actions/1: want an action", "/actions/2: want an action"}},
		"unknown action":            {`{"actions":[{"clik":"a"}]}`, []string{`/actions/0/clik: action "clik" is unknown; did you mean "click"?`}},
		"unknown option":            {`{"actions":[{"click":"a","options":{"timout":1}}]}`, []string{`/actions/0/options/timout: click has no option "timout"; did you mean "timeout"?`}},
		"options no object":         {`{"actions":[{"click":"a","options":1}]}`, []string{"/actions/0/options: want an object of options, not a number"}},
		"wrong types":               {`{"actions":[{"click":1},{"fill":"a"},{"fill":["a"]},{"fill":["a",1]},{"wait":"1"},{"evaluate":{}},{"clearSavedData":false}]}`, []string{"/actions/0/click: want a selector, a string, not a number", "/actions/1/fill: want [selector, text], not a string", "/actions/2/fill: want [selector, text], not an array of 1", "/actions/3/fill/1: want a string, not a number", "/actions/4/wait: want milliseconds, a number", "/actions/5/evaluate: want a script, a string", "/actions/6/clearSavedData: want true, not false"}},
		"empty selector":            {`{"actions":[{"click":""},{"click":"  "}]}`, []string{"/actions/0/click: want a selector, not an empty string", "/actions/1/click: want a selector"}},
		"bad times":                 {`{"timeout":0,"queueTimeout":-1,"config":{"actionTimeout":-5},"actions":[{"click":"a","options":{"timeout":0}}]}`, []string{"/timeout: want a number of milliseconds above 0", "/queueTimeout: want a time in milliseconds from 0 to 120000", "/config/actionTimeout: want a number", "/actions/0/options/timeout: want a number"}},
		"queueTimeout too long":     {`{"queueTimeout":120001,"actions":[{"wait":1}]}`, []string{"/queueTimeout: want a time in milliseconds from 0 to 120000, not 120001"}},
		"session timeout":           {`{"session":{"preserve":true,"timeout":59999},"actions":[{"wait":1}]}`, []string{"/session/timeout: want a time in milliseconds from 60000 to 1800000, not 59999"}},
		"close without id":          {`{"session":{"close":true}}`, []string{"/session: close needs id"}},
		"a key misspelt":            {`{"actions":[{"press":[null,"Control+Entr"]}]}`, []string{`/actions/0/press/1: key "Entr" is unknown: want a character or a name of KeyboardEvent.key such as Enter, Tab, ArrowDown or Control+A; did you mean "Enter"?`}},
		"a picture in other words":  {`{"actions":[{"screenshot":"fullPage"},{"screenshot":"ViewPort"}]}`, []string{`/actions/0/screenshot: want viewport, fullpage or a selector, not "fullPage"; did you mean "fullpage"?`, "/actions/1/screenshot: want viewport"}},
		"a trace misspelt":          {`{"config":{"trace":"ful"},"actions":[{"wait":1}]}`, []string{`/config/trace: want true, false or "full", not "ful"; did you mean "full"?`}},
		"a trace of another type":   {`{"config":{"trace":1},"actions":[{"wait":1}]}`, []string{`/config/trace: want true, false or "full", not a number`}},
		"bad config":                {`{"config":{"continueOnError":"yes","trase":true},"actions":[{"wait":1}]}`, []string{"/config/continueOnError: want true or false", `/config/trase: config has no field "trase"; did you mean "trace"?`}},
		"reserved key":              {`{"actions":[{"find":"a","options":{"save":"this"}},{"find":"a","options":{"save":"a b"}}]}`, []string{`/actions/0/options/save: "this" is reserved`, "/actions/1/options/save: want a key"}},
		"loop with both":            {`{"actions":[{"loop":{"repeat":1,"each":"a","do":[]}}]}`, []string{"/actions/0/loop: want repeat, a number, or each"}},
		"loop with neither":         {`{"actions":[{"loop":{"do":[]}}]}`, []string{"/actions/0/loop: want repeat, a number, or each"}},
		"loop without do":           {`{"actions":[{"loop":{"repeat":2}}]}`, []string{"/actions/0/loop: want do"}},
		"repeat above the limit":    {`{"actions":[{"loop":{"repeat":101,"do":[]}},{"loop":{"repeat":6,"maxIterations":5,"do":[]}},{"loop":{"repeat":6,"do":[]},"options":{"maxIterations":5}}]}`, []string{"/actions/0/loop: want repeat to be at most maxIterations, 100, not 101", "/actions/1/loop: want repeat to be at most maxIterations, 5", "/actions/2/loop: want repeat to be at most maxIterations, 5"}},
		"nested loop":               {`{"actions":[{"loop":{"repeat":1,"do":[{"loop":{"repeat":1,"do":[]}}]}}]}`, []string{"/actions/0/loop/do/0/loop: loop cannot stand in a loop"}},
		"loop in if in loop":        {`{"actions":[{"loop":{"repeat":1,"do":[{"if":{"condition":"a","then":[{"loop":{"repeat":1,"do":[]}}]}}]}}]}`, []string{"/actions/0/loop/do/0/if/then/0/loop: loop cannot stand in a loop"}},
		"screenshot in loop":        {`{"actions":[{"loop":{"repeat":1,"do":[{"if":{"condition":"a","then":[],"else":[{"screenshot":"viewport"}]}}]}}]}`, []string{"/actions/0/loop/do/0/if/else/0/screenshot: screenshot cannot stand in a loop"}},
		"waitForResponse in branch": {`{"actions":[{"if":{"condition":"a","then":[{"waitForResponse":"x"}]}}]}`, []string{"/actions/0/if/then/0/waitForResponse: waitForResponse cannot stand in then or else"}},
		"bad expressions":           {`{"actions":[{"waitForResponse":"/(/i"},{"if":{"condition":{"cached":"k","operator":"matches","value":"("},"then":[]}}]}`, []string{`/actions/0/waitForResponse: pattern "/(/i" is no RE2`, "/actions/1/if/condition/value: \"(\" is no RE2"}},
		"bad conditions":            {`{"actions":[{"if":{"condition":{"selector":"a","cached":"b","operator":"=="},"then":[]}},{"if":{"condition":{"selector":"a","operator":"~"},"then":[]}},{"if":{"then":[]}},{"if":{"condition":3}}]}`, []string{"/actions/0/if/condition: want selector or cached in a condition, not both", "/actions/0/if/condition: want a value", "/actions/1/if/condition: want property", "/actions/1/if/condition/operator: want an operator", "/actions/1/if/condition: want a value", "/actions/2/if: want a condition", "/actions/3/if/condition: want a condition, an object, not a number", "/actions/3/if: want then"}},
		"missing file":              {`{"actions":[{"uploadFile":["a","$file:0"]},{"uploadFile":["a",["$file:x"]]}]}`, []string{"/actions/0/uploadFile/1: $file:0 does not exist: the request has no files", "/actions/1/uploadFile/1/0: want $file:N"}},
		"extractAll without map":    {`{"actions":[{"extractAll":"a"},{"extractAll":["a",{}]},{"extractAll":["a",{"x":1}]},{"extractAll":["a",{"x":"y"}],"options":{"fieldMap":{"x":"y"}}}]}`, []string{"/actions/0/extractAll: want [selector, fieldMap]", "/actions/1/extractAll/1: want a field map with at least one field", "/actions/2/extractAll/1/x: want a selector or", "/actions/3/extractAll: want the field map once"}},
		"unknown key name":          {`{"actions":[{"press":[null,"Entr"]},{"press":[null,""]},{"press":[null,"a+b"]}]}`, []string{`/actions/0/press/1: key "Entr" is unknown`, "/actions/1/press/1: want a key", "/actions/2/press/1:"}},
		"a key like no other":       {`{"actions":[{"press":[null,"Foo"]}]}`, []string{`/actions/0/press/1: key "Foo" is unknown`}},
		"quality of a png":          {`{"actions":[{"screenshot":"viewport","options":{"quality":50}}]}`, []string{"/actions/0/screenshot: quality is for jpeg and webp"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := faultsOf(t, c.body)
			if len(got) != len(c.want) {
				t.Fatalf("got %d faults, want %d:\n%s", len(got), len(c.want), strings.Join(got, "\n"))
			}
			for i := range got {
				if !strings.HasPrefix(got[i], c.want[i]) {
					t.Errorf("fault %d is\n  %s\nwant\n  %s", i, got[i], c.want[i])
				}
			}
		})
	}
}

func TestParseReadsARequest(t *testing.T) {
	body := `{"actions":[{"open":"https://example.com"},{"click":"#a","options":{"timeout":1500,"iframe":["#x","#y"],"continueOnError":false,"save":"s","push":"p"}}],
		"workerId":"w1","timeout":45000,"queueTimeout":1000,"config":{"actionTimeout":5000,"continueOnError":false,"trace":true},
		"session":{"preserve":true,"timeout":60000},"async":true}`
	task, err := Parse([]byte(body), nil)
	if err != nil {
		t.Fatal(err)
	}
	if task.WorkerID != "w1" || task.Timeout != 45*time.Second || task.QueueTimeout != time.Second || !task.Async {
		t.Errorf("read %+v", task)
	}
	if c := task.Config; c.ActionTimeout != 5*time.Second || c.ContinueOnError || !c.Trace {
		t.Errorf("read config %+v", c)
	}
	if s := task.Session; s == nil || !s.Preserve || s.Timeout != time.Minute {
		t.Errorf("read session %+v", s)
	}
	o := task.Steps[1].Options
	if o.Timeout != 1500*time.Millisecond || len(o.Frame) != 2 || o.ContinueOnError == nil || *o.ContinueOnError || o.Save != "s" || o.Push != "p" {
		t.Errorf("read options %+v", o)
	}
	again, err := json.Marshal(task)
	if err != nil {
		t.Fatal(err)
	}
	var other Task
	if err := json.Unmarshal(again, &other); err != nil {
		t.Fatal(err)
	}
	if other.WorkerID != "w1" || len(other.Steps) != 2 || other.Steps[1].Options.Save != "s" {
		t.Errorf("a task that has crossed a process is %+v", other)
	}
}

func TestParseDefaults(t *testing.T) {
	task, err := Parse([]byte(`{"actions":[{"wait":1}],"session":{},"workerId":null}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if task.Timeout != 30*time.Second || task.Config.ActionTimeout != 10*time.Second || !task.Config.ContinueOnError || task.Session != nil || task.Async {
		t.Errorf("defaults are %+v", task)
	}
}

// TestParseNulls: null is what many clients send for "not set", of options, too.
func TestParseNulls(t *testing.T) {
	task, err := Parse([]byte(`{"actions":[{"click":"a","options":null},{"click":"a","options":{"timeout":null,"iframe":null,"continueOnError":null,"save":null,"push":null,"force":null,"count":2}}]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := task.Steps[1].Options; o.Timeout != 0 || o.Frame != nil || o.ContinueOnError != nil || o.Save != "" || len(o.own) != 1 {
		t.Errorf("options that are null are read as %+v", o)
	}
	if got := faultsOf(t, `{"actions":[{"click":null},{"click":"a","options":{"forse":null}}]}`); len(got) != 2 {
		t.Errorf("a value that is null and an option that there is none of: %q", got)
	}
}

func TestEveryExampleIsValid(t *testing.T) {
	for name, d := range registry {
		files := []Upload{{Name: "a.txt"}}
		if _, err := ParseWith([]byte(`{"actions":[`+d.example+`]}`), files, FlowList{{"sign-in", 1, []byte(`{"parameters":{"user":{},"password":{}},"actions":[{"wait":1}]}`), nil}}); err != nil {
			t.Errorf("the example of %s: %v", name, err)
		}
	}
}

func TestTooManyActions(t *testing.T) {
	list := strings.TrimSuffix(strings.Repeat(`{"wait":1},`, MaxSteps+1), ",")
	got := faultsOf(t, `{"actions":[`+list+`]}`)
	if len(got) != 1 || !strings.Contains(got[0], fmt.Sprintf("at most %d actions", MaxSteps)) {
		t.Errorf("got %q", got)
	}
}

// FuzzParse holds that whatever is sent, there is either a task or a list of
// faults whose paths lie in the body, and that a task can be read again.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		`{"actions":[{"open":"https://a.test"},{"fill":["#q","x"]},{"press":["#q","Enter"]},{"extractAll":[".hit",{"title":"h3"}]}]}`,
		`{"actions":[{"loop":{"each":"a","do":[{"getText":"$this","options":{"push":"t"}}]}}]}`,
		`{"actions":[{"if":{"condition":{"cached":"k","operator":"==","value":1},"then":[{"wait":1}]}}],"session":{"preserve":true}}`,
		`{"actions":[{"setCookies":[{"url":"http://a.test","name":"n","value":"v","expirationDate":1}]}]}`,
		`{"actions":[{"open":"${x}$$"}],"timeout":1e3}`, `[[[[`, "\xff", `{"a~/b":1}`,
	} {
		f.Add([]byte(s))
	}
	for _, d := range registry {
		f.Add([]byte(`{"actions":[` + d.example + `]}`))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		task, err := Parse(body, nil)
		if err != nil {
			var invalid *Invalid
			if !errors.As(err, &invalid) || len(invalid.Faults) == 0 {
				t.Fatalf("Parse gave %T, want *Invalid with faults", err)
			}
			for _, f := range invalid.Faults {
				if f.Message == "" || !utf8.ValidString(f.Message) || f.Path != "" && f.Path[0] != '/' {
					t.Fatalf("fault %q", f)
				}
			}
			invalid.Warnings() // of half a task
			return
		}
		b, err := json.Marshal(task)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, new(Task)); err != nil {
			t.Fatalf("a task cannot be read again: %v", err)
		}
	})
}

// TestFaultsCountFiles: what is said of the files of a request is so.
func TestFaultsCountFiles(t *testing.T) {
	for n, want := range []string{"the request has no files", "the request has 1 file, $file:0", "the request has 2 files, $file:0 to $file:1"} {
		_, err := Parse([]byte(`{"actions":[{"uploadFile":["a","$file:7"]}]}`), make([]Upload, n))
		if want = "/actions/0/uploadFile/1: $file:7 does not exist: " + want; err == nil || err.Error() != want {
			t.Errorf("with %d files: %v, want %s", n, err, want)
		}
	}
}

// TestShortWordsAreNotGuessed: of three letters, one may be wrong.
func TestShortWordsAreNotGuessed(t *testing.T) {
	_, err := Parse([]byte(`{"actions":[{"press":[null,"Foo"]},{"press":[null,"Entr"]}]}`), nil)
	if err == nil || strings.Contains(err.Error(), "F1") || !strings.Contains(err.Error(), `did you mean "Enter"?`) {
		t.Errorf("the faults are %v, want a guess for Entr alone", err)
	}
}

// BenchmarkParse reads a short request.
func BenchmarkParse(b *testing.B) {
	body := []byte(`{"actions":[{"open":"https://example.com/text"},{"getText":"#h"}],"timeout":30000}`)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Parse(body, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func TestDidYouMeanNamesWhatIsNear(t *testing.T) {
	names := ActionNames()
	for word, want := range map[string]string{
		"clik": "click", "Click": "click", "CLICK": "click", "cilck": "click", "klick": "click", "clicks": "click",
		"gettext": "getText", "get_text": "getText", "getTxt": "getText", "screenshoot": "screenshot", "waitForElment": "waitForElement",
		"opn": "open", "lop": "loop", "iff": "if", "evalute": "evaluate", "setCookie": "setCookies", "byPassChalenge": "byPassChallenge",
		"": "", "xyz": "", "somethingElse": "", "q": "", "navigate": "",
	} {
		got := lang.DidYouMean(word, names)
		if want == "" && got != "" || want != "" && got != `; did you mean "`+want+`"?` {
			t.Errorf("%q: %s, want %q", word, got, want)
		}
	}
}
