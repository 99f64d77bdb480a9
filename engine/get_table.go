package engine

import "troupe/engine/lang"

// tableWanted is a table, and how its rows are wanted.
type tableWanted struct {
	element lang.Selector
	objects bool
}

func (v tableWanted) Keys(to map[string]bool) { v.element.Keys(to) }

var _ = define(Action[tableWanted]{
	Name: "getTable", Group: "Data extraction",
	Doc: "Returns a table: its caption, its headings, and its rows with the text that a person reads in each cell. A cell that spans several rows or columns is in each of them. Rows that cannot be seen are left out. Rows and cells are in the order of `aria-rowindex` and `aria-colindex`, or else as they are seen. Grids that show a part of many rows keep them in any order. " +
		"The table is the first of the page, or that of `selector`: an element `table`, or one with the role `table`, `grid` or `treegrid`. Several rows of headings are joined for each column. " +
		"With `objects: true` each row is an object with the headings as names. An empty heading is `column 2`, and a second `Price` is `Price 2`.",
	Value: lang.Shape[tableWanted]{
		Words:  "{} or {selector, objects}",
		Schema: `{"type":"object","properties":{"selector":` + lang.SelectorShape.Schema + `,"objects":{"type":"boolean"}},"additionalProperties":false}`,
		Read: func(d *lang.Decoder, n *lang.Node) tableWanted {
			v := tableWanted{element: firstTable}
			d.ReadObject(n, "a table",
				lang.Field("selector", func(f *lang.Node) { v.element = lang.SelectorShape.Read(d, f) }),
				lang.Field("objects", func(f *lang.Node) { v.objects = lang.BoolShape.Read(d, f) }),
			)
			return v
		},
	},
	Result:  "`{caption, headings, rows}`; rows are arrays of strings, or objects",
	Example: `{"if":{"condition":"h1","then":[{"evaluate":"document.body.insertAdjacentHTML('beforeend', '<table><tr><th>Name<th>Price<tr><td>Lamp<td>49</table>')"},{"getTable":{"objects":true}}]}}`,
	Read: func(r *Run, s *Step, v tableWanted) (Call, error) {
		return r.page.find("table", v.element, map[string]any{"objects": v.objects})
	},
})

var firstTable = lang.SelectorShape.Read(new(lang.Decoder), &lang.Node{Kind: '"', Text: "table,[role=table],[role=grid],[role=treegrid]"})
