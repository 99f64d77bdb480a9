package browser

import (
	"crypto/rand"
	_ "embed"
	"fmt"
	"strings"
)

// The page side. Each file says what it takes and returns; together they make
// the one object T of our world, in parts (page_parts.go). The base is what a first look
// needs, and arrival what has to be there from the beginning of a document. A main document
// gets both at once; one of a frame in a process of its own gets the base. The common part
// goes on where a first look does not do: a document gets it with the first call that needs
// it, or asks for it. A document gets actions when something in it is first aimed at, filled
// or given the focus, and moreActions, with them, for all else that concerns an element.
// Locators, with both, find what is described by what a person perceives. The readers, with
// all three, read a whole document, and snapshots make snapshots and the references in
// them. Each document pays for every byte of its script.
var (
	//go:embed js/core.js
	coreJS string
	//go:embed js/settle.js
	settleJS string
	//go:embed js/find.js
	findJS string
	//go:embed js/first.js
	firstJS string

	//go:embed js/load.js
	loadJS string
	//go:embed js/calm.js
	calmJS string

	//go:embed js/seek.js
	seekJS string
	//go:embed js/read.js
	readJS string
	//go:embed js/page.js
	pageJS string
	//go:embed js/rehearse.js
	rehearseJS string
	// It is evaluated as it stands, apart from the page script.
	//go:embed js/rehearseactions.js
	rehearseActionsJS string

	//go:embed js/reach.js
	reachJS string
	//go:embed js/place.js
	placeJS string
	//go:embed js/free.js
	freeJS string
	//go:embed js/text.js
	textJS string
	//go:embed js/findby.js
	findbyJS string
	//go:embed js/view.js
	viewJS string
	//go:embed js/standin.js
	standinJS string
	//go:embed js/guard.js
	guardJS string
	//go:embed js/fill.js
	fillJS string
	//go:embed js/taken.js
	takenJS string
	//go:embed js/takenout.js
	takenOutJS string
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
	//go:embed js/stated.js
	statedJS string
	//go:embed js/expressions.js
	expressionsJS string
	//go:embed js/pointing.js
	pointingJS string
	//go:embed js/states.js
	statesJS string
	//go:embed js/shown.js
	shownJS string
	//go:embed js/unread.js
	unreadJS string
	//go:embed js/near.js
	nearJS string

	//go:embed js/formulas.js
	formulasJS string
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
	//go:embed js/lasting.js
	lastingJS string
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
)

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
