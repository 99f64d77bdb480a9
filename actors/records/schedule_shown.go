package records

import (
	"context"
	"encoding/json"
	"fmt"

	"troupe/actors/api"
)

// ScheduleShown is a schedule as it is shown: its task is not parsed.
type ScheduleShown struct {
	Schedule                 // without its task, and without the items of its batch unless it is whole
	Source   json.RawMessage // the text of its task, where it is whole
	Items    int             // of its batch
	Sites    []string        // of its task
}

// shownSchedule is the record of a schedule as far as it is read. What is not in it is not
// copied out of the record.
type shownSchedule[T, B any] struct {
	Schedule
	Spec struct {
		api.ScheduleSpec
		Task  T  `json:"task"`
		Batch *B `json:"batch"`
	} `json:"spec"`
}

type (
	boundOnly struct {
		Sites []string `json:"sites"`
	}
	textOnly struct {
		Source json.RawMessage `json:"source"`
		boundOnly
	}
	countOnly struct {
		Name  string    `json:"name"`
		Items []counted `json:"items"`
	}
	// counted is a value of which only is read that it is there.
	counted struct{}
)

func (*counted) UnmarshalJSON([]byte) error { return nil }

// Show reads the record of a schedule without what a list does not show, or whole.
func (u Schedules) Show(ctx context.Context, account, id string, whole bool) (*ScheduleShown, error) {
	value, err := u.r.Sealed.Get(ctx, ScheduleKey(account, id))
	if err != nil {
		return nil, err
	}
	var s *ScheduleShown
	if whole {
		s, err = showWhole(value)
	} else {
		s, err = showHead(value)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ScheduleKey(account, id), err)
	}
	return s, nil
}

func showWhole(value []byte) (*ScheduleShown, error) {
	var r shownSchedule[textOnly, api.ScheduleBatch]
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, err
	}
	s := &ScheduleShown{Schedule: r.Schedule, Source: r.Spec.Task.Source, Sites: r.Spec.Task.Sites}
	s.Spec = r.Spec.ScheduleSpec
	if s.Spec.Batch = r.Spec.Batch; s.Spec.Batch != nil {
		s.Items = len(s.Spec.Batch.Items)
	}
	return s, nil
}

func showHead(value []byte) (*ScheduleShown, error) {
	var r shownSchedule[boundOnly, countOnly]
	if err := json.Unmarshal(value, &r); err != nil {
		return nil, err
	}
	s := &ScheduleShown{Schedule: r.Schedule, Sites: r.Spec.Task.Sites}
	s.Spec = r.Spec.ScheduleSpec
	if b := r.Spec.Batch; b != nil {
		s.Spec.Batch, s.Items = &api.ScheduleBatch{Name: b.Name}, len(b.Items)
	}
	return s, nil
}
