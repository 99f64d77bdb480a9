package browser

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/runtime"
)

// The page side. Each file says what it takes and returns; together they make
// the one object T of our world. The ground is what a first look needs, and common what
// goes on from there. A main document gets both at once; one of a frame in a process of
// its own, where nothing is compiled yet, gets the ground, and the common part when it
// asks for it. Hands are sent to a document when something in it is first aimed at, filled
// or given the focus, and tools, with the hands, for all else that sees to an element. Eyes,
// with both, are for what is pointed at by what a person perceives. The readers, with all
// three, are for what reads a whole document, and the survey
// for snapshots and the references that they give. Each document pays for every byte of
// its script.
var (
	//go:embed js/core.js
	coreJS string
	//go:embed js/settle.js
	settleJS string
	//go:embed js/find.js
	findJS string
	//go:embed js/first.js
	firstJS string

	//go:embed js/seek.js
	seekJS string
	//go:embed js/read.js
	readJS string
	//go:embed js/page.js
	pageJS string
	//go:embed js/calm.js
	calmJS string
	//go:embed js/rehearse.js
	rehearseJS string
	// It is evaluated as it stands, apart from the page script.
	//go:embed js/rehearsehands.js
	rehearseHandsJS string

	//go:embed js/reach.js
	reachJS string
	//go:embed js/place.js
	placeJS string
	//go:embed js/free.js
	freeJS string
	//go:embed js/findby.js
	findbyJS string
	//go:embed js/view.js
	viewJS string
	//go:embed js/guard.js
	guardJS string
	//go:embed js/fill.js
	fillJS string
	//go:embed js/taken.js
	takenJS string
	//go:embed js/act.js
	actJS string
	//go:embed js/choose.js
	chooseJS string
	//go:embed js/selection.js
	selectionJS string
	//go:embed js/drop.js
	dropJS string
	//go:embed js/conditions.js
	conditionsJS string
	//go:embed js/foreach.js
	foreachJS string
	//go:embed js/outward.js
	outwardJS string

	//go:embed js/each.js
	eachJS string
	//go:embed js/roles.js
	rolesJS string
	//go:embed js/pointing.js
	pointingJS string
	//go:embed js/states.js
	statesJS string
	//go:embed js/shown.js
	shownJS string
	//go:embed js/near.js
	nearJS string

	//go:embed js/markdown.js
	markdownJS string
	//go:embed js/tables.js
	tablesJS string
	//go:embed js/aboutpage.js
	aboutPageJS string
	//go:embed js/typed.js
	typedJS string
	//go:embed js/schema.js
	schemaJS string
	//go:embed js/refs.js
	refsJS string
	//go:embed js/said.js
	saidJS string
	//go:embed js/tree.js
	treeJS string
	//go:embed js/distil.js
	distilJS string

	// object is the name of T in our world. Numbers of worlds are given out
	// again in other processes of the browser, so a call may reach a stranger's
	// world; there this name means nothing, and no page can guess it.
	object = "troupe_" + rand.Text()

	// tellBinding is how the page script tells whether a click has hit.
	tellBinding = object + "_tell"

	// All are scripts and not functions, so that each knows the names of the ones
	// before. Where one is there already, its names are taken, and nothing
	// of it runs again.
	ground = &part{script: "const T={tell:'" + tellBinding + "'};\n" + lean(coreJS, settleJS, findJS, firstJS) +
		"Object.defineProperty(globalThis,'" + object + "',{value:T})\n"}
	common = &part{script: lean(seekJS, readJS, pageJS, calmJS, rehearseJS)}
	whole  = &part{script: ground.script + common.script}
	hands  = &part{script: lean(reachJS, placeJS, freeJS, guardJS, fillJS, takenJS, actJS)}
	// tools are what the hands need for less frequent actions.
	tools = &part{script: lean(findbyJS, viewJS, chooseJS, selectionJS, dropJS, conditionsJS, foreachJS, outwardJS)}
	eyes  = &part{script: lean(eachJS, rolesJS, pointingJS, statesJS, shownJS, nearJS)}
	// survey is what a snapshot needs, and readers what reads a whole document.
	survey  = &part{script: lean(refsJS, saidJS, treeJS, distilJS)}
	readers = &part{script: lean(markdownJS, tablesJS, aboutPageJS, typedJS, schemaJS)}

	// grounded finds a call for which the ground does, or which asks for what it lacks.
	grounded = regexp.MustCompile(`^` + object + `\.(?:run\('(?:` + ground.functions() + `)'|never\(|stay\()`)
	// handy finds a call of a function of the hands, alone or as a part of a call
	// that does several things. Within texts its quotes would be written as \".
	handy = regexp.MustCompile(`^` + object + `\.run\('(?:(?:` + hands.functions() + `)'|(?:batch|loop)',.*\["(?:` + hands.functions() + `)",)`)
	// tooled finds a call that needs the tools.
	tooled = regexp.MustCompile(`^` + object + `\.run\('(?:(?:` + tools.functions() + `)'|(?:batch|loop)',.*\["(?:` + tools.functions() + `)",)`)
	// focusing finds a call that gives the focus to something, or finds where it will be
	// clicked.
	focusing = regexp.MustCompile(`^` + object + `\.run\('(?:point|fill|focus|check|select|drag|lift|clickByScript|selectText)'`)
	// perceiving finds a call that needs the eyes: one of their functions, or a target
	// that is a description.
	perceiving = regexp.MustCompile(`"k":"by"|^` + object + `\.run\('(?:(?:` + eyes.functions() + `)'|(?:batch|loop)',.*\["(?:` + eyes.functions() + `)",)`)
	// studious finds a call that needs the readers.
	studious = regexp.MustCompile(`^` + object + `\.run\('(?:(?:` + readers.functions() + `)'|(?:batch|loop)',.*\["(?:` + readers.functions() + `)",)`)
	// surveying finds a call of a function of the survey.
	surveying = regexp.MustCompile(`^` + object + `\.run\('(?:` + survey.functions() + `)'`)
)

// part is a part of the page script that a document gets when it needs it.
type part struct {
	script string

	once    sync.Once
	command []byte // the beginning of the parameters that run it
}

// runIn is the parameters of Runtime.evaluate that run the part in a world. The script
// is long and always the same, so it is written as JSON once. It ends with a number: the
// browser would keep a handle of what it gives otherwise.
func (p *part) runIn(id runtime.ExecutionContextID) jsonv2.Value {
	p.once.Do(func() {
		text, err := jsonv2.Marshal(p.script + "0")
		if err != nil {
			panic(err)
		}
		p.command = append(append([]byte(`{"expression":`), text...), `,"contextId":`...)
	})
	b := make([]byte, 0, len(p.command)+24)
	return append(strconv.AppendInt(append(b, p.command...), int64(id), 10), '}')
}

// functions are the names of what a part puts into T.
func (p *part) functions() string {
	var names []string
	for _, m := range regexp.MustCompile(`(?m)^T\.(\w+) = `).FindAllStringSubmatch(p.script, -1) {
		names = append(names, m[1])
	}
	return strings.Join(names, "|")
}

// lean drops comments and indentation, and writes what is not ASCII as escapes:
// every new document gets the script, and half the bytes take half the time.
// Lines that begin with // are comments; no other comments are dropped, and no
// text of the script spans lines.
func lean(files ...string) string {
	var b strings.Builder
	for _, f := range files {
		for line := range strings.Lines(f) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "//") {
				continue
			}
			for _, r := range line {
				if r < 0x80 {
					b.WriteByte(byte(r))
				} else {
					fmt.Fprintf(&b, "\\u%04x", r) // none is beyond the basic plane
				}
			}
			b.WriteByte('\n')
		}
	}
	return b.String()
}
