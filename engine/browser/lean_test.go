package browser

import (
	"regexp"
	"strings"
	"testing"
)

// pageFiles are the files of all parts.
var pageFiles = []string{
	coreJS, settleJS, findJS, firstJS,
	loadJS, calmJS, seekJS, readJS, pageJS, rehearseJS,
	reachJS, placeJS, freeJS, standinJS, guardJS, fillJS, takenJS, actJS,
	textJS, findbyJS, viewJS, chooseJS, selectionJS, dropJS, conditionsJS, foreachJS, outwardJS,
	eachJS, rolesJS, statedJS, expressionsJS, pointingJS, statesJS, shownJS, unreadJS, nearJS,
	refsJS, lastingJS, saidJS, treeJS, distilJS,
	formulasJS, markdownJS, tablesJS, aboutPageJS, typedJS, schemaJS,
}

// TestLean keeps the page script small without changing what it says.
func TestLean(t *testing.T) {
	got := lean("// a comment\n  const a = 'é…'; // kept\n\n    // another\n  b();\n")
	if want := "const a = '\\u00e9\\u2026'; // kept\nb();\n"; got != want {
		t.Errorf("lean gave %q, want %q", got, want)
	}
	for _, r := range entry.script() + common.script() + actions.script() + moreActions.script() + locators.script() + readers.script() + snapshots.script() {
		if r >= 0x80 {
			t.Fatalf("the page script has %q, which is not ASCII", r)
		}
	}
	for _, f := range pageFiles {
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

// TestNamesAreUnique: the parts are scripts of one world. One that declares a name of
// another does not run where that one has.
func TestNamesAreUnique(t *testing.T) {
	declared := regexp.MustCompile(`(?m)^(?:const|let|class|function) (\w+)`)
	seen := map[string]int{}
	for i, file := range pageFiles {
		for _, m := range declared.FindAllStringSubmatch(file, -1) {
			if at, ok := seen[m[1]]; ok {
				t.Errorf("%s is declared in the files %d and %d", m[1], at, i)
			}
			seen[m[1]] = i
		}
	}
	if len(seen) < 500 {
		t.Errorf("%d names", len(seen))
	}
}

// TestNeeds: what a call needs is known by what it calls, alone or among others, and not by
// what it says.
func TestNeeds(t *testing.T) {
	alone := func(name string) string { return object + ".run('" + name + "',{})" }
	among := func(name string) string { return object + `.run('batch',{"ops":[["` + name + `",{}]]})` }
	for p, want := range map[*part]needs{
		base:        {},
		arrival:     {arrival: true},
		common:      {common: true},
		actions:     {common: true, actions: true},
		moreActions: {common: true, actions: true, moreActions: true},
		locators:    {common: true, actions: true, moreActions: true, locators: true},
		snapshots:   {common: true, actions: true, moreActions: true, locators: true, snapshots: true},
		readers:     {common: true, actions: true, moreActions: true, locators: true, readers: true},
	} {
		if len(p.functions()) == 0 {
			t.Error("a part has no functions")
		}
		for _, name := range p.functions() {
			got := needsOf(alone(name))
			got.focus = false
			if got != want {
				t.Errorf("%s needs %+v, want %+v", name, got, want)
			}
			want := want
			if want.common, want.snapshots = p == common, false; p == snapshots { // a batch asks for what it lacks itself
				want.actions, want.moreActions, want.locators = false, false, false // a list of actions calls none of it
			}
			if got := needsOf(among(name)); got != want {
				t.Errorf("a batch with %s needs %+v, want %+v", name, got, want)
			}
		}
	}
	if !needsOf(alone("fill")).focus || needsOf(alone("text")).focus || needsOf(among("fill")).focus {
		t.Error("what gives the focus is not known")
	}
	for call, want := range map[string]needs{
		`.run('batch',{"ops":[["load",{}],["byText",{"text":"a"}]]})`:       {arrival: true, actions: true, moreActions: true},
		`.run('loop',{"ahead":{"ops":[["byAttribute",{}]]}})`:               {common: true, actions: true, moreActions: true},
		`.run('batch',{"ops":[["text",{"t":{"s":"[\"byText\",1]"}}]]})`:     {},
		`.run('text',{"t":{"s":"a"},"in":[["byText",1]]})`:                  {},
		`.run('text',{"t":{"k":"by","s":{}}})`:                              {actions: true, moreActions: true, locators: true},
		`.run('store',{"local":[["fill","a"],["point","b"]],"session":[]})`: {common: true},
		`.stay()`:   {},
		`.never(1)`: {},
		`.other()`:  {common: true},
	} {
		if got := needsOf(object + call); got != want {
			t.Errorf("%s needs %+v, want %+v", call, got, want)
		}
	}
}
