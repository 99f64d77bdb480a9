package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// maxBatch bounds how many reads go into one call.
const maxBatch = 400

// batches sends steps that only read to the page in one call.
type batches struct {
	run      *Run
	answered []batchReply // the page's answers to what follows, where they came with its load
	off      bool         // a full trace shows the page around each step, and tests compare both ways
}

// leadingReads counts the steps at the head of the list that only read the page and
// do not need each other's results: they become one call.
func (b *batches) leadingReads(steps []Step) int {
	if b.off {
		return 0
	}
	written := map[string]bool{}
	for n := range steps {
		s := &steps[n]
		if s.def.read == nil || n == maxBatch {
			return n
		}
		if b.run != nil && len(b.run.captures.waits(s)) > 0 {
			return n
		}
		read := map[string]bool{}
		s.keys(read)
		for k := range read {
			if written[k] || lang.IsReference(k) && b.run != nil && b.run.task.Config.Trace { // its selector is looked for first
				return n
			}
		}
		if s.def.finds && s.Options.Save != "" {
			return n // the element must be there before anything refers to it
		}
		if s.Options.Save != "" {
			written[s.Options.Save] = true
		}
		if s.Options.Push != "" {
			written[s.Options.Push] = true
		}
	}
	return len(steps)
}

// worthwhile reports whether the next n steps become one call: more than one, or what
// the page has answered already.
func (b *batches) worthwhile(n int) bool { return n > 1 || n == 1 && len(b.answered) > 0 }

// batchReply is one of the replies to a batch, with the page's clock at
// its end where somebody asks for it.
type batchReply struct {
	browser.Reply
	At float64 `json:"t"`
}

// sequence is a list of steps that only read, gone through once or, by a loop,
// several times.
type sequence struct {
	steps []Step
	first int // the iteration that it begins with
	next  int // which of the steps comes next
	left  int // how many steps are left, all iterations together
}

// at is a step that is still to come, and its iteration.
func (q *sequence) at(k int) (*Step, int) {
	n := q.next + k
	return &q.steps[n%len(q.steps)], q.first + n/len(q.steps)
}

// did goes on by so many steps.
func (q *sequence) did(k int) {
	n := q.next + k
	q.next, q.first, q.left = n%len(q.steps), q.first+n/len(q.steps), q.left-k
}

// play runs steps that only read in one call. Each has its own time, result,
// failure and line in the trace, as if it had run alone.
func (b *batches) play(ctx context.Context, steps []Step) (Result, error) {
	q := &sequence{steps: steps, left: len(steps)}
	if b.run.blocks.loop != nil {
		q.first = b.run.blocks.loop.i
	}
	last := success
	for q.left > 0 {
		res, err := b.next(ctx, q)
		if err != nil {
			return res, err
		}
		last = res
	}
	return last, nil
}

// next sends what is left of a sequence in one call and records the replies
// that came: the page answers up to the first step, other than the first of
// all, that it would have to wait for.
func (b *batches) next(ctx context.Context, q *sequence) (Result, error) {
	if b.run.blocks.loop != nil && len(b.run.blocks.loop.ahead) > 0 {
		replies := b.run.blocks.loop.ahead
		b.run.blocks.loop.ahead = nil
		return b.record(ctx, q, time.Now(), replies)
	}
	if len(b.answered) > 0 {
		replies := b.answered
		b.answered = nil
		return b.record(ctx, q, time.Now(), replies)
	}
	began, after := time.Now(), b.run.page.input == sentAct
	ops, total, err := b.operations(q)
	if err == nil {
		var replies []batchReply
		s, _ := q.at(0)
		for tabs := 1; ; tabs++ {
			b.run.page.over = nil
			if after {
				b.run.page.over = new(browser.Overtaking)
			}
			if replies, err = b.send(ctx, q, ops, total, b.run.timeOf(s)); !b.run.page.openedOver(tabs) && !b.run.page.closedUnder(err, tabs) {
				break
			}
		}
		if err == nil {
			return b.record(ctx, q, began, replies)
		}
	}
	s := b.begin(q, 0)
	q.did(1)
	return b.run.ended(ctx, s, began, nil, err)
}

// record records what came, to a call that was sent then.
func (b *batches) record(ctx context.Context, q *sequence, began time.Time, replies []batchReply) (last Result, err error) {
	for i := range replies {
		s := b.begin(q, i)
		if i > 0 { // the page's clock tells how long each took
			began = time.Now().Add(-time.Duration((replies[i].At - replies[i-1].At) * float64(time.Millisecond)))
		}
		b.explain(ctx, s, &replies[i].Reply)
		v, err := b.run.page.replied(&replies[i].Reply)
		if last, err = b.run.ended(ctx, s, began, v, err); err != nil {
			q.did(i + 1)
			return last, err
		}
	}
	q.did(len(replies))
	return last, nil
}

// begin makes a step the one that runs.
func (b *batches) begin(q *sequence, k int) *Step {
	s, i := q.at(k)
	b.run.path, b.run.limit, b.run.page.told = s.Path, b.run.timeOf(s), nil
	if b.run.blocks.loop != nil {
		b.run.blocks.loop.i = i
	}
	return s
}

// operation is a function of the page script and its argument.
type operation [2]any

// operations are the steps of one iteration, from the next one on, as the page
// script takes them: [function, argument]. A step that cannot be asked for ends
// the sequence there, so that it fails in its turn; total is how many steps are
// left up to it.
func (b *batches) operations(q *sequence) (ops []operation, total int, err error) {
	for k := range min(len(q.steps), q.left) {
		s, _ := q.at(k)
		b.run.timed(s)
		call, err := s.def.read(b.run, s)
		if err == nil {
			call.Arg, err = b.run.page.argument(s, call)
		}
		if err != nil {
			if k == 0 {
				return nil, 0, err
			}
			return ops, k, nil
		}
		if !b.run.continues(s) {
			call.Arg["stop"] = true
		}
		ops = append(ops, operation{call.Fn, call.Arg})
	}
	return ops, min(q.left, maxBatch), nil
}

func (b *batches) send(ctx context.Context, q *sequence, ops []operation, total int, limit time.Duration) ([]batchReply, error) {
	bctx, cancel := context.WithTimeout(ctx, limit+grace+b.run.patience)
	defer cancel()
	tab, err := b.run.page.tab(bctx)
	if err != nil {
		return nil, err
	}
	b.run.page.over.Watch(tab)
	var more map[string]any
	if l := b.run.blocks.elementLoop(); l != nil && l == b.run.blocks.loop {
		more = map[string]any{"each": l.each, "i": q.first, "next": q.next, "n": len(q.steps)}
	} else if l != nil { // the steps are all about the same element
		more = map[string]any{"each": l.each, "i": l.i, "next": 0, "n": 2 * maxBatch}
	}
	return b.ask(bctx, func(ctx context.Context, fn string, arg map[string]any) (*browser.Reply, error) {
		return b.run.page.follow(ctx, tab, fn, arg)
	}, ops, total, more)
}

// explain adds to a step's failure where else there are matches.
func (b *batches) explain(ctx context.Context, s *Step, reply *browser.Reply) {
	if reply.Gone != nil {
		b.run.page.explainGone(ctx, b.run.tabs.Current(), reply)
	}
	if reply.Elsewhere == "" {
		return
	}
	tab := b.run.tabs.Current()
	call, err := s.def.read(b.run, s)
	if tab != nil && err == nil {
		b.run.page.explain(ctx, tab, reply, call.Arg["t"])
	}
}

// asking is a way to call a function of the page script.
type asking func(ctx context.Context, fn string, arg map[string]any) (*browser.Reply, error)

// ask asks the page for several things in one call. It answers the first,
// and those after it that it need not wait for.
func (b *batches) ask(ctx context.Context, ask asking, ops []operation, total int, more map[string]any) ([]batchReply, error) {
	arg := map[string]any{"ops": ops, "total": total, "clock": b.run.traced()}
	maps.Copy(arg, more)
	reply, err := ask(ctx, "batch", arg)
	if err != nil {
		return nil, err
	}
	if reply.Code != "" {
		return nil, problemOf(reply)
	}
	var replies []batchReply
	if err := json.Unmarshal(reply.Value, &replies); err != nil {
		return nil, fmt.Errorf("reading the page's answers: %w", err)
	}
	if len(replies) == 0 {
		return nil, fmt.Errorf("reading the page's answers: there are none")
	}
	return replies, nil
}

// following are the reads right behind the step that runs, to be sent along with
// its own call: what the page can answer at once needs no call of its own then.
func (b *batches) following(s *Step) []operation {
	if b.off || b.run.blocks.loop != nil || s.Options.Save != "" || s.Options.Push != "" {
		return nil
	}
	limit, deadline := b.run.limit, b.run.deadline
	defer func() { b.run.limit, b.run.deadline = limit, deadline }()
	n := b.leadingReads(b.run.rest)
	if n == 0 {
		return nil
	}
	ops, n, err := b.operations(&sequence{steps: b.run.rest[:n], left: n})
	if err != nil {
		return nil // it fails in its turn
	}
	return ops[:n]
}

// onlyReads reports whether one call can do a whole list.
func (b *batches) onlyReads(do []Step) bool { return len(do) > 0 && b.leadingReads(do) == len(do) }

// independent reports whether no step of a loop reads what an earlier iteration
// has written.
func independent(do []Step) bool {
	read, written := map[string]bool{}, map[string]bool{}
	for i := range do {
		do[i].keys(read)
		written[do[i].Options.Save] = true
		written[do[i].Options.Push] = true
	}
	for k := range read {
		if written[k] {
			return false
		}
	}
	return true
}

// ahead is the first batch of a loop, to be sent along with the question for its
// elements, or nil where it must wait for them.
func (b *batches) ahead(v repetition) map[string]any {
	if !b.onlyReads(v.do) || !independent(v.do) {
		return nil
	}
	input, script := b.run.page.input, b.run.page.script
	defer func() { b.run.page.input, b.run.page.script = input, script }() // the question itself lets the page settle
	ops, n, err := b.operations(&sequence{steps: v.do, left: len(v.do)})
	if err != nil || n < len(v.do) {
		return nil
	}
	return map[string]any{"ops": ops, "total": maxBatch / n * n, "most": v.max, "clock": b.run.traced()}
}

// iterate runs iterations of a list that only reads, as many in one call as go
// in, and returns how many it ran. Steps that need what an earlier iteration
// has pushed are not asked for together with it.
func (b *batches) iterate(ctx context.Context, v repetition, n int) (int, error) {
	count := min(n-b.run.blocks.loop.i, max(1, maxBatch/len(v.do)))
	if !independent(v.do) {
		count = 1
	}
	if err := b.run.blocks.spend(count * len(v.do)); err != nil {
		return 0, err
	}
	first := b.run.blocks.loop.i
	defer func() { b.run.blocks.loop.i = first }()
	q := &sequence{steps: v.do, first: first, left: count * len(v.do)}
	for q.left > 0 {
		if _, err := b.next(ctx, q); err != nil {
			return 0, err
		}
	}
	return count, nil
}
