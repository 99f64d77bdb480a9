package answer

import (
	"math"

	"troupe/actors/runs"
)

// Sums are what some runs come to.
type Sums struct {
	Runs     int64   `json:"runs"`
	Failed   int64   `json:"failed"` // of the runs
	Ended    int64   `json:"stepsEnded"`
	Browser  float64 `json:"browserSeconds"`
	Bytes    int64   `json:"resultBytes"`
	Attempts int64   `json:"attempts"`
}

// SumsRow are the sums of a day, a label or a token.
type SumsRow struct {
	Day   string  `json:"day,omitempty"`
	Label *string `json:"label,omitempty"` // empty: the runs had none
	Token *string `json:"token,omitempty"`
	Other bool    `json:"other,omitempty"` // of all that have no row of their own
	Sums
}

// OfSum describes sums.
func OfSum(s runs.Sum) Sums {
	return Sums{s.Runs, s.Failed, s.Steps, math.Round(s.Ran.Seconds()*1000) / 1000, s.Bytes, s.Attempts}
}

// SumsRows describes rows.
func SumsRows(all []runs.Row, by runs.By) []SumsRow {
	list := make([]SumsRow, len(all))
	for i, r := range all {
		row := SumsRow{Other: r.Other, Sums: OfSum(r.Sum)}
		switch name := r.Name; {
		case r.Other:
		case by == runs.ByLabel:
			row.Label = &name
		case by == runs.ByToken:
			row.Token = &name
		default:
			row.Day = name
		}
		list[i] = row
	}
	return list
}
