package view

import (
	"maps"
	"slices"

	"troupe/engine"
)

// forgetOld forgets old tasks until the rest is within the bounds. Running tasks stay.
func (f *Feed) forgetOld(account string) {
	a := f.accounts[account]
	for excess := len(a.tasks) - recentTasks; excess > 0; excess-- {
		i := slices.IndexFunc(a.tasks, (*TaskProgress).isOver)
		if i < 0 {
			break
		}
		f.drop(a.tasks[i])
	}
	for _, t := range a.tasks {
		if a.weight <= recentBytes {
			break
		}
		if t.isOver() && len(t.Steps) > 0 {
			freed := 0
			for _, s := range t.Steps {
				freed += stepWeight + s.Bytes()
			}
			t.Left, t.Steps = t.Left+len(t.Steps), nil
			t.weight, a.weight, f.weight = t.weight-freed, a.weight-freed, f.weight-freed
		}
	}
	for f.weight > recentAll && f.ended.Len() > 1 {
		f.drop(f.ended.Front().Value.(*TaskProgress))
	}
}

func (t *TaskProgress) isOver() bool { return t.Outcome != nil }

// drop forgets a task that has ended.
func (f *Feed) drop(t *TaskProgress) {
	f.ended.Remove(t.at)
	f.weight -= t.weight
	a := f.accounts[t.Account]
	a.tasks, a.weight = slices.DeleteFunc(a.tasks, func(o *TaskProgress) bool { return o == t }), a.weight-t.weight
	if len(a.tasks) == 0 {
		delete(f.accounts, t.Account)
	}
}

// ForgetAccount removes the ended tasks of an account.
func (f *Feed) ForgetAccount(account string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if a := f.accounts[account]; a != nil {
		for _, t := range slices.Clone(a.tasks) {
			if t.isOver() {
				f.drop(t)
			}
		}
	}
}

// tasks are the last ones that an account may see, the newest first: those that
// run, and up to as many in all as were asked for. All are everybody's.
func (f *Feed) tasks(account string, all bool, most int) []TaskProgress {
	var found []*TaskProgress
	if all {
		found = slices.Collect(maps.Values(f.running))
		for e := f.ended.Back(); e != nil && len(found) < most+len(f.running); e = e.Prev() {
			found = append(found, e.Value.(*TaskProgress))
		}
	} else if a := f.accounts[account]; a != nil {
		found = slices.Clone(a.tasks)
	}
	slices.SortStableFunc(found, func(a, b *TaskProgress) int {
		if a.isOver() != b.isOver() { // first what runs, so that it is never left out
			if b.isOver() {
				return -1
			}
			return 1
		}
		return b.Began.Compare(a.Began)
	})
	var list []TaskProgress
	for _, t := range found {
		if len(list) >= most && t.isOver() {
			break
		}
		list = append(list, t.as(account))
	}
	slices.SortStableFunc(list, func(a, b TaskProgress) int { return b.Began.Compare(a.Began) })
	return list
}

// as is what an account may see of a task: of another's, that it is there.
func (t *TaskProgress) as(account string) TaskProgress {
	c := *t
	c.Steps, c.Pictures = slices.Clip(t.Steps), slices.Clip(t.Pictures) // what comes next is appended elsewhere
	if account != t.Account {
		c.Steps, c.Pictures, c.Left = nil, nil, 0
		c.Label, c.Metadata = "", nil
		if t.Outcome != nil {
			end := *t.Outcome
			end.Trace, end.Evidence, end.Failures = "", nil, slices.Clone(end.Failures)
			for i := range end.Failures {
				end.Failures[i] = engine.Failure{Code: end.Failures[i].Code}
			}
			c.Outcome = &end
		}
	}
	return c
}

// Recent returns the last tasks that an account may see, the newest first.
func (f *Feed) Recent(account string, all bool, most int) []TaskProgress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.tasks(account, all, most)
}

// RecentTask returns one of the recent tasks, if the account may see it.
func (f *Feed) RecentTask(account string, all bool, id string) (TaskProgress, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.running[id]
	if a := f.accounts[account]; t == nil && a != nil {
		if i := slices.IndexFunc(a.tasks, func(t *TaskProgress) bool { return t.ID == id }); i >= 0 {
			t = a.tasks[i]
		}
	}
	for e := f.ended.Back(); t == nil && all && e != nil; e = e.Prev() {
		if o := e.Value.(*TaskProgress); o.ID == id {
			t = o
		}
	}
	if t == nil || t.Account != account && !all {
		return TaskProgress{}, false
	}
	return t.as(account), true
}
