package runs

import (
	"time"

	"troupe/persistence/owned"
	"troupe/persistence/sealed"
)

// The keys of the sums of a day begin with DayPrefix, those of what they lack yet with
// FreshPrefix.
const (
	DayPrefix   = "run-day/"
	FreshPrefix = "run-fresh/"
)

var (
	_ = sealed.Register(sealed.Kind{Prefix: DayPrefix, Holds: "sums of the runs of a day"})
	_ = sealed.Register(sealed.Kind{Prefix: FreshPrefix, Holds: "what is to be added to the sums of a day"})
	_ = owned.Register(owned.Kind{Prefix: DayPrefix, By: owned.Key})
	_ = owned.Register(owned.Kind{Prefix: FreshPrefix, By: owned.Key})
)

const (
	// KeepDays is how many days sums are kept, whatever becomes of the runs.
	KeepDays = 90
	// maxRows bounds the labels and the tokens of a day that have sums of their own.
	maxRows = 100
)

// Sum is what some runs come to.
type Sum struct {
	Runs     int64         `json:"runs"`
	Failed   int64         `json:"failed,omitempty"` // of the runs
	Steps    int64         `json:"steps,omitempty"`  // that ended
	Ran      time.Duration `json:"ran,omitempty"`    // with a browser
	Bytes    int64         `json:"bytes,omitempty"`  // of results
	Attempts int64         `json:"attempts,omitempty"`
}

func (s *Sum) add(o Sum) {
	s.Runs += o.Runs
	s.Failed += o.Failed
	s.Steps += o.Steps
	s.Ran += o.Ran
	s.Bytes += o.Bytes
	s.Attempts += o.Attempts
}

// Day is the record of the sums of an account's day.
type Day struct {
	All         Sum            `json:"all"`
	Labels      map[string]Sum `json:"labels,omitempty"`
	Tokens      map[string]Sum `json:"tokens,omitempty"`
	OtherLabels Sum            `json:"otherLabels,omitzero"` // of those that came when there were many
	OtherTokens Sum            `json:"otherTokens,omitzero"`
	// Last are the names of the records that were added last: they are about to be removed,
	// and must not be added again.
	Last []string `json:"last,omitempty"`
}

// Fresh is the record of runs that are to be added to the sums of their day.
type Fresh struct {
	Runs []FreshRun `json:"runs"`
	// Looks tells that the record of the run decides: this one is written before it, and a
	// process may have died in between.
	Looks   bool      `json:"looks,omitempty"`
	Written time.Time `json:"written"`
}

// FreshRun is what the sums of a day need of a run.
type FreshRun struct {
	ID    string `json:"id,omitempty"` // where Looks is set
	Label string `json:"label,omitempty"`
	Token string `json:"token,omitempty"`
	Sum   Sum    `json:"sum"`
}

// fresh is what sums need of a run that has ended.
func (r *Run) fresh() FreshRun {
	s := Sum{Runs: 1, Steps: int64(r.Done), Ran: r.Ran, Bytes: int64(r.Result), Attempts: int64(r.Attempts)}
	if r.Attempts == 0 && !r.Began.IsZero() {
		s.Attempts = 1
	}
	if r.State != complete {
		s.Failed = 1
	}
	return FreshRun{ID: r.ID, Label: r.Label, Token: r.Token, Sum: s}
}

func (d *Day) add(f FreshRun) {
	d.All.add(f.Sum)
	addRow(&d.Labels, &d.OtherLabels, f.Label, f.Sum)
	addRow(&d.Tokens, &d.OtherTokens, f.Token, f.Sum)
}

func addRow(rows *map[string]Sum, other *Sum, name string, s Sum) {
	row, there := (*rows)[name]
	if !there && len(*rows) >= maxRows {
		other.add(s)
		return
	}
	if *rows == nil {
		*rows = map[string]Sum{}
	}
	row.add(s)
	(*rows)[name] = row
}

// day is the day to which a run counts: that of its end, so that the sums of a day that is over
// stay as they are.
func (r *Run) day() string { return r.Ended.UTC().Format(time.DateOnly) }

// sumsUntil is until when the sums of a day are kept.
func sumsUntil(day string) time.Time {
	at, err := time.Parse(time.DateOnly, day)
	if err != nil { // nobody has written such a key
		return time.Now().Add(24 * time.Hour)
	}
	return at.AddDate(0, 0, KeepDays+1)
}
