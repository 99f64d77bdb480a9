package browser

import (
	"strings"
	"testing"
)

// TestLean keeps the page script small without changing what it says.
func TestLean(t *testing.T) {
	got := lean("// a comment\n  const a = 'é…'; // kept\n\n    // another\n  b();\n")
	if want := "const a = '\\u00e9\\u2026'; // kept\nb();\n"; got != want {
		t.Errorf("lean gave %q, want %q", got, want)
	}
	for _, r := range whole.script + hands.script + tools.script + eyes.script + readers.script + survey.script {
		if r >= 0x80 {
			t.Fatalf("the page script has %q, which is not ASCII", r)
		}
	}
	for _, f := range []string{coreJS, settleJS, findJS, firstJS, seekJS, reachJS, readJS, pageJS, calmJS, rehearseJS, placeJS, freeJS, findbyJS, viewJS, guardJS, fillJS, takenJS, actJS, chooseJS, selectionJS, dropJS, conditionsJS, foreachJS, outwardJS, markdownJS, tablesJS, aboutPageJS, typedJS, schemaJS} {
		for line := range strings.Lines(f) {
			if strings.Count(line, "`")%2 == 1 {
				t.Errorf("a text spans lines, which lean would change: %s", line)
			}
			for _, r := range line {
				if r > 0xffff {
					t.Errorf("%q is beyond the basic plane: %s", r, line)
				}
			}
		}
	}
}

// TestHands: a call is known to need the hands, or the tools, by what it calls, alone or
// among others, and not by what it says.
func TestHands(t *testing.T) {
	for name := range strings.SplitSeq(hands.functions(), "|") {
		if !handy.MatchString(object + ".run('" + name + "',{})") {
			t.Errorf("%s does not get the hands", name)
		}
	}
	for name := range strings.SplitSeq(whole.functions(), "|") {
		if handy.MatchString(object+".run('"+name+"',{})") || tooled.MatchString(object+".run('"+name+"',{})") {
			t.Errorf("%s gets the hands", name)
		}
	}
	for name := range strings.SplitSeq(tools.functions(), "|") {
		if !tooled.MatchString(object+".run('"+name+"',{})") || !tooled.MatchString(object+`.run('batch',{"ops":[["`+name+`",{}]]})`) {
			t.Errorf("%s does not get the tools", name)
		}
	}
	for name := range strings.SplitSeq(readers.functions(), "|") {
		if !studious.MatchString(object+".run('"+name+"',{})") || !studious.MatchString(object+`.run('batch',{"ops":[["`+name+`",{}]]})`) {
			t.Errorf("%s does not get the readers", name)
		}
	}
	for call, want := range map[string]bool{
		`.run('batch',{"ops":[["load",{}],["byText",{"text":"a"}]]})`:       true,
		`.run('loop',{"ahead":{"ops":[["byAttribute",{}]]}})`:               true,
		`.run('batch',{"ops":[["text",{"t":{"s":"[\"byText\",1]"}}]]})`:     false,
		`.run('text',{"t":{"s":"a"},"in":[["byText",1]]})`:                  false,
		`.run('store',{"local":[["fill","a"],["point","b"]],"session":[]})`: false,
	} {
		if got := tooled.MatchString(object + call); got != want {
			t.Errorf("%s gets the tools: %t, want %t", call, got, want)
		}
		if handy.MatchString(object + call) {
			t.Errorf("%s gets the hands", call)
		}
	}
}
