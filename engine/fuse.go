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
	res := success
	for start := 0; start < len(steps); {
		done, last, err := r.batch(ctx, steps[start:])
		if err != nil {
			return last, err
		}
		res = last
		start += done
	}
	return res, nil
}

// batch sends the steps in one call and records the replies that came: the
// page answers up to the first step, other than the first, that it would have
// to wait for. It returns how many steps are done.
func (r *Run) batch(ctx context.Context, steps []Step) (int, Result, error) {
	var ops []any
	for i := range steps {
		s := &steps[i]
		r.limit = r.timeOf(s)
		r.deadline = time.Now().Add(r.limit)
		call, err := s.def.read(r, s)
		if err == nil {
			call.Arg, err = r.argument(s, call)
		}
		if err != nil {
			// What cannot even be asked is this step's failure, in its turn.
			if i == 0 {
				r.path = s.Path
				res, stop := r.ended(ctx, s, time.Now(), nil, err)
				return 1, res, stop
			}
			steps = steps[:i]
			break
		}
		if !r.continues(s) {
			call.Arg["stop"] = true
		}
		ops = append(ops, []any{call.Fn, call.Arg})
	}
	began := time.Now()
	replies, err := r.sendBatch(ctx, ops, r.timeOf(&steps[0]))
	if err != nil {
		r.path = steps[0].Path
		res, stop := r.ended(ctx, &steps[0], began, nil, err)
		return 1, res, stop
	}
	return r.record(ctx, steps, replies, began)
}

func (r *Run) sendBatch(ctx context.Context, ops []any, first time.Duration) ([]fusedReply, error) {
	bctx, cancel := context.WithTimeout(ctx, first+grace)
	defer cancel()
	tab, err := r.tab(bctx)
	if err != nil {
		return nil, err
	}
	reply, err := tab.Call(bctx, "batch", ops)
	if err != nil {
		if r.tabEnded(tab, err) {
			err = browser.ErrDetached
		}
		return nil, err
	}
	var replies []fusedReply
	if err := json.Unmarshal(reply.Value, &replies); err != nil {
		return nil, fmt.Errorf("reading the page's answers: %w", err)
	}
	return replies, nil
}

// record gives each step its reply.
func (r *Run) record(ctx context.Context, steps []Step, replies []fusedReply, began time.Time) (int, Result, error) {
	last := success
	for i := range replies {
		s := &steps[i]
		r.path = s.Path
		v, err := r.replied(&replies[i].Reply)
		at := began
		if i > 0 {
			// The page's clock tells how long each took.
			took := time.Duration((replies[i].At - replies[i-1].At) * float64(time.Millisecond))
			at = time.Now().Add(-took)
		}
		res, stop := r.ended(ctx, s, at, v, err)
		last = res
		if stop != nil {
			return i + 1, res, stop
		}
	}
	return len(replies), last, nil
}
