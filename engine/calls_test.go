package engine

import (
	"fmt"
	"strings"
	"testing"
)

const callsPage = `<!doctype html><title>T</title><h1 id=h class=big>Hello</h1>
<input id=name value=old><input id=empty><button id=go>Go</button><input type=checkbox id=box>
<select id=sel><option value=a>A<option value=b>B</select>
<ul>` + "{{rows}}" + `</ul><div style="height:4000px"></div>`

// TestProtocolCalls counts the commands that each action sends to the browser:
// every one is a way there and back, so they are what an action costs.
func TestProtocolCalls(t *testing.T) {
	var rows strings.Builder
	for i := range 100 {
		fmt.Fprintf(&rows, "<li class=row><b>b%d</b><i>i%d</i><u>u%d</u></li>", i, i, i)
	}
	page := strings.Replace(callsPage, "{{rows}}", rows.String(), 1)
	in := ownBrowser(t)
	url := serve(t, page)

	// count plays actions on a page that is open and settled and has all of our
	// script, and counts.
	count := func(t *testing.T, actions string, failures int) int64 {
		t.Helper()
		if o := play(t, in, fmt.Sprintf(`{"actions":[{"open":%q},{"findByText":"Hello"}]}`, url), TaskEnv{}); len(o.Failures) > 0 {
			t.Fatal(o.Failures)
		}
		task := fmt.Sprintf(`{"config":{"actionTimeout":5000},"actions":[%s]}`, actions)
		before := in.browser.Sent()
		o := play(t, in, task, TaskEnv{})
		n := in.browser.Sent() - before
		if len(o.Failures) != failures {
			t.Fatalf("%d failures, want %d: %v", len(o.Failures), failures, o.Failures)
		}
		return n - 2 // forgetting the elements of the task before, and asking which page is left behind
	}

	const letters = "Ada Lovelace"
	for _, c := range []struct {
		name, actions string
		most          int64
	}{
		{"getText", `{"getText":"#h"}`, 1},
		{"getHTML", `{"getHTML":"#h"}`, 1},
		{"getAttribute", `{"getAttribute":["#h","class"]}`, 1},
		{"getValue", `{"getValue":"#name"}`, 1},
		{"extractAll", `{"extractAll":[".row",{"b":"b","i":"i"}]}`, 1},
		{"find", `{"find":"#h","options":{"save":"h"}}`, 1},
		{"findByText", `{"findByText":"Hello"}`, 1},
		{"findByAttribute", `{"findByAttribute":["class","big"]}`, 1},
		{"waitForElement", `{"waitForElement":"#h"}`, 1},
		{"if exists", `{"if":{"condition":"#h","then":[]}}`, 1},
		{"if a button exists", `{"if":{"condition":{"role":"button","name":"Go"},"then":[]}}`, 2},
		{"a button by its role and name", `{"click":{"role":"button","name":"Go"}}`, 5},
		{"five reads by what is perceived", `{"getText":{"role":"heading"}},{"getValue":{"role":"textbox","nth":0}},{"getText":{"text":"b50"}},{"getHTML":{"role":"heading","name":"Hello"}},{"extractAll":[{"role":"listitem"},{"b":"b"}]}`, 2},
		{"waitForElement with a state", `{"waitForElement":"#go","options":{"state":"enabled"}}`, 2},
		{"getText as it is read", `{"getText":"#h","options":{"visible":true}}`, 2},
		{"if exists not", `{"if":{"condition":"#nope","then":[]}}`, 1},
		{"if property", `{"if":{"condition":{"selector":"#name","property":"value","operator":"==","value":"old"},"then":[]}}`, 1},
		{"snapshot", `{"snapshot":true}`, 3}, // two parts of the page script go along
		{"scrollY", `{"scrollY":300}`, 1},
		{"evaluate", `{"evaluate":"return document.title"}`, 1},
		{"selectOption", `{"selectOption":["#sel","b"]}`, 1},
		{"five reads", `{"getText":"#h"},{"getValue":"#name"},{"getAttribute":["#h","class"]},{"getHTML":"#h"},{"extractAll":[".row",{"b":"b"}]}`, 1},
		{"reads in a branch", `{"if":{"condition":"#h","then":[{"getText":"#h"},{"getValue":"#name"},{"getHTML":"#h"}]}}`, 2},
		{"loop of three reads", `{"loop":{"each":".row","do":[{"getText":"$this b","options":{"push":"b"}},{"getText":"$this i","options":{"push":"i"}},{"getText":"$this u","options":{"push":"u"}}]}}`, 1},
		{"loop that repeats a read", `{"loop":{"repeat":100,"do":[{"getText":"#h","options":{"push":"h"}}]}}`, 1},
		{"click", `{"click":"#go"}`, 4},
		{"hover", `{"hover":"#go"}`, 3},
		{"press", `{"press":["#name","a"]}`, 3},
		{"press a chord", `{"press":[null,"Control+A"]}`, 4},
		{"check", `{"check":"#box"}`, 5},
		{"uncheck what is unchecked", `{"uncheck":"#box"}`, 1},
		{"fill", fmt.Sprintf(`{"fill":["#empty",%q]}`, letters), 1 + 2*int64(len(letters))},
		{"fill over a value", fmt.Sprintf(`{"fill":["#name",%q]}`, letters), 3 + 2*int64(len(letters))},
		{"fill with a letter of another keyboard", `{"fill":["#empty","ü"]}`, 3},
		{"click and read", `{"click":"#go"},{"getText":"#h"},{"getText":"#go"}`, 5},
		// Navigate, make our world, and wait for load; the page script is not
		// waited for.
		{"open", fmt.Sprintf(`{"open":%q}`, url), 4},
		{"open and read", fmt.Sprintf(`{"open":%q},{"getText":"#h"},{"getText":"#go"}`, url), 4},
		{"open and evaluate", fmt.Sprintf(`{"open":%q},{"evaluate":"return 1"},{"evaluate":"return 2"}`, url), 6},
		// The rest of the page script, in two parts, and the guard's way to tell go along
		// with the click.
		{"open and click", fmt.Sprintf(`{"open":%q},{"click":"#go"}`, url), 11},
		{"cookies", `{"getCookies":true}`, 1},
		{"saved data", `{"getSavedData":"x"},{"clearSavedData":true},{"wait":1}`, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := count(t, c.actions, 0); got > c.most || got < 1 && c.most > 0 {
				t.Errorf("%d calls, want at most %d", got, c.most)
			}
		})
	}
	t.Run("evidence that nobody needs", func(t *testing.T) {
		before := in.browser.Sent()
		o := play(t, in, `{"config":{"onFailure":{"screenshot":true,"html":true}},"actions":[{"getText":"#h"},{"getValue":"#name"}]}`, TaskEnv{})
		if n := in.browser.Sent() - before - 2; n != 1 || len(o.Failures) > 0 {
			t.Errorf("%d calls, want 1: %v", n, failuresOf(o))
		}
	})
	t.Run("reads that fail", func(t *testing.T) {
		// Each of the missing ones waits its own time, so each is a call.
		got := count(t, `{"getText":"#h"},{"getText":"#x","options":{"timeout":50}},{"getText":"#h"},{"getText":"#y","options":{"timeout":50}},{"getText":"#h"}`, 2)
		// Those that fail then ask for what may be in closed shadow roots, look once more
		// and ask what is near, the first of them also for the rest of the page script.
		if got != 3+7 {
			t.Errorf("%d calls, want 10", got)
		}
	})
}
