package runs

import (
	"context"
	"slices"
	"sort"
	"time"

	"troupe/persistence"
)

// walk goes through the keys of a query in its order. Keys of the store are in the order of the
// newest first. For the other order it reads spans of time, each from its end.
type walk struct {
	h      *History
	prefix string
	after  string // the key before
	last   string // no key behind it is one of the query's
	ended  bool

	oldest bool
	from   int64 // the second at which the next span begins
	until  int64 // no span begins later
	span   int64 // seconds
	skip   string
	found  bool // from is where the oldest run is
}

// firstSpan is how many seconds the first span has.
const firstSpan = 64

func (h *History) walk(q Query) *walk {
	w := &walk{h: h, prefix: Prefix + q.Account + "/", oldest: q.Oldest}
	if w.oldest {
		w.from, w.until, w.span = 0, time.Now().Unix()+1, firstSpan
		if !q.From.IsZero() {
			w.from = q.From.Unix()
		}
		if !q.To.IsZero() {
			w.until = q.To.Unix() + 1
		}
		if q.After != "" {
			w.skip = w.prefix + q.After
			w.from, w.found = secondOf(q.After), true
		}
		return w
	}
	if !q.To.IsZero() {
		w.after = w.prefix + timePart(q.To.Add(time.Second)) // keys have whole seconds
	}
	if q.After != "" {
		w.after = max(w.after, w.prefix+q.After)
	}
	if !q.From.IsZero() {
		w.last = w.prefix + timePart(q.From) + "~"
	}
	return w
}

// over reports whether next would return nothing, as far as that is known.
func (w *walk) over() bool { return w.ended }

// next returns the next keys; none: there are no more.
func (w *walk) next(ctx context.Context) ([]string, error) {
	if w.oldest {
		return w.nextSpan(ctx)
	}
	if w.ended {
		return nil, nil
	}
	list, err := w.h.cfg.Store.Keys(ctx, w.prefix, w.after, step)
	if err != nil {
		return nil, err
	}
	w.ended = len(list) < step
	keys := keysOf(list)
	if i := slices.IndexFunc(keys, func(k string) bool { return w.last != "" && k > w.last }); i >= 0 {
		keys, w.ended = keys[:i], true
	}
	if len(keys) > 0 {
		w.after = keys[len(keys)-1]
	}
	return keys, nil
}

func keysOf(list []persistence.KeySize) []string {
	keys := make([]string, len(list))
	for i, k := range list {
		keys[i] = k.Key
	}
	return keys
}

// nextSpan reads a span of time that has few keys.
func (w *walk) nextSpan(ctx context.Context) ([]string, error) {
	if err := w.findOldest(ctx); err != nil {
		return nil, err
	}
	for w.from < w.until {
		w.span = min(w.span, w.until-w.from)
		end := w.from + w.span
		// Behind the keys of the second at which the span ends, up to those of the one at
		// which it begins.
		list, err := w.h.cfg.Store.Keys(ctx, w.prefix, w.prefix+timePart(time.Unix(end, 0))+"~", 4*step)
		if err != nil {
			return nil, err
		}
		last := w.prefix + timePart(time.Unix(w.from, 0)) + "~"
		keys := keysOf(list)
		if i := slices.IndexFunc(keys, func(k string) bool { return k > last }); i >= 0 {
			keys = keys[:i]
		} else if len(list) == 4*step && w.span > 1 {
			w.span /= 2
			continue
		} else if len(list) == 4*step { // a single second with more: all of them
			if keys, err = w.second(ctx, keys, last); err != nil {
				return nil, err
			}
		}
		w.from, w.ended = end, end >= w.until
		if len(keys) < step {
			w.span *= 2
		}
		slices.Reverse(keys)
		if w.skip != "" {
			keys = slices.DeleteFunc(keys, func(k string) bool { return k >= w.skip })
			w.skip = ""
		}
		if len(keys) > 0 {
			return keys, nil
		}
	}
	return nil, nil
}

// findOldest moves the first span to where the first run is.
func (w *walk) findOldest(ctx context.Context) (err error) {
	if w.found {
		return nil
	}
	w.found = true
	i := sort.Search(int(max(w.until-w.from, 0)), func(i int) bool { // whether a run is as old as that
		if err != nil {
			return true
		}
		list, no := w.h.cfg.Store.Keys(ctx, w.prefix, w.prefix+timePart(time.Unix(w.from+int64(i)+1, 0))+"~", 1)
		err = no
		return len(list) > 0 && list[0].Key <= w.prefix+timePart(time.Unix(w.from, 0))+"~"
	})
	w.from += int64(i)
	return err
}

func (w *walk) second(ctx context.Context, keys []string, last string) ([]string, error) {
	for {
		list, err := w.h.cfg.Store.Keys(ctx, w.prefix, keys[len(keys)-1], 4*step)
		if err != nil || len(list) == 0 {
			return keys, err
		}
		for _, k := range list {
			if k.Key > last {
				return keys, nil
			}
			keys = append(keys, k.Key)
		}
	}
}
