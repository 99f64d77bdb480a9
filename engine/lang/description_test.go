package lang

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func readSelector(t *testing.T, body string) (Selector, []string) {
	t.Helper()
	n, fault := ReadNode([]byte(body))
	if fault != nil {
		t.Fatal(fault)
	}
	d := new(Decoder)
	s := SelectorShape.Read(d, n)
	var faults []string
	for _, f := range d.Faults() {
		faults = append(faults, f.String())
	}
	return s, faults
}

// TestDescriptions: what the page script gets of a description, and how people read it.
func TestDescriptions(t *testing.T) {
	values := cacheOf(t, `{"who":"Ada","n":3}`)
	for body, want := range map[string][2]string{
		`{"role":"button","name":"Save"}`:                              {`{"role":"button","name":"Save"}`, `button 'Save'`},
		`{"role":"Image"}`:                                             {`{"role":"image"}`, `image`},
		`{"text":"${who} has ${n}","exact":true}`:                      {`{"text":"Ada has 3","exact":true}`, `text 'Ada has 3'`},
		`{"label":"A","nth":-1,"visible":false}`:                       {`{"label":"A","nth":-1,"visible":false}`, `label 'A' that is hidden (nth -1)`},
		`{"testId":"x","within":"#a"}`:                                 {`{"testId":"x","within":{"k":"css","s":"#a","a":"#a"}}`, `testId 'x' in #a`},
		`{"selector":"//li","hasText":"b","within":{"role":"list"}}`:   {`{"hasText":"b","selector":{"k":"xpath","s":"//li","a":"//li"},"within":{"k":"by","s":{"role":"list"},"a":"list"}}`, `//li with the text 'b' in list`},
		`{"or":["#a",{"text":"b"}]}`:                                   {`{"or":[{"k":"css","s":"#a","a":"#a"},{"k":"by","s":{"text":"b"},"a":"text 'b'"}]}`, `#a or text 'b'`},
		`{"placeholder":"p","or":["$key b"],"exact":null,"nth":null}`:  {`{"placeholder":"p","or":[{"k":"css","s":"b","r":"key","a":"$key b"}]}`, `placeholder 'p' or $key b`},
		`{"role":"heading","level":2,"has":"b","hasNot":{"text":"c"}}`: {`{"role":"heading","has":{"k":"css","s":"b","a":"b"},"hasNot":{"k":"by","s":{"text":"c"},"a":"text 'c'"},"level":2}`, `heading of level 2 that has (b) that does not have (text 'c')`},
		`{"role":"checkbox","checked":"mixed","description":"d"}`:      {`{"role":"checkbox","description":"d","states":{"checked":"mixed"}}`, `checkbox that is checked in part description 'd'`},
		`{"role":"tab","selected":false,"hasNotText":"x"}`:             {`{"role":"tab","hasNotText":"x","states":{"selected":"false"}}`, `tab that is not selected without the text 'x'`},
		`{"alt":"a","title":"t","exact":true}`:                         {`{"alt":"a","title":"t","exact":true}`, `alt 'a' title 't'`},
		`{"role":"link","name":{"regex":"^${who}$","flags":"i"}}`:      {`{"role":"link","re":{"name":{"t":"/^Ada$/i","s":1,"b":true,"i":[[0,0],[4,2,4],[5,3,65,65,97,97],[5,4,68,68,100,100],[5,5,65,65,97,97],[4,6,8],[1,0]]}}}`, `link /^Ada$/i`},
		`{"text":{"regex":"\\u00e4."}}`:                                {`{"re":{"text":{"t":"/\\u00e4./","s":1,"l":"ä","i":[[0,0],[5,2,228,228],[7,3],[1,0]]}}}`, `text /\u00e4./`},
	} {
		s, faults := readSelector(t, body)
		if faults != nil {
			t.Errorf("%s: %v", body, faults)
			continue
		}
		got, err := s.Target(values)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		b, err := json.Marshal(got.Sel)
		if err != nil || got.Kind != "by" || string(b) != want[0] || got.As != want[1] {
			t.Errorf("%s is %s %s, %q, want %s, %q (%v)", body, got.Kind, b, got.As, want[0], want[1], err)
		}
	}
}

// TestDescriptionsKnowTheirElements: the saved elements that a description begins with.
func TestDescriptionsKnowTheirElements(t *testing.T) {
	s, _ := readSelector(t, `{"role":"row","name":"${n}","within":{"selector":"$a b","hasText":"${m}"},"or":["$this c",{"text":"x","within":"$z"}]}`)
	keys := map[string]bool{}
	s.Keys(keys)
	if got := fmt.Sprint(keys); got != "map[$a:true $this:true $z:true m:true n:true]" {
		t.Errorf("the keys are %s", got)
	}
	target, err := s.Target(cacheOf(t, `{"n":"1","m":"2"}`))
	if err != nil || target.Root() != "a" || !target.Uses("this") || !target.Uses("z") || target.Uses("b") {
		t.Errorf("it begins with %q (%v)", target.Root(), err)
	}
}

// TestDescriptionsAreBounded: what is too much is a fault.
func TestDescriptionsAreBounded(t *testing.T) {
	nested := strings.Repeat(`{"role":"list","within":`, 51) + `"a"` + strings.Repeat("}", 51)
	for body, want := range map[string]string{
		`{"text":"` + strings.Repeat("a", maxSelector+1) + `"}`:     "want a text of at most 8192 bytes, not 8193",
		`{"selector":"` + strings.Repeat("a", maxSelector+1) + `"}`: "want a selector of at most 8192 bytes",
		nested: "want a selector of at most 50 parts, not 52",
		`{"or":[` + strings.Repeat(`"a",`, 20) + `"a"]}`: "want an array of 1 to 20 selectors",
		`{"role":"button","nth":1000001}`:                "want a place in the list of matches from -1000000 to 1000000",
	} {
		if _, faults := readSelector(t, body); !strings.Contains(strings.Join(faults, "; "), want) {
			t.Errorf("%.60s…: %v, want %s", body, faults, want)
		}
	}
	if s, faults := readSelector(t, `{"role":"list","name":"`+strings.Repeat("ä", 2000)+`"}`); faults != nil || len(s.String()) > maxWords+10 {
		t.Errorf("a long name is told in %d bytes: %v", len(s.String()), faults)
	}
}
