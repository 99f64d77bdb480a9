package engine

import (
	"context"
	"encoding/json"
	"errors"
	mathrand "math/rand/v2"
	"regexp"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

var _ = define(Action[struct{}]{
	Name: "byPassChallenge", Group: "Advanced",
	Doc: "Looks for a checkbox that asks whether you are human, such as a verification widget shows. It looks in the page, in frames of any origin, and in shadow roots, closed ones included. " +
		"If there is one, the action moves the pointer to it on a curved path, clicks it and waits for the page to go on. It only clicks: it solves no puzzles and does not disguise the browser. Use it on your own sites and in tests; an operator can switch it off. " +
		"Widgets often appear after their page has loaded. So the action watches a page without one for 1.5 s, or until the page has been loaded, unchanged and without requests for 1 s, counted from the last input. A page without scripts and frames is checked once. If a widget may appear later, put a `wait` before this action.",
	Value:   lang.TrueShape,
	Check:   func(d *decoder, _ *lang.Node, _ *Step, _ struct{}) { d.network = true },
	Result:  `{"success":true,"detected":boolean,"passed":boolean}`,
	Example: `{"byPassChallenge":true}`,
	Run: func(ctx context.Context, r *Run, s *Step, _ struct{}) (Result, error) {
		if r.engine.NoBypass {
			return nil, Problemf(CodeInvalidValue, "byPassChallenge is switched off by the operator of this service")
		}
		sctx, cancel := r.page.strict(ctx)
		defer cancel()
		c := &challenge{run: r}
		err := c.pass(sctx)
		if err != nil && (ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded)) {
			return nil, err
		}
		r.page.input = sentAct
		return json.Marshal(struct {
			Success  bool `json:"success"`
			Detected bool `json:"detected"`
			Passed   bool `json:"passed"`
		}{true, c.detected, c.passed})
	},
})

// What names a verification widget: the names of those in use, and the words
// that people read beside the box.
var (
	widgetName = regexp.MustCompile(`(?i)captcha|turnstile|challenge|altcha|cf-chl|bot-?(check|detect|verif)|human-?(check|verif)|verif(y|ication)-?(human|you)|i-?am-?human|not-?a-?robot|mcaptcha|friendly-?challenge|anubis`)
	widgetText = regexp.MustCompile(`(?i)(not|no) a(n)? (ro)?bot|(verify|confirm|prove)( that)? you('| a)re( a)? human|i('| a)m( a)? human|human verification|verify (you|human)|kein roboter|pas un robot|no soy un robot|nem vagyok robot`)
)

const (
	// lookTime is how long a page without any widget is looked at.
	lookTime = 1500 * time.Millisecond
	// restTime is how long a page rests that brings no widget any more.
	restTime = time.Second
)

type challenge struct {
	run              *Run
	detected, passed bool
}

// pass looks for the widget, clicks it and waits for the page to go on.
func (c *challenge) pass(ctx context.Context) error {
	until := time.Now().Add(lookTime)
	for {
		t, err := c.run.page.tab(ctx)
		if err != nil {
			return err
		}
		rests := !c.detected && c.rests(ctx, t) // asked first: what comes meanwhile is found
		again, err := c.try(ctx, t)
		if err != nil || c.passed || !again && (time.Now().After(until) || rests && !c.detected) {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
	}
}

// rests reports whether the page has come to rest, so that it brings no widget any
// more.
func (c *challenge) rests(ctx context.Context, t *browser.Tab) bool {
	arg := map[string]any{}
	c.run.page.addSettle(arg)
	reply, err := t.Script.Call(ctx, "resting", arg)
	if err != nil || reply.Code != "" {
		return false // try says what is wrong
	}
	var is struct {
		Still bool     `json:"still"`
		Ms    *float64 `json:"ms"`
	}
	if json.Unmarshal(reply.Value, &is) != nil || is.Ms == nil {
		return false
	}
	rest := min(time.Duration(*is.Ms)*time.Millisecond, c.run.tabs.Network.IdleFor())
	if !c.run.page.acted.IsZero() {
		rest = min(rest, time.Since(c.run.page.acted))
	}
	return is.Still || rest >= restTime
}

// try looks once. It reports whether there was a widget that is not ready yet.
func (c *challenge) try(ctx context.Context, t *browser.Tab) (waiting bool, err error) {
	before, err := t.Navigation.Address(ctx)
	if err != nil {
		return false, err
	}
	var best *browser.Node
	var perhaps []browser.Node
	err = t.EveryNode(ctx, func(n browser.Node) bool {
		switch widgetScore(n) {
		case 2:
			best = &n
		case 1:
			perhaps = append(perhaps, n)
		}
		return best == nil
	})
	if err != nil {
		return false, err
	}
	for i := 0; i < len(perhaps) && i < maxPerhaps && best == nil; i++ {
		if c.near(ctx, perhaps[i]) {
			best = &perhaps[i]
		}
	}
	if best == nil {
		return false, nil
	}
	c.detected = true
	var state boxState
	if err := best.Ask(ctx, stateOf, &state); err != nil {
		return true, nil // it has just been replaced
	}
	if state.Checked {
		c.passed = true
		return false, nil
	}
	_ = best.ScrollIntoView(ctx) // what cannot be scrolled is where it is
	box, err := best.Box(ctx)
	if err != nil || box == nil || state.Disabled {
		return true, nil
	}
	if err := c.click(ctx, t, *box); err != nil {
		return false, err
	}
	return true, c.awaitResult(ctx, t, *best, before)
}

// widgetScore says how much a node looks like the box of a widget: 2 for
// certain, 1 when the words beside it must decide.
func widgetScore(n browser.Node) int {
	box := n.Tag == "input" && n.Attrs["type"] == "checkbox" || n.Attrs["role"] == "checkbox"
	if !box {
		return 0
	}
	own := n.Attrs["id"] + " " + n.Attrs["class"] + " " + n.Attrs["name"] + " " + n.Attrs["aria-label"]
	if widgetName.MatchString(own) || widgetText.MatchString(own) || widgetName.MatchString(n.Context) || widgetText.MatchString(n.Context) {
		return 2
	}
	return 1
}

// maxPerhaps bounds the boxes whose words are read: a page may have thousands.
const maxPerhaps = 50

// near reads the words beside a box: of its labels, and around it where no other
// box could be meant by them.
func (c *challenge) near(ctx context.Context, n browser.Node) bool {
	var text string
	if n.Ask(ctx, textNear, &text) != nil {
		return false
	}
	return widgetText.MatchString(text)
}

const textNear = `function(){const text=Object.getOwnPropertyDescriptor(Node.prototype,'textContent').get,of=(n)=>' '+(n?text.call(n)||'':'').slice(0,300);
let t='';for(const l of this.labels||[])t+=of(l);
const by=this.getAttribute('aria-labelledby');if(by)for(const i of by.split(/\s+/))t+=of(this.getRootNode().getElementById?.(i));
const p=this.parentNode,all=p instanceof Element?Element.prototype.querySelectorAll:DocumentFragment.prototype.querySelectorAll;
if(p&&all.call(p,'input[type=checkbox],[role=checkbox]').length===1)t+=of(p);return t}`

// boxState is what a box is like.
type boxState struct {
	Checked  bool `json:"checked"`
	Disabled bool `json:"disabled"`
	Gone     bool `json:"gone"`
}

const stateOf = `function(){return{checked:this.checked===true||this.getAttribute('aria-checked')==='true',disabled:this.disabled===true,gone:!this.isConnected}}`

func (c *challenge) click(ctx context.Context, t *browser.Tab, box browser.Box) error {
	// Somewhere in the middle half: no two clicks are in the same place.
	p := browser.Point{
		X: box.X + box.Width*(0.3+0.4*mathrand.Float64()),
		Y: box.Y + box.Height*(0.3+0.4*mathrand.Float64()),
	}
	if err := c.run.pointer.moveLikeHand(ctx, p, false); err != nil {
		return err
	}
	return t.Input.PressAndHold(ctx, p, time.Duration(50+mathrand.IntN(70))*time.Millisecond)
}

// awaitResult waits until the box is checked, is gone, or the page has gone on.
func (c *challenge) awaitResult(ctx context.Context, t *browser.Tab, n browser.Node, before string) error {
	for end := time.Now().Add(3 * time.Second); time.Now().Before(end); {
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
			return nil
		}
		var state boxState
		err := n.Ask(ctx, stateOf, &state)
		now, addressErr := t.Navigation.Address(ctx)
		if addressErr != nil {
			return addressErr
		}
		if err != nil || state.Checked || state.Gone || now != before {
			c.passed = true
			return nil
		}
	}
	return nil
}
