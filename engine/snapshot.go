package engine

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// survey is the value of snapshot.
type survey struct {
	within                         *lang.Selector
	interactive, boxes, urls, diff bool
	seen                           bool // only what a person reads
	kindSaid                       bool // interactive was given
	depth                          *int
	maxTokens, limit               int
	from                           string
	find                           *lang.Text
}

func (v survey) Keys(to map[string]bool) {
	if v.within != nil {
		v.within.Keys(to)
	}
	if v.find != nil {
		v.find.Keys(to)
	}
}

const (
	defaultSnapshotTokens = 25_000
	leastSnapshotTokens   = 50
	maxSnapshotTokens     = 1_000_000
	defaultMatches        = 5
	maxMatches            = 50
	maxSnapshotDepth      = 100
	maxSnapshotFrames     = 50               // of other sites
	frameSnapshotTime     = 2 * time.Second  // for each of them
	framesSnapshotTime    = 10 * time.Second // for all of them
)

var snapshotFrom = regexp.MustCompile(`^(@e[1-9][0-9]{0,8})?(\+[0-9]{1,7})?$`)

var surveyShape = lang.Shape[survey]{
	Words: "true, or an object of what to show",
	Schema: `{"anyOf":[{"const":true},{"type":"object","additionalProperties":false,"properties":{` +
		`"within":` + lang.SelectorShape.Schema + `,"interactive":{"type":"boolean","default":false},"depth":{"type":"integer","minimum":0,"maximum":100},` +
		`"seen":{"type":"boolean","default":false},"boxes":{"type":"boolean","default":false},"urls":{"type":"boolean","default":false},"maxTokens":{"type":"integer","minimum":50,"maximum":1000000,"default":25000},` +
		`"from":{"type":"string","pattern":"^(@e[1-9][0-9]*)?(\\+[0-9]+)?$"},"diff":{"type":"boolean","default":false},"find":{"type":"string","minLength":1},"limit":{"type":"integer","minimum":1,"maximum":50,"default":5}}}]}`,
	Read: readSurvey,
}

func readSurvey(d *lang.Decoder, n *lang.Node) survey {
	v := survey{maxTokens: defaultSnapshotTokens, limit: defaultMatches}
	if n.Kind == 't' {
		return v
	}
	if !n.IsObject() {
		d.Fault(n, `want true, or an object such as {"interactive": true}, not %s`, n.TypeName())
		return v
	}
	var find, limit, from, diff *lang.Node
	d.ReadObject(n, "snapshot",
		lang.Field("within", func(f *lang.Node) { s := lang.SelectorShape.Read(d, f); v.within = &s }),
		lang.Field("interactive", func(f *lang.Node) { v.interactive, v.kindSaid = lang.BoolShape.Read(d, f), true }),
		lang.Field("seen", func(f *lang.Node) { v.seen = lang.BoolShape.Read(d, f) }),
		lang.Field("boxes", func(f *lang.Node) { v.boxes = lang.BoolShape.Read(d, f) }),
		lang.Field("urls", func(f *lang.Node) { v.urls = lang.BoolShape.Read(d, f) }),
		lang.Field("diff", func(f *lang.Node) { diff, v.diff = f, lang.BoolShape.Read(d, f) }),
		lang.Field("depth", func(f *lang.Node) {
			depth := lang.IntShape("a number of levels", 0, maxSnapshotDepth).Read(d, f)
			v.depth = &depth
		}),
		lang.Field("maxTokens", func(f *lang.Node) {
			v.maxTokens = lang.IntShape("a number of tokens", leastSnapshotTokens, maxSnapshotTokens).Read(d, f)
		}),
		lang.Field("limit", func(f *lang.Node) {
			limit, v.limit = f, lang.IntShape("a number of matches", 1, maxMatches).Read(d, f)
		}),
		lang.Field("from", func(f *lang.Node) {
			from, v.from = f, d.ReadNonEmpty(f, "the place to go on from")
			if f.IsString() && !snapshotFrom.MatchString(v.from) {
				d.Fault(f, `want the "next" of an earlier snapshot, such as "@e12+3", not %s`, f.Describe())
			}
		}),
		lang.Field("find", func(f *lang.Node) {
			t := lang.NonEmptyShape("text").Read(d, f)
			find, v.find = f, &t
		}),
	)
	switch {
	case limit != nil && find == nil:
		d.Fault(limit, "limit goes with find")
	case find != nil && (from != nil || v.diff):
		d.Fault(find, "find cannot stand with from or diff: its matches are from the whole page")
	case from != nil && v.diff:
		d.Fault(diff, "diff cannot stand with from")
	}
	return v
}

var _ = define(Action[survey]{
	Name: "snapshot", Group: "Data extraction",
	Doc: "Returns what a person would perceive of the page, as a tree of roles and names. The text has the format of Playwright's aria snapshots. Frames of any site and shadow roots are a part of it. " +
		"Elements have references such as `[ref=e5]`: `\"@e5\"` is a selector in every action. " +
		"`within` shows only what is in an element, `interactive` only what can be acted upon, with headings, and `depth` only so many levels. `boxes` adds places, `urls` the addresses of links. " +
		"`seen` leaves out texts that no person reads, and what is `aria-hidden`. `maxTokens` bounds the text, in characters / 4; `next` in the result is where `from` goes on. `diff` shows only what has changed since the last snapshot of the session, and after an interactive one the new texts too. " +
		"`find` gives the elements that are most like some words, at most `limit`. See [Snapshots](../snapshots.md).",
	Value:   surveyShape,
	Result:  "`{\"snapshot\", \"url\", \"title\", \"tokens\", \"refs\"}`, with `next` and `left` where it was cut, `diff`, `changed`, `moved` and `gone` with `diff`; `{\"matches\", \"url\", \"title\", \"tokens\"}` with `find`",
	Example: `{"snapshot":{"interactive":true,"maxTokens":500}}`,
	Run:     func(ctx context.Context, r *Run, s *Step, v survey) (Result, error) { return r.survey(ctx, s, v) },
})

// survey takes a snapshot.
func (r *Run) survey(ctx context.Context, s *Step, v survey) (Result, error) {
	p := &surveying{run: r, step: s, value: v, interactive: v.interactive || v.diff && !v.kindSaid && r.refs.lastInteractive(r.tabs.Current())}
	if v.find != nil {
		text, err := v.find.Expand(r.cache)
		if err != nil {
			return nil, err
		}
		p.words = text
	}
	if err := p.look(ctx); err != nil {
		return nil, err
	}
	if v.find != nil {
		return p.matches()
	}
	return p.tree()
}

// surveying is one snapshot that is taken.
type surveying struct {
	run   *Run
	step  *Step
	value survey
	words string // to find

	tab   *browser.Tab
	place []browser.Part
	page  pageTree

	interactive bool
	frames      int // of other sites that were looked into
	foreign     int // of sites that are not the task's
	until       time.Time
}

// argument is what the page script is asked for.
func (p *surveying) argument() map[string]any {
	v := p.value
	arg := map[string]any{"free": p.run.refs.free()}
	for name, yes := range map[string]bool{"interactive": p.interactive, "seen": v.seen, "boxes": v.boxes, "urls": v.urls} {
		if yes {
			arg[name] = true
		}
	}
	if v.depth != nil {
		arg["depth"] = *v.depth
	}
	if v.find != nil {
		arg["find"], arg["limit"] = p.words, v.limit
	}
	return arg
}

// look asks the page, and the frames of other sites in it.
func (p *surveying) look(ctx context.Context) error {
	pc := &p.run.page
	c := Call{Fn: "snapshot", Arg: p.argument()}
	if p.value.within != nil {
		var err error
		if c, err = pc.find("snapshot", *p.value.within, c.Arg); err != nil {
			return err
		}
	}
	res, err := pc.call(ctx, p.step, c)
	if err != nil {
		return err
	}
	p.tab, p.place, p.until = p.run.tabs.Current(), pc.place, time.Now().Add(framesSnapshotTime)
	if err := readTree(res, &p.page); err != nil {
		return fmt.Errorf("reading the page's answer: %w", err)
	}
	p.run.refs.gave(p.tab, p.place, p.page.Free)
	at, rest, place := pc.at, pc.rest, pc.place
	defer func() { pc.at, pc.rest, pc.place = at, rest, place }()
	defer func() { p.run.leftOut(p.foreign) }()
	if p.value.find != nil {
		return p.findInFrames(ctx, p.page.Foreign, p.place, 0)
	}
	return p.enter(ctx, p.page.Tree, p.place, 0)
}

// enter puts what is in frames of other sites below their nodes.
func (p *surveying) enter(ctx context.Context, nodes []treeChild, place []browser.Part, deep int) error {
	for _, c := range nodes {
		if c.node == nil {
			continue
		}
		if n := c.node; n.Frame != 0 && n.Ref != 0 {
			in, way := p.frame(ctx, foreignFrame{Ref: n.Ref, Origin: n.Origin}, place, deep)
			if err := ctx.Err(); err != nil {
				return err
			}
			if in != nil {
				n.Children = in.Tree
				if err := p.enter(ctx, in.Tree, way, deep+1); err != nil {
					return err
				}
			}
			continue
		}
		if err := p.enter(ctx, c.node.Children, place, deep); err != nil {
			return err
		}
	}
	return nil
}

func (p *surveying) findInFrames(ctx context.Context, frames []foreignFrame, place []browser.Part, deep int) error {
	for _, f := range frames {
		in, way := p.frame(ctx, f, place, deep)
		if err := ctx.Err(); err != nil {
			return err
		}
		if in != nil {
			p.page.Found = append(p.page.Found, in.Found...)
			if err := p.findInFrames(ctx, in.Foreign, way, deep+1); err != nil {
				return err
			}
		}
	}
	return nil
}

// frame asks a frame of another site; nil where it does not answer, or where there are
// too many.
func (p *surveying) frame(ctx context.Context, f foreignFrame, place []browser.Part, deep int) (*pageTree, []browser.Part) {
	pc := &p.run.page
	if p.frames++; p.frames > maxSnapshotFrames || deep >= lang.MaxFrames || time.Now().After(p.until) {
		p.page.Cut = true
		return nil, nil
	}
	ref := referenceOf(f.Ref)
	way := append(slices.Clone(place), browser.Part{Ref: ref, As: ref})
	ctx, cancel := context.WithTimeout(ctx, frameSnapshotTime+pc.run.patience)
	defer cancel()
	arg := p.argument()
	arg["in"], arg["ms"], arg["of"], arg["at"] = way, Millis(frameSnapshotTime/2), Millis(frameSnapshotTime/2), f.Origin
	reply, err := pc.follow(ctx, p.tab, "snapshot", arg)
	in := new(pageTree)
	if browser.IsForeign(err) {
		p.foreign++
		in.Tree = treeNodes{{text: leftOutFrame}}
		return in, way
	}
	if err != nil || reply.Code != "" || readTree(reply.Value, in) != nil {
		return nil, nil // it is empty, or does not answer
	}
	p.page.Cut = p.page.Cut || in.Cut
	p.run.refs.gave(p.tab, way, in.Free)
	return in, way
}
