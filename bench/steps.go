package main

import (
	"fmt"
	"slices"
	"time"
)

// step is one action of a task, as the side that played it tells.
type step struct {
	Action     string
	DurationMs float64
}

// runSteps shows where the time of a task goes: how long each of its actions
// takes on the service and on the raw clients, in turn.
func runSteps(b *bench, p *part) error {
	sides, err := startAll(b, three, 1)
	if err != nil {
		return err
	}
	defer stopAll(sides)
	tasks, warm := 40, 3
	if b.quick {
		tasks = 9
	}
	p.say("%s", origin(b))
	p.say("Medians of %d tasks of each side, in turn, %d ms between two. The first row of each workload is the whole request. The time outside its actions is HTTP, the rules, the choice of a worker and the count. Consecutive actions of a kind are one row.", tasks, pairIdle.Milliseconds())
	t := table{head: []string{"", "action"}}
	for _, s := range sides {
		t.head = append(t.head, s.name)
	}
	t.head = append(t.head, "more than "+rawClean.name)
	for _, w := range works {
		if !slices.Contains(simple, w.name) {
			continue
		}
		var rows [][]string
		taken := make([][][]float64, len(sides)) // by side, row, task
		for n := range warm + tasks {
			for i, s := range sides {
				steps, err := playSteps(b, s, w)
				if err != nil {
					return fmt.Errorf("%s, %w", s.name, err)
				}
				if n < warm {
					continue
				}
				if taken[i] == nil {
					taken[i] = make([][]float64, len(steps))
				}
				if len(steps) != len(taken[i]) || len(steps) != len(taken[0]) {
					return fmt.Errorf("%s, %s: has told of %d actions instead of %d", s.name, w.name, len(steps), len(taken[0]))
				}
				for k, st := range steps {
					taken[i][k] = append(taken[i][k], st.DurationMs)
					if i == 0 && n == warm {
						rows = append(rows, []string{"", st.Action})
					}
				}
			}
		}
		rows[0][0] = w.name
		for k, row := range rows {
			of := map[string]float64{}
			for i, s := range sides {
				slices.Sort(taken[i][k])
				of[s.name] = taken[i][k][len(taken[i][k])/2]
				row = append(row, f2(of[s.name]))
			}
			t.row(append(row, fmt.Sprintf("%+.2f", of[troupe.name]-of[rawClean.name]))...)
		}
	}
	p.add(t)
	return nil
}

// playSteps plays a workload once: first comes the whole request, then its
// actions.
func playSteps(b *bench, s *side, w work) ([]step, error) {
	c := s.client(0)
	c.config = `"config":{"trace":true},`
	took, err := c.do(w, b.site)
	if err != nil {
		return nil, err
	}
	list := []step{{w.what, ms(took)}}
	for k, st := range c.steps {
		if k > 0 && st.Action == c.steps[k-1].Action && st.Action == "evaluate" {
			list[len(list)-1].DurationMs += st.DurationMs
		} else {
			list = append(list, st)
		}
	}
	time.Sleep(pairIdle)
	return list, nil
}
