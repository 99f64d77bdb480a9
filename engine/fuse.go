package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"troupe/engine/browser"
)

// maxFused bounds how many reads go into one call.
const maxFused = 400

// fusable counts the steps at the head of the list that only read the page and
// do not need each other's results: they become one call.
func (r *Run) fusable(steps []Step) int {
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

// fusedReply is one of the replies of a fused call, with the page's clock at
// its end.
type fusedReply struct {
	browser.Reply
	At float64 `json:"t"`
}

// fused runs steps that only read in one call. Each has its own time, result,
// failure and line in the trace, as if it had run alone.
func (r *Run) fused(ctx context.Context, steps []Step) (Result, error) {
	all := make([]*Step, len(steps))
	for i := range steps {
		all[i] = &steps[i]
	}
	last := success
	for len(all) > 0 {
		done, res, err := r.batch(ctx, all, nil)
		if err != nil {
			return res, err
		}
		last, all = res, all[done:]
	}
	return last, nil
}

// batch sends steps in one call and records the replies that came: the page
// answers up to the first step, other than the first of all, that it would have
// to wait for. It returns how many steps are done. In a loop, at tells the
// iteration of each.
func (r *Run) batch(ctx context.Context, steps []*Step, at []int) (int, Result, error) {
	if r.loop != nil && at == nil {
		at = make([]int, len(steps))
		for i := range at {
			at[i] = r.loop.i
		}
	}
	ops := make([]any, 0, len(steps))
	for i, s := range steps {
		op, err := r.operation(s, at, i)
		if err == nil {
			ops = append(ops, op)
			continue
		}
		if i > 0 {
			break // it fails in its turn
		}
		r.begin(s, at, i)
		res, stop := r.ended(ctx, s, time.Now(), nil, err)
		return 1, res, stop
	}
	began := time.Now()
	replies, err := r.sendBatch(ctx, ops, r.timeOf(steps[0]))
	if err != nil {
		r.begin(steps[0], at, 0)
		res, stop := r.ended(ctx, steps[0], began, nil, err)
		return 1, res, stop
	}
	last := success
	for i := range replies {
		s := steps[i]
		r.begin(s, at, i)
		if i > 0 { // the page's clock tells how long each took
			began = time.Now().Add(-time.Duration((replies[i].At - replies[i-1].At) * float64(time.Millisecond)))
		}
		v, err := r.replied(&replies[i].Reply)
		res, stop := r.ended(ctx, s, began, v, err)
		last = res
		if stop != nil {
			return i + 1, res, stop
		}
	}
	return len(replies), last, nil
}

// begin makes a step the one that runs.
func (r *Run) begin(s *Step, at []int, i int) {
	r.path, r.limit = s.Path, r.timeOf(s)
	if at != nil {
		r.loop.i = at[i]
	}
}

// operation is one step of a batch as the page script takes it.
func (r *Run) operation(s *Step, at []int, i int) (any, error) {
	r.limit = r.timeOf(s)
	r.deadline = time.Now().Add(r.limit)
	call, err := s.def.read(r, s)
	if err != nil {
		return nil, err
	}
	if call.Arg, err = r.argument(s, call); err != nil {
		return nil, err
	}
	if !r.continues(s) {
		call.Arg["stop"] = true
	}
	if at != nil {
		return []any{call.Fn, call.Arg, at[i]}, nil
	}
	return []any{call.Fn, call.Arg}, nil
}

func (r *Run) sendBatch(ctx context.Context, ops []any, first time.Duration) ([]fusedReply, error) {
	bctx, cancel := context.WithTimeout(ctx, first+grace)
	defer cancel()
	tab, err := r.tab(bctx)
	if err != nil {
		return nil, err
	}
	arg := map[string]any{"ops": ops}
	if r.loop != nil && r.loop.each != nil {
		arg["each"] = r.loop.each
	}
	reply, err := tab.Call(bctx, "batch", arg)
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

// fuseLoop runs iterations of a list that only reads, as many in one call as go
// in, and returns how many it ran. Steps that need what an earlier iteration
// has pushed are not asked for together with it.
func (r *Run) fuseLoop(ctx context.Context, v repetition, n int) (int, error) {
	count := min(n-r.loop.i, max(1, maxFused/len(v.do)))
	read, written := map[string]bool{}, map[string]bool{}
	for i := range v.do {
		v.do[i].keys(read)
		written[v.do[i].Options.Save] = true
		written[v.do[i].Options.Push] = true
	}
	for k := range read {
		if written[k] {
			count = 1
		}
	}
	first := r.loop.i
	steps := make([]*Step, 0, count*len(v.do))
	at := make([]int, 0, cap(steps))
	for i := range count {
		for k := range v.do {
			steps = append(steps, &v.do[k])
			at = append(at, first+i)
		}
	}
	defer func() { r.loop.i = first }()
	for len(steps) > 0 {
		done, _, err := r.batch(ctx, steps, at)
		if err != nil {
			return 0, err
		}
		steps, at = steps[done:], at[done:]
	}
	return count, nil
}
