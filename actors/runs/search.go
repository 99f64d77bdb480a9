package runs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// Query selects runs of an account. What is empty selects any.
type Query struct {
	Account  string
	From, To time.Time // when they were asked for; To is left out
	State    api.TaskStatus
	Codes    []engine.Code // one of them
	Label    string
	Metadata map[string]string // by key, as texts
	Origin   api.Origin
	Address  string   // the beginning of the first or of the last one, or the host of one
	Token    string   // its identifier
	Of       string   // the batch or the schedule
	Words    []string // all of which are in the texts of the run
	Oldest   bool     // the oldest is first

	Most  int
	After string // the cursor of the part before; empty: the first part
}

// How much one request looks at. A search that finds little ends after that, with a cursor.
const (
	budget = 25 * time.Millisecond
	step   = 256
)

// Page is a part of a list.
type Page struct {
	Runs []Run
	Next string // the cursor of the next part; empty: there is none
	// Unreadable are the identifiers of runs that the service's key does not open.
	Unreadable []string
}

// List lists the runs of a query. A part may have fewer than were asked for, or none, and a
// next one all the same.
func (h *History) List(ctx context.Context, q Query) (p Page, err error) {
	p.Next, err = h.scan(ctx, q, &p.Unreadable, func(r *Run) bool {
		p.Runs = append(p.Runs, *r)
		return len(p.Runs) < q.Most
	})
	return p, err
}

// scan calls f for the runs of a query until it returns false or the budget is spent, and
// returns the cursor behind the last one that it has looked at.
func (h *History) scan(ctx context.Context, q Query, unreadable *[]string, f func(*Run) bool) (next string, err error) {
	h.settle(ctx)
	prefix, needles := Prefix+q.Account+"/", q.needles()
	began := time.Now()
	w := h.walk(q)
	for n := 0; ; {
		keys, err := w.next(ctx)
		if err != nil {
			return "", fmt.Errorf("list runs: %w", err)
		}
		if len(keys) == 0 {
			return "", nil
		}
		for i, key := range keys {
			b, err := h.cfg.Values.Get(ctx, key)
			more := true
			switch {
			case errors.Is(err, persistence.ErrNotFound):
			case errors.Is(err, persistence.ErrSealed):
				*unreadable = append(*unreadable, idIn(key))
				more = len(*unreadable) < step
			case err != nil:
				return "", fmt.Errorf("list runs: %w", err)
			case !needles.in(b):
			default:
				r := new(Run)
				if err := json.Unmarshal(b, r); err != nil {
					h.cfg.Log.Error().Err(err).Str("key", key).Msg("record not read")
				} else if q.selects(r) {
					more = f(r)
				}
			}
			n++
			if !more || n%16 == 0 && time.Since(began) > budget {
				if i == len(keys)-1 && w.over() {
					return "", nil
				}
				return strings.TrimPrefix(key, prefix), nil
			}
		}
	}
}

// needles are what the record of each run has that a query selects, so that most others need
// not be decoded.
type needles struct {
	exact [][]byte
	words [][]byte // in small letters
}

func (q *Query) needles() (n needles) {
	field := func(name string, value string) {
		if value != "" {
			n.exact = append(n.exact, append([]byte(`"`+name+`":`), inJSON(value)...))
		}
	}
	field("state", string(q.State))
	field("label", q.Label)
	field("origin", string(q.Origin))
	field("token", q.Token)
	for key := range q.Metadata {
		n.exact = append(n.exact, append(inJSON(key), ':'))
	}
	for _, w := range q.Words {
		b := inJSON(strings.ToLower(w))
		n.words = append(n.words, b[1:len(b)-1])
	}
	return n
}

func inJSON(s string) []byte {
	b, _ := json.Marshal(s) // a string is JSON
	return b
}

func (n needles) in(b []byte) bool {
	for _, e := range n.exact {
		if !bytes.Contains(b, e) {
			return false
		}
	}
	if len(n.words) == 0 {
		return true
	}
	b = bytes.ToLower(b)
	return !slices.ContainsFunc(n.words, func(w []byte) bool { return !bytes.Contains(b, w) })
}

// selects reports whether a run is one of the query's.
func (q *Query) selects(r *Run) bool {
	switch {
	case r.State == api.TaskPending,
		!q.From.IsZero() && r.Time().Before(q.From), !q.To.IsZero() && !r.Time().Before(q.To),
		q.State != "" && r.State != q.State,
		len(q.Codes) > 0 && !slices.Contains(q.Codes, r.Code),
		q.Label != "" && r.Label != q.Label,
		q.Origin != "" && r.Origin != q.Origin,
		q.Token != "" && r.Token != q.Token,
		q.Of != "" && (r.Batch == nil || r.Batch.Batch != q.Of) && (r.Schedule == nil || r.Schedule.Schedule != q.Of),
		q.Address != "" && !r.was(q.Address):
		return false
	}
	return r.says(q.Metadata) && r.mentions(q.Words)
}

// was reports whether the run began or ended at an address.
func (r *Run) was(address string) bool {
	if r.Visited == nil {
		return false
	}
	for _, at := range []string{r.Visited.First, r.Visited.URL} {
		_, rest, _ := strings.Cut(at, "://")
		host, _, _ := strings.Cut(rest, "/")
		if at != "" && (strings.HasPrefix(at, address) || host == address || strings.HasSuffix(host, "."+address)) {
			return true
		}
	}
	return false
}

// says reports whether the metadata of the run has values.
func (r *Run) says(want map[string]string) bool {
	if len(want) == 0 {
		return true
	}
	var has map[string]any
	d := json.NewDecoder(bytes.NewReader(r.Metadata))
	d.UseNumber()
	if d.Decode(&has) != nil {
		return false
	}
	for key, value := range want {
		if got, ok := has[key]; !ok || fmt.Sprint(got) != value {
			return false
		}
	}
	return true
}

// mentions reports whether all words are in texts that a list shows.
func (r *Run) mentions(words []string) bool {
	if len(words) == 0 {
		return true
	}
	var b strings.Builder
	for _, s := range []string{r.ID, r.Label, string(r.Metadata), r.Error, string(r.Code), r.WorkerName, r.Session} {
		b.WriteString(s)
		b.WriteByte('\n')
	}
	if v := r.Visited; v != nil {
		b.WriteString(v.First + "\n" + v.URL + "\n" + v.Title + "\n")
	}
	if r.Batch != nil {
		b.WriteString(r.Batch.Batch + "\n")
	}
	if r.Schedule != nil {
		b.WriteString(r.Schedule.Schedule)
	}
	text := strings.ToLower(b.String())
	return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, strings.ToLower(w)) })
}
