package runs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/persistence"
)

// By says which runs a row of sums is about.
type By string

// The ways.
const (
	ByDay   By = "day"
	ByLabel By = "label"
	ByToken By = "token"
)

// Row is the sums of a day, or of all runs with a label or a token.
type Row struct {
	Name  string // the day, the label, or the identifier of the token; empty: they had none
	Other bool   // of all that have no row of their own
	Sum
}

// Usage is what an account's runs come to.
type Usage struct {
	Rows  []Row
	Total Sum
	// Unreadable are the days with sums that the service's key does not open.
	Unreadable []string
}

// Usage sums up the runs that ended on days from one to another, the last of them included. Days
// come in their order, other rows with most runs first. Those behind the most are one row.
func (h *History) Usage(ctx context.Context, account string, from, to time.Time, by By, most int) (u Usage, err error) {
	h.settle(ctx)
	if err := h.fold(ctx, account); err != nil {
		return u, err
	}
	prefix, rows := DayPrefix+account+"/", map[string]Sum{}
	var other Sum
	last := to.UTC().Format(time.DateOnly)
	first := prefix + from.UTC().Format(time.DateOnly)
	for after := first[:len(first)-1]; ; { // the key of the first day itself is behind that
		list, err := h.cfg.Store.Keys(ctx, prefix, after, 2*KeepDays)
		if err != nil {
			return u, fmt.Errorf("list sums: %w", err)
		}
		for _, k := range list {
			// A day has a second key where the first one cannot be opened.
			day, _, _ := strings.Cut(strings.TrimPrefix(k.Key, prefix), ".")
			if k.Key < first || day > last {
				continue
			}
			if err := h.addDay(ctx, k.Key, day, by, rows, &other, &u); err != nil {
				return u, err
			}
		}
		if len(list) < 2*KeepDays {
			break
		}
		after = list[len(list)-1].Key
	}
	u.Rows = sorted(rows, other, by, most)
	return u, nil
}

// addDay adds the sums of one record.
func (h *History) addDay(ctx context.Context, key, day string, by By, rows map[string]Sum, other *Sum, u *Usage) error {
	b, err := h.cfg.Values.Get(ctx, key)
	switch {
	case errors.Is(err, persistence.ErrNotFound):
		return nil
	case errors.Is(err, persistence.ErrSealed):
		u.Unreadable = append(u.Unreadable, day)
		return nil
	case err != nil:
		return fmt.Errorf("read sums: %w", err)
	}
	var d Day
	if err := json.Unmarshal(b, &d); err != nil {
		return fmt.Errorf("read %s: %w", key, err)
	}
	u.Total.add(d.All)
	of := map[string]Sum{day: d.All}
	switch by {
	case ByLabel:
		of = d.Labels
		other.add(d.OtherLabels)
	case ByToken:
		of = d.Tokens
		other.add(d.OtherTokens)
	}
	for name, s := range of {
		row := rows[name]
		row.add(s)
		rows[name] = row
	}
	return nil
}

func sorted(rows map[string]Sum, other Sum, by By, most int) []Row {
	all := make([]Row, 0, len(rows)+1)
	for name, s := range rows {
		all = append(all, Row{Name: name, Sum: s})
	}
	slices.SortFunc(all, func(a, b Row) int {
		if by == ByDay {
			return cmp.Compare(a.Name, b.Name)
		}
		return cmp.Or(cmp.Compare(b.Runs, a.Runs), cmp.Compare(a.Name, b.Name))
	})
	for _, r := range all[min(most, len(all)):] {
		other.add(r.Sum)
	}
	all = all[:min(most, len(all))]
	if other.Runs > 0 {
		all = append(all, Row{Other: true, Sum: other})
	}
	return all
}
