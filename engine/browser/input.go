package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/input"
)

// Point is a place in the main page, in CSS pixels from its visible corner.
type Point struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

// Input is the pointer and the keyboard of a tab.
type Input struct {
	tab *Tab

	mu        sync.Mutex
	sent      time.Time // when the last input was
	pointer   Point
	aimed     chan bool            // hears whether the press that is on its way has hit
	unclicked string               // what has taken the place of what was pressed
	typed     chan string          // hears what has come of the keys that are on their way
	watched   bool                 // their document says when it goes under them
	went      string               // what that document has said of the text
	taken     chan *input.DragData // hears what the browser would drag
	dragged   *input.DragData      // what is being dragged; of the task's goroutine
	held      stillDown            // what stays down from one action to the next; of the task's goroutine
}

// Clicking says how a point is clicked.
type Clicking struct {
	Times  int    // in quick succession; 0 is once
	Button Button // empty: the primary one
	Touch  bool   // with a finger, once
	Held   *Chord // modifiers that are held meanwhile; nil: none
}

// Click presses and releases the primary button at a point.
func (in *Input) Click(ctx context.Context, p Point) error {
	return in.ClickAs(ctx, p, Clicking{})
}

// ClickAs clicks a point: twice is a double click. All events are sent at once; the
// answer to the last means that the page has handled them.
func (in *Input) ClickAs(ctx context.Context, p Point, how Clicking) error {
	if err := in.PointMayGo(ctx, p); err != nil {
		return err
	}
	if how.Touch {
		return in.tap(ctx, p)
	}
	in.pointAt(p)
	button := how.Button
	if button == "" {
		button = LeftButton
	}
	mouse := func(kind input.DispatchMouseEventType, of Button, down bool, count int64) *pending {
		return in.mouse(mouseEvent{kind: kind, at: p, of: of, down: down, count: count, modifiers: how.Held.Mask()})
	}
	sent := in.keys(how.Held.downs())
	sent = append(sent, mouse(input.DispatchMouseEventTypeMouseMoved, "", false, 0))
	for n := int64(1); n <= max(1, int64(how.Times)); n++ {
		sent = append(sent, mouse(input.DispatchMouseEventTypeMousePressed, button, true, n), mouse(input.DispatchMouseEventTypeMouseReleased, button, false, n))
	}
	return in.await(ctx, "clicking", append(sent, in.keys(how.Held.ups())...)...)
}

func (in *Input) keys(events []input.DispatchKeyEventParams) (sent []*pending) {
	for _, e := range events {
		e.Modifiers |= in.held.mask
		sent = append(sent, in.tab.s.send(input.CommandDispatchKeyEvent, e))
	}
	return sent
}

// tap touches a point with one finger and lifts it.
func (in *Input) tap(ctx context.Context, p Point) error {
	touch := func(kind input.DispatchTouchEventType, points ...*input.TouchPoint) *pending {
		return in.tab.s.send(input.CommandDispatchTouchEvent, input.DispatchTouchEventParams{Type: kind, TouchPoints: append([]*input.TouchPoint{}, points...)})
	}
	return in.await(ctx, "tapping", touch(input.DispatchTouchEventTypeTouchStart, &input.TouchPoint{X: p.X, Y: p.Y}), touch(input.DispatchTouchEventTypeTouchEnd))
}

// last is when the tab was last given input.
func (in *Input) last() time.Time {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.sent
}

// Aim must be called before a press that the page script guards, and Hit after it.
func (in *Input) Aim() {
	in.mu.Lock()
	in.aimed, in.unclicked = make(chan bool, 1), ""
	in.mu.Unlock()
}

// Hit reports whether the press has reached its target. If not, the page has seen
// nothing of it. The page script reports when the button goes down, or up. It
// reports nothing for places that it cannot see, such as frames of other sites:
// such a press counts.
func (in *Input) Hit(ctx context.Context) bool {
	in.mu.Lock()
	aimed := in.aimed
	in.mu.Unlock()
	select {
	case hit := <-aimed:
		return hit
	default:
	}
	select {
	case hit := <-aimed:
		return hit
	case <-time.After(unheard):
	case <-in.tab.closed:
	case <-ctx.Done():
	}
	return true
}

// Unclicked names what has replaced an element while the button was down on it, so
// that neither gets the click event. It is empty if nothing has.
func (in *Input) Unclicked() string {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.unclicked
}

// unheard is how long a guarded press, or the last key of a text, may take to be
// told of once it is over.
const unheard = 200 * time.Millisecond

// heard takes in what the page script tells on its own.
func (in *Input) heard(word string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	by, unclicked := strings.CutPrefix(word, "unclicked ")
	if !unclicked {
		by = ""
	}
	if in.watched && (strings.HasPrefix(word, "gone ") || strings.HasPrefix(word, "leaves ")) {
		in.went = word
	}
	switch {
	case word == "hit" || word == "missed" || unclicked:
		in.unclicked = by
		select {
		case in.aimed <- word != "missed":
		default: // nobody has aimed, or it was told before
		}
	default:
		select {
		case in.typed <- word:
		default: // nobody listens
		}
	}
}

// ExpectKeys is called before keys whose effect the page script watches under a
// number, and Taken after them.
func (in *Input) ExpectKeys() {
	in.mu.Lock()
	in.typed, in.watched, in.went = make(chan string, 4), true, ""
	in.mu.Unlock()
}

// HadOfText is what a document that has left, or was about to, has had of the text with
// this number: the whole of it, all up to the end of a line that has sent it, or less. Empty
// where it has said nothing.
func (in *Input) HadOfText(id int) (had string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	var how string
	var of int
	if n, _ := fmt.Sscan(in.went, &how, &of, &had); n < 3 || of != id {
		return ""
	}
	return had
}

// goneUnder reports whether the document has gone that the keys on their way were for.
func (in *Input) goneUnder() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.watched && strings.HasPrefix(in.went, "gone ")
}

// KeysTaken waits for the page script's report on the keys with this number. It
// returns whether they had their effect, and whether there was a report at all:
// there is none if the page has left, for example.
func (in *Input) KeysTaken(ctx context.Context, id int) (taken, known bool) {
	in.mu.Lock()
	typed := in.typed
	in.mu.Unlock()
	timer := time.NewTimer(unheard)
	defer timer.Stop()
	for {
		select {
		case word := <-typed:
			switch word {
			case fmt.Sprint("typed ", id):
				return true, true
			case fmt.Sprint("doubt ", id):
				return false, true
			}
			if strings.HasPrefix(word, fmt.Sprint("gone ", id, " ")) {
				return false, false
			}
		case <-timer.C:
			return false, false
		case <-in.tab.closed:
			return false, false
		case <-ctx.Done():
			return false, false
		}
	}
}

// Move moves the pointer along a path; the last point is where it stays. What the primary
// button holds is dragged along.
func (in *Input) Move(ctx context.Context, path ...Point) error {
	if in.held.release != nil {
		return in.dragHeld(ctx, path)
	}
	sent := make([]*pending, 0, len(path))
	for _, p := range path {
		in.pointAt(p)
		sent = append(sent, in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMouseMoved, at: p}))
	}
	return in.await(ctx, "moving the pointer", sent...)
}

// Press presses a key or combination in whatever has the focus.
func (in *Input) Press(ctx context.Context, c *Chord) error {
	if err := in.KeysMayGo(ctx); err != nil {
		return err
	}
	return in.await(ctx, "pressing a key", in.keys(c.with(in.held.mask).events())...)
}

// await waits for input events that were sent. An event may close the tab or
// replace its document: it did what it was to do then.
func (in *Input) await(ctx context.Context, doing string, sent ...*pending) error {
	in.mu.Lock()
	in.sent = time.Now()
	in.mu.Unlock()
	_, err := in.awaitEach(ctx, doing, sent...)
	return err
}

// awaitEach is await that also says how many of the events are over. The browser answers
// them in turn, so the last answer is waited for first: to be woken by each takes longer
// than to type.
func (in *Input) awaitEach(ctx context.Context, doing string, sent ...*pending) (int, error) {
	if len(sent) > 1 {
		sent[len(sent)-1].await(ctx)
	}
	for i, p := range sent {
		err := p.wait(ctx, nil)
		switch {
		case err == nil, errors.Is(err, ErrDetached) && !in.tab.Crashed(), replaced(err):
		default:
			return i, fmt.Errorf("%s: %w", doing, err)
		}
	}
	return len(sent), nil
}

// Near returns a point two pixels away, still in view.
func (p Point) Near() Point {
	q := Point{X: p.X - 2, Y: p.Y - 2}
	if q.X < 0 {
		q.X = p.X + 2
	}
	if q.Y < 0 {
		q.Y = p.Y + 2
	}
	return q
}

// PressAndHold presses the primary button where the pointer is, holds it and
// releases it.
func (in *Input) PressAndHold(ctx context.Context, p Point, hold time.Duration) error {
	if err := in.PointMayGo(ctx, p); err != nil {
		return err
	}
	if err := in.Move(ctx, p); err != nil {
		return err
	}
	if err := in.await(ctx, "clicking", in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMousePressed, at: p, of: LeftButton, down: true, count: 1})); err != nil {
		return err
	}
	select {
	case <-time.After(hold):
	case <-ctx.Done(): // released all the same: a button must not stay down
	}
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	return in.await(rctx, "clicking", in.mouse(mouseEvent{kind: input.DispatchMouseEventTypeMouseReleased, at: p, of: LeftButton, count: 1}))
}

// Pointer is where the pointer is.
func (in *Input) Pointer() Point {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.pointer
}

func (in *Input) pointAt(p Point) {
	in.mu.Lock()
	in.pointer = p
	in.mu.Unlock()
}
