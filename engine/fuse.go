package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"time"

	"troupe/engine/browser"
)

// maxFused bounds how many reads go into one call.
const maxFused = 400

// fusable counts the steps at the head of the list that only read the page and
// do not need each other's results: they become one call.
func (r *Run) fusable(steps []Step) int {
	if r.apart {
		return 0
	}
	written := map[string]bool{}
	for n := range steps {
		s := &steps[n]
		if s.def.read == nil || n == maxFused {
			return n
		}
		read := map[string]bool{}
		s.keys(read)
		for k := range read {
			if written[k] {
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

// fuses reports whether the next n steps become one call: more than one, or what
// the page has answered already.
func (r *Run) fuses(n int) bool { return n > 1 || n == 1 && len(r.answered) > 0 }

// fusedReply is one of the replies of a fused call, with the page's clock at
// its end where somebody asks for it.
type fusedReply struct {
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

// fused runs steps that only read in one call. Each has its own time, result,
// failure and line in the trace, as if it had run alone.
func (r *Run) fused(ctx context.Context, steps []Step) (Result, error) {
	q := &sequence{steps: steps, left: len(steps)}
	if r.loop != nil {
		q.first = r.loop.i
	}
	last := success
	for q.left > 0 {
		res, err := r.batch(ctx, q)
		if err != nil {
			return res, err
		}
		last = res
	}
	return last, nil
}

// batch sends what is left of a sequence in one call and records the replies
// that came: the page answers up to the first step, other than the first of
// all, that it would have to wait for.
func (r *Run) batch(ctx context.Context, q *sequence) (Result, error) {
	if r.loop != nil && len(r.loop.ahead) > 0 {
		replies := r.loop.ahead
		r.loop.ahead = nil
		return r.replies(ctx, q, time.Now(), replies)
	}
	if len(r.answered) > 0 {
		replies := r.answered
		r.answered = nil
		return r.replies(ctx, q, time.Now(), replies)
	}
	began := time.Now()
	ops, total, err := r.operations(q)
	if err == nil {
		var replies []fusedReply
		s, _ := q.at(0)
		for tabs := 1; ; tabs++ {
			if replies, err = r.sendBatch(ctx, q, ops, total, r.timeOf(s)); !r.closedUnder(err, tabs) {
				break
			}
		}
		if err == nil {
			return r.replies(ctx, q, began, replies)
		}
	}
	s := r.begin(q, 0)
	q.did(1)
	return r.ended(ctx, s, began, nil, err)
}

// replies records what came, to a call that was sent then.
func (r *Run) replies(ctx context.Context, q *sequence, began time.Time, replies []fusedReply) (last Result, err error) {
	for i := range replies {
		s := r.begin(q, i)
		if i > 0 { // the page's clock tells how long each took
			began = time.Now().Add(-time.Duration((replies[i].At - replies[i-1].At) * float64(time.Millisecond)))
		}
		v, err := r.replied(&replies[i].Reply)
		if last, err = r.ended(ctx, s, began, v, err); err != nil {
			q.did(i + 1)
			return last, err
		}
	}
	q.did(len(replies))
	return last, nil
}

// begin makes a step the one that runs.
func (r *Run) begin(q *sequence, k int) *Step {
	s, i := q.at(k)
	r.path, r.limit = s.Path, r.timeOf(s)
	if r.loop != nil {
		r.loop.i = i
	}
	return s
}

// operation is a function of the page script and its argument.
type operation [2]any

// operations are the steps of one iteration, from the next one on, as the page
// script takes them: [function, argument]. A step that cannot be asked for ends
// the sequence there, so that it fails in its turn; total is how many steps are
// left up to it.
func (r *Run) operations(q *sequence) (ops []operation, total int, err error) {
	for k := range min(len(q.steps), q.left) {
		s, _ := q.at(k)
		r.timed(s)
		call, err := s.def.read(r, s)
		if err == nil {
			call.Arg, err = r.argument(s, call)
		}
		if err != nil {
			if k == 0 {
				return nil, 0, err
			}
			return ops, k, nil
		}
		if !r.continues(s) {
			call.Arg["stop"] = true
		}
		ops = append(ops, operation{call.Fn, call.Arg})
	}
	return ops, min(q.left, maxFused), nil
}

func (r *Run) sendBatch(ctx context.Context, q *sequence, ops []operation, total int, limit time.Duration) ([]fusedReply, error) {
	bctx, cancel := context.WithTimeout(ctx, limit+grace+r.patience)
	defer cancel()
	tab, err := r.tab(bctx)
	if err != nil {
		return nil, err
	}
	var more map[string]any
	if r.loop != nil && r.loop.each != nil {
		more = map[string]any{"each": r.loop.each, "i": q.first, "next": q.next, "n": len(q.steps)}
	}
	return r.askBatch(bctx, tab.Script.Call, ops, total, more)
}

// asking is a way to call a function of the page script.
type asking func(ctx context.Context, fn string, arg any) (*browser.Reply, error)

// askBatch asks the page for several things in one call. It answers the first,
// and those after it that it need not wait for.
func (r *Run) askBatch(ctx context.Context, ask asking, ops []operation, total int, more map[string]any) ([]fusedReply, error) {
	arg := map[string]any{"ops": ops, "total": total, "clock": r.traced()}
	maps.Copy(arg, more)
	reply, err := ask(ctx, "batch", arg)
	if err != nil {
		return nil, err
	}
	if reply.Code != "" {
		return nil, &Problem{Code: Code(reply.Code), Text: reply.Error}
	}
	var replies []fusedReply
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
func (r *Run) following(s *Step) []operation {
	if r.apart || r.loop != nil || s.Options.Save != "" || s.Options.Push != "" {
		return nil
	}
	limit, deadline := r.limit, r.deadline
	defer func() { r.limit, r.deadline = limit, deadline }()
	n := r.fusable(r.rest)
	if n == 0 {
		return nil
	}
	ops, n, err := r.operations(&sequence{steps: r.rest[:n], left: n})
	if err != nil {
		return nil // it fails in its turn
	}
	return ops[:n]
}

// onlyReads reports whether one call can do a whole list.
func (r *Run) onlyReads(do []Step) bool { return len(do) > 0 && r.fusable(do) == len(do) }

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
func (r *Run) ahead(v repetition) map[string]any {
	if !r.onlyReads(v.do) || !independent(v.do) {
		return nil
	}
	input, script := r.input, r.script
	defer func() { r.input, r.script = input, script }() // the question itself lets the page settle
	ops, n, err := r.operations(&sequence{steps: v.do, left: len(v.do)})
	if err != nil || n < len(v.do) {
		return nil
	}
	return map[string]any{"ops": ops, "total": maxFused / n * n, "most": v.max, "clock": r.traced()}
}

// fuseLoop runs iterations of a list that only reads, as many in one call as go
// in, and returns how many it ran. Steps that need what an earlier iteration
// has pushed are not asked for together with it.
func (r *Run) fuseLoop(ctx context.Context, v repetition, n int) (int, error) {
	count := min(n-r.loop.i, max(1, maxFused/len(v.do)))
	if !independent(v.do) {
		count = 1
	}
	first := r.loop.i
	defer func() { r.loop.i = first }()
	q := &sequence{steps: v.do, first: first, left: count * len(v.do)}
	for q.left > 0 {
		if _, err := r.batch(ctx, q); err != nil {
			return 0, err
		}
	}
	return count, nil
}
