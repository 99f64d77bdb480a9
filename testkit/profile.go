package testkit

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"troupe/engine"
)

// Visits are tasks that use profiles: each adds itself to the profile that it was given,
// as a task adds to what a site keeps. So a profile says which tasks have saved it.
type Visits struct {
	mu    sync.Mutex
	now   map[string]int
	worst int
}

// visits is the storage state of such a profile.
type visits struct {
	Cookies []string `json:"cookies"` // as in a state of a browser
	Tasks   []string `json:"tasks"`
}

// TasksOf lists the tasks that have saved a profile, by its state.
func TasksOf(state []byte) ([]string, error) {
	var v visits
	if len(state) == 0 {
		return nil, nil
	}
	err := json.Unmarshal(state, &v)
	return v.Tasks, err
}

// Worst is the most tasks that could save the same profile at once.
func (v *Visits) Worst() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.worst
}

func (v *Visits) count(profile string, n int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.now == nil {
		v.now = map[string]int{}
	}
	v.now[profile] += n
	v.worst = max(v.worst, v.now[profile])
}

// Script is how such a task goes. One that is ended early saves nothing.
func (v *Visits) Script(takes time.Duration) Script {
	return Script{Do: func(ctx context.Context, c Call) *engine.Outcome {
		p := c.Env.Profile
		if p != nil && p.Keep != nil {
			name := c.Env.Account + "/" + c.Task.Profile.Name
			v.count(name, 1)
			defer v.count(name, -1)
		}
		over := time.NewTimer(takes)
		defer over.Stop()
		select {
		case <-over.C:
		case <-ctx.Done():
			return &engine.Outcome{End: engine.EndOf(ctx)}
		}
		out := &engine.Outcome{End: engine.EndCompleted, Data: []byte(`1`)}
		if p == nil || p.Keep == nil {
			return out
		}
		before, err := TasksOf(p.State)
		if err == nil {
			var b []byte
			if b, err = json.Marshal(visits{[]string{}, append(before, c.Env.TaskID)}); err == nil {
				bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
				defer cancel()
				err = p.Keep(bound, b, nil)
			}
		}
		if err != nil {
			out.Warnings = []engine.Warning{{Message: "the profile was not saved: " + err.Error()}}
		}
		return out
	}}
}
