package engine

import (
	"context"
	"encoding/json"
	"math"
	"strconv"

	"troupe/engine/lang"
)

// iteration is a loop over one of: elements, values, numbers and pages.
type iteration struct {
	elements *lang.Selector
	scroll   bool // more elements come when the page is scrolled to its end
	values   *lang.Template
	numbers  []lang.Template // from, to and step
	next     *lang.Selector  // what leads to the next page
	as       string
	max      int
	do       []Step
}

func (v iteration) Keys(to map[string]bool) {
	for _, s := range []*lang.Selector{v.elements, v.next} {
		if s != nil {
			s.Keys(to)
		}
	}
	if v.values != nil {
		v.values.Keys(to)
	}
	for _, n := range v.numbers {
		n.Keys(to)
	}
}

func (v iteration) lists() [][]Step { return [][]Step{v.do} }

func (v iteration) writes() []string {
	if v.elements != nil {
		return nil
	}
	return []string{v.as}
}

// maxNumber bounds the numbers of a range, so that counting is exact.
const maxNumber = 1 << 40

const forEachSchema = `{"type":"object","required":["do"],"additionalProperties":false,"properties":{"elements":{"$ref":"#/$defs/selector"},"scroll":{"type":"boolean","default":false},` +
	`"values":` + valueRef + `,"range":{"type":"array","items":{"anyOf":[{"type":"integer"},{"type":"string"},{"type":"object"}]},"minItems":2,"maxItems":3},"pages":{"type":"object","required":["next"],"additionalProperties":false,"properties":{"next":{"$ref":"#/$defs/selector"}}},` +
	`"as":{"type":"string","default":"item"},"max":{"type":"integer","minimum":1,"maximum":10000,"default":100},"do":{"$ref":"#/$defs/actions"}},` +
	`"oneOf":[{"required":["elements"]},{"required":["values"]},{"required":["range"]},{"required":["pages"]}]}`

var _ = define(Action[iteration]{
	Name: "forEach", Group: "Control flow",
	Doc: "Runs a list of actions once for each of several things, at most `max` (default: 100, at most 10000); a warning says if there were more. `break` and `continue` end the loop and the iteration. " +
		"`elements` is a selector: `$this` is the element, as in `loop`. With `scroll: true` the list is endless: after the last element the page is scrolled to its end, until nothing new comes within the action's time. " +
		"`values` is a value that is an array, such as `\"${rows}\"`, or an object, which gives `{key, value}`. `range` is `[from, to]` or `[from, to, step]`, both ends included. " +
		"`pages` is `{\"next\": selector}`: after each iteration the match is clicked, and the loop waits for the next page, or for other content of the page and an idle network. It ends if there is no match, if that is hidden or disabled, or if the click changes nothing. " +
		"The current value, number or number of the page is saved under the key `as` (default: `item`).",
	Value:     lang.Shape[iteration]{Words: "{elements, values, range or pages; as, max, do}", Schema: forEachSchema},
	Decode:    readForEach,
	Unbounded: true,
	Result:    loopResult,
	Example:   `{"forEach":{"pages":{"next":"#next"},"max":5,"do":[{"forEach":{"elements":".product","do":[{"getText":"$this h3","options":{"push":"titles"}}]}}]}}`,
	Run: func(ctx context.Context, r *Run, s *Step, v iteration) (Result, error) {
		defer r.blocks.enter(s)()
		l := &loopState{run: r, pushed: map[string][]Result{}}
		defer l.begin()()
		var err error
		switch {
		case v.elements != nil:
			err = l.forElements(ctx, s, v)
		case v.next != nil:
			err = l.forPages(ctx, s, v)
		default:
			err = l.forValues(ctx, s, v)
		}
		if err != nil {
			return l.interrupted(err)
		}
		return l.result(l.i)
	},
})

func readForEach(d *decoder, n *lang.Node) (v iteration) {
	s := d.step
	v.max, v.as = DefaultIterations, "item"
	var do, as, scroll *lang.Node
	kinds := 0
	selector := func(to **lang.Selector) func(*lang.Node) {
		return func(f *lang.Node) { sel := lang.SelectorShape.Read(&d.Decoder, f); *to = &sel; kinds++ }
	}
	ok := d.ReadObject(n, "forEach",
		lang.Field("elements", selector(&v.elements)),
		lang.Field("scroll", func(f *lang.Node) { scroll, v.scroll = f, lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("values", func(f *lang.Node) { t := lang.TemplateShape.Read(&d.Decoder, f); v.values = &t; kinds++ }),
		lang.Field("range", func(f *lang.Node) { v.numbers = readRange(d, f); kinds++ }),
		lang.Field("pages", func(f *lang.Node) {
			before := kinds
			if d.ReadObject(f, "pages", lang.Field("next", selector(&v.next))) && kinds == before {
				d.Fault(f, "want next, the selector of what leads to the next page")
			}
			kinds = before + 1
			d.network = true
		}),
		lang.Field("as", func(f *lang.Node) { as, v.as = f, lang.KeyShape.Read(&d.Decoder, f) }),
		lang.Field("max", func(f *lang.Node) { v.max = iterationsShape.Read(&d.Decoder, f) }),
		lang.Field("do", func(f *lang.Node) { do = f }),
	)
	if !ok {
		return v
	}
	if kinds != 1 {
		d.Fault(n, "want one of elements, values, range and pages, not %d of them", kinds)
	}
	if scroll != nil && v.elements == nil {
		d.Fault(scroll, "scroll goes with elements")
	}
	if as != nil && v.elements != nil {
		d.Fault(as, "as goes with values, range and pages: the element is $this")
	}
	v.do = d.readLoop(n, do, s)
	return v
}

func readRange(d *decoder, n *lang.Node) (numbers []lang.Template) {
	if !n.IsArray() || len(n.Elements) < 2 || len(n.Elements) > 3 {
		d.Fault(n, "want [from, to] or [from, to, step], not %s", n.TypeName())
		return nil
	}
	for i, e := range n.Elements {
		if e.Kind == '0' && (e.Number != math.Trunc(e.Number) || math.Abs(e.Number) > maxNumber || i == 2 && e.Number == 0) {
			d.Fault(e, "want a whole number, and a step other than 0, not %s", e.Raw)
		}
		numbers = append(numbers, lang.TemplateShape.Read(&d.Decoder, e))
	}
	return numbers
}

// forElements goes through the matches of a selector.
func (l *loopState) forElements(ctx context.Context, s *Step, v iteration) error {
	over := repetition{each: v.elements, do: v.do, max: v.max, limit: "max"}
	n, err := l.find(ctx, s, over)
	if err != nil {
		return err
	}
	for {
		for l.i < n {
			if err := ctx.Err(); err != nil {
				return err
			}
			did, ended := 1, false
			if l.run.batches.onlyReads(v.do) {
				did, err = l.iterate(ctx, over, n)
			} else {
				ended, err = l.turn(ctx, v.do)
			}
			if err != nil {
				return err
			}
			if l.i += did; ended {
				return nil
			}
		}
		if !v.scroll || n >= v.max {
			return nil
		}
		more, err := l.scrollOn(ctx, s)
		if err != nil || more <= n {
			return err
		}
		n = min(more, v.max)
	}
}

// forValues goes through saved values or numbers.
func (l *loopState) forValues(ctx context.Context, s *Step, v iteration) error {
	list, left, err := l.values(ctx, s, v)
	if err != nil {
		return err
	}
	if left > 0 {
		l.run.path = s.Path
		l.run.warn("%d of %d values %s left: max is %d", left, left+len(list), Plural(left, "was", "were"), v.max)
	}
	for _, value := range list {
		if !l.run.cache.Set(v.as, value) {
			return errCacheFull
		}
		over, err := l.turn(ctx, v.do)
		if err != nil {
			return err
		}
		if l.i++; over {
			return nil
		}
	}
	return nil
}

// values are those to go through, at most max, and how many more there are.
func (l *loopState) values(ctx context.Context, s *Step, v iteration) (list []json.RawMessage, left int, err error) {
	bctx, cancel := l.run.bound(ctx, s)
	defer cancel()
	if v.values != nil {
		made, err := l.run.make(bctx, s, *v.values)
		if err != nil {
			return nil, 0, err
		}
		return lang.Items(made, v.max)
	}
	numbers := []int64{0, 0, 1}
	for i, t := range v.numbers {
		made, err := l.run.make(bctx, s, t)
		if err != nil {
			return nil, 0, err
		}
		var text string
		if json.Unmarshal(made, &text) != nil {
			text = string(made)
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n > maxNumber || n < -maxNumber || i == 2 && n == 0 {
			return nil, 0, Problemf(CodeInvalidValue, "range wants whole numbers, and a step other than 0, not %s", lang.Short(string(made), 100))
		}
		numbers[i] = n
	}
	from, to, step := numbers[0], numbers[1], numbers[2]
	if to < from && step > 0 || to > from && step < 0 {
		return nil, 0, nil
	}
	all := (to-from)/step + 1
	for i := range min(all, int64(v.max)) {
		list = append(list, strconv.AppendInt(nil, from+i*step, 10))
	}
	return list, int(all) - len(list), nil
}
