package view

import (
	"bytes"
	"container/list"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/actors/api"
	"troupe/engine"
)

// How much is remembered of the tasks of an account, and of all of them.
const (
	recentTasks   = 100      // of an account
	recentBytes   = 2 << 20  // of an account: the steps of older ones go first
	recentAll     = 64 << 20 // of all accounts: whole tasks, the oldest first
	recentSteps   = 200      // of a task: the last ones
	recentResult  = 1 << 10  // bytes: larger results are left out
	recentText    = 2 << 10  // bytes of an error
	recentFaults  = 20       // of a task
	recentPicture = 20       // of a task
	taskWeight    = 1 << 10  // of a task without steps
	stepWeight    = 200      // of a step beside its texts
)

// TaskProgress is the progress of a task, for readers of an account's feed.
type TaskProgress struct {
	ID         string              `json:"ID"`
	Account    string              `json:"Account"`
	Worker     string              `json:"Worker"`
	WorkerName string              `json:"WorkerName"`
	Session    string              `json:"Session"`
	Async      bool                `json:"Async"`
	Actions    int                 `json:"Actions"` // of the list itself
	Began      time.Time           `json:"Began"`
	Ended      time.Time           `json:"Ended"`
	Steps      []engine.StepReport `json:"Steps"`    // the last ones
	Played     int                 `json:"Played"`   // steps that ended
	Left       int                 `json:"Left"`     // those of the beginning that are left out
	Failed     int                 `json:"Failed"`   // those that failed
	Pictures   []string            `json:"Pictures"` // addresses
	Outcome    *engine.Outcome     `json:"Outcome"`  // of one that has ended: how, without its data
	Timeout    time.Duration       `json:"Timeout"`

	Schedule *api.ScheduleRef `json:"Schedule,omitempty"` // that it is a run of; nil: none
	Label    string           `json:"Label,omitempty"`
	Metadata engine.Metadata  `json:"Metadata,omitempty"`

	weight int
	at     *list.Element // among those that have ended
}

// Feed knows what the workers do and what has become of the last tasks of each
// account, and tells its readers. Writers never wait for readers: a task without
// readers costs one lock a step.
type Feed struct {
	mu       sync.Mutex
	seq      uint64
	workers  map[string]WorkerSnapshot
	order    []string // of the workers, as they were added
	accounts map[string]*recent
	running  map[string]*TaskProgress
	ended    list.List // of all accounts, the oldest first
	weight   int       // of those
	readers  map[*FeedReader]struct{}
}

// recent is what is remembered of an account.
type recent struct {
	tasks  []*TaskProgress // the oldest first
	weight int
}

// WorkerSnapshot is a worker as it is now. VisibleTo says how much of it an account
// may see.
type WorkerSnapshot struct {
	api.WorkerInfo
	Holder string // whose session it has
	User   string // whose task
}

// VisibleTo is what an account may know of a worker; all: what the operator may.
func (w WorkerSnapshot) VisibleTo(account string, all bool) (api.WorkerInfo, bool) {
	info := w.WorkerInfo
	if all {
		if info.Account = w.User; info.Account == "" {
			info.Account = w.Holder
		}
		return info, true
	}
	if info.Owner != "" && info.Owner != account {
		return info, false
	}
	if w.Holder != account {
		info.Session = ""
	}
	if w.User != account {
		info.TaskID = ""
	}
	return info, true
}

// WorkerChanged records a worker that is new or has changed.
func (f *Feed) WorkerChanged(w WorkerSnapshot) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was, known := f.workers[w.ID]
	if known && was == w {
		return
	}
	if f.workers == nil {
		f.workers = map[string]WorkerSnapshot{}
	}
	if !known {
		f.order = append(f.order, w.ID)
	}
	f.workers[w.ID] = w
	for r := range f.readers {
		if info, may := w.VisibleTo(r.account, r.all); may {
			f.publish(r, Event{Worker: &info})
		}
	}
}

// WorkerRemoved records that a worker was removed.
func (f *Feed) WorkerRemoved(id string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	w, known := f.workers[id]
	if !known {
		return
	}
	delete(f.workers, id)
	f.order = slices.DeleteFunc(f.order, func(o string) bool { return o == id })
	for r := range f.readers {
		if _, may := w.VisibleTo(r.account, r.all); may {
			f.publish(r, Event{Gone: id})
		}
	}
}

// TaskStarted records a task that begins.
func (f *Feed) TaskStarted(t *TaskProgress) {
	t.Steps = make([]engine.StepReport, 0, min(t.Actions, recentSteps))
	t.weight = taskWeight
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.running == nil {
		f.running, f.accounts = map[string]*TaskProgress{}, map[string]*recent{}
	}
	f.running[t.ID] = t
	a := f.accounts[t.Account]
	if a == nil {
		a = &recent{}
		f.accounts[t.Account] = a
	}
	a.tasks = append(a.tasks, t)
	a.weight += t.weight
	f.publishTask(t, false)
}

// StepEnded records a step that has ended.
func (f *Feed) StepEnded(task string, s engine.StepReport) {
	if len(s.Result) > recentResult {
		s.Result, s.ResultBytes = nil, len(s.Result)
	} else if cap(s.Result) > 4*recentResult {
		s.Result = bytes.Clone(s.Result) // or it would hold all that it is part of
	}
	s.Error = brief(s.Error)
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.running[task]
	if t == nil { // it was answered without the rest
		return
	}
	t.Played++
	if !s.Success {
		t.Failed++
	}
	if s.Action == "screenshot" && s.Success && len(t.Pictures) < recentPicture {
		if url := urlIn(s.Result); url != "" {
			t.Pictures = append(t.Pictures, url)
		}
	}
	weight := stepWeight + s.Bytes()
	if len(t.Steps) == recentSteps {
		weight -= stepWeight + t.Steps[0].Bytes()
		t.Steps, t.Left = t.Steps[1:], t.Left+1
	}
	t.Steps = append(t.Steps, s)
	t.weight += weight
	f.accounts[t.Account].weight += weight
	for r := range f.readers {
		if r.account == t.Account {
			f.publish(r, Event{TaskID: t.ID, Step: &s})
		}
	}
}

func brief(s string) string {
	if len(s) <= recentText {
		return s
	}
	return strings.ToValidUTF8(s[:recentText], "") + "…"
}

// TaskOver records the end of a task.
func (f *Feed) TaskOver(x *api.Executed) {
	f.mu.Lock()
	defer f.mu.Unlock()
	t := f.running[x.TaskID]
	if t == nil {
		return
	}
	delete(f.running, t.ID)
	end := &engine.Outcome{End: x.Outcome.End, Failed: x.Outcome.Failed, Duration: x.Outcome.Duration, Trace: x.Outcome.Trace, Evidence: x.Outcome.Evidence}
	failures := x.Outcome.Failures
	if n := len(failures); n > recentFaults { // the last one may be why it ended
		failures = append(slices.Clone(failures[:recentFaults-1]), failures[n-1])
	}
	for _, failure := range failures {
		failure.Action, failure.Text = nil, brief(failure.Text)
		end.Failures = append(end.Failures, failure)
		t.weight += 256 + len(failure.Text)
		f.accounts[t.Account].weight += 256 + len(failure.Text)
	}
	t.Ended, t.Session, t.Outcome, t.Timeout = time.Now(), x.SessionID, end, x.Timeout
	t.at, f.weight = f.ended.PushBack(t), f.weight+t.weight
	f.publishTask(t, true)
	f.forgetOld(t.Account)
}
