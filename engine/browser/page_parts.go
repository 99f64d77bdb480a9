package browser

import (
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
)

// All are scripts and not functions, so that each knows the names of the ones
// before. Where one is there already, its names are taken, and nothing
// of it runs again.
var (
	base = newPart(func() string {
		return "const T={tell:'" + tellBinding + "'};\n" + lean(coreJS, settleJS, findJS, firstJS) +
			"Object.defineProperty(globalThis,'" + object + "',{value:T})\n"
	})
	arrival = partOf(&loadJS, &calmJS)
	entry   = newPart(func() string { return base.script() + arrival.script() })
	common  = partOf(&seekJS, &readJS, &pageJS, &rehearseJS)
	actions = partOf(&reachJS, &placeJS, &freeJS, &standinJS, &guardJS, &fillJS, &takenJS, &takenOutJS, &actJS)
	// moreActions are what less frequent actions need besides.
	moreActions = partOf(&textJS, &findbyJS, &viewJS, &chooseJS, &selectionJS, &dropJS, &conditionsJS, &foreachJS, &outwardJS)
	locators    = partOf(&eachJS, &rolesJS, &statedJS, &expressionsJS, &pointingJS, &statesJS, &shownJS, &unreadJS, &nearJS)
	// snapshots are what a snapshot needs, and readers what reads a whole document.
	snapshots = partOf(&refsJS, &lastingJS, &saidJS, &treeJS, &distilJS)
	readers   = partOf(&formulasJS, &markdownJS, &tablesJS, &aboutPageJS, &typedJS, &schemaJS)
)

// part is a part of the page script that a document gets when it needs it. It is made when
// the first one does: a program that plays no tasks needs none.
type part struct {
	script  func() string
	command func() []byte // the beginning of the parameters that run it
}

func newPart(script func() string) *part {
	p := &part{script: sync.OnceValue(script)}
	p.command = sync.OnceValue(func() []byte {
		text, err := jsonv2.Marshal(p.script() + "0")
		if err != nil {
			panic(err)
		}
		return append(append([]byte(`{"expression":`), text...), `,"contextId":`...)
	})
	return p
}

func partOf(files ...*string) *part {
	return newPart(func() string {
		texts := make([]string, len(files))
		for i, f := range files {
			texts[i] = *f
		}
		return lean(texts...)
	})
}

// runIn is the parameters of Runtime.evaluate that run the part in a world. The script
// is long and always the same, so it is written as JSON once. It ends with a number: the
// browser would keep a handle of what it gives otherwise.
func (p *part) runIn(id runtime.ExecutionContextID) jsonv2.Value {
	begin := p.command()
	b := make([]byte, 0, len(begin)+24)
	return append(strconv.AppendInt(append(b, begin...), int64(id), 10), '}')
}

// functions are the names of what a part puts into T.
func (p *part) functions() (names []string) {
	for line := range strings.Lines(p.script()) {
		if rest, ok := strings.CutPrefix(line, "T."); ok {
			if name, _, ok := strings.Cut(rest, " = "); ok {
				names = append(names, name)
			}
		}
	}
	return names
}

// parts tell by the name of a function of T in which part it is.
var parts = sync.OnceValue(func() map[string]*part {
	all := map[string]*part{}
	for _, p := range []*part{base, arrival, common, actions, moreActions, locators, snapshots, readers} {
		for _, name := range p.functions() {
			all[name] = p
		}
	}
	return all
})

// needs are the parts that a call needs besides the base, and whether it gives the focus
// to something, or finds where that will be clicked.
type needs struct{ arrival, common, actions, moreActions, locators, snapshots, readers, focus bool }

var focusing = map[string]bool{
	"point": true, "fill": true, "focus": true, "check": true, "select": true, "drag": true, "lift": true, "clickByScript": true, "selectText": true,
}

// needsOf finds what a call needs by the functions that it calls, alone or as a part of a
// call that does several things. Within texts the quotes of these would be written as \".
func needsOf(call string) needs {
	n := needs{common: true, locators: strings.Contains(call, `"k":"by"`)} // a target that is a description
	rest, _ := strings.CutPrefix(call, object+".")
	if strings.HasPrefix(rest, "never(") || strings.HasPrefix(rest, "stay(") {
		n.common = false
	}
	if inside, runs := strings.CutPrefix(rest, "run('"); runs {
		name, inner, _ := strings.Cut(inside, "'")
		n.focus = focusing[name]
		p := parts()[name]
		n.common, n.snapshots = p != base && p != arrival, p == snapshots
		n.add(p)
		if name == "batch" || name == "loop" {
			for _, after := range strings.Split(inner, `["`)[1:] {
				if name, _, ok := strings.Cut(after, `",`); ok {
					n.add(parts()[name])
				}
			}
		}
	}
	n.locators = n.locators || n.snapshots || n.readers
	n.moreActions = n.moreActions || n.locators
	n.actions = n.actions || n.moreActions
	return n
}

func (n *needs) add(p *part) {
	switch p {
	case arrival:
		n.arrival = true
	case common:
		n.common = true
	case actions:
		n.actions = true
	case moreActions:
		n.moreActions = true
	case locators:
		n.locators = true
	case readers:
		n.readers = true
	}
}
