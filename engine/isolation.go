package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// Isolation is what a task may find of an earlier one on its worker.
type Isolation string

// The levels, the strictest first.
const (
	IsolateTask    Isolation = "task"    // nothing: each task has a context of its own
	IsolateAccount Isolation = "account" // of other accounts nothing, of its own what cleaning leaves
	IsolateNone    Isolation = "none"    // whatever is there
)

// Isolations are all levels, the strictest first.
func Isolations() []Isolation { return []Isolation{IsolateTask, IsolateAccount, IsolateNone} }

// StricterThan reports whether a level leaves less than another one. The empty level is
// none that anybody asked for, and stricter than no other.
func (i Isolation) StricterThan(other Isolation) bool {
	return i != "" && slices.Index(Isolations(), i) < slices.Index(Isolations(), other.orDefault())
}

func (i Isolation) orDefault() Isolation {
	if i == "" {
		return IsolateTask
	}
	return i
}

// Refuses says why an operator's level does not allow what a task asks for; empty: it
// does.
func (i Isolation) Refuses(asked Isolation) string {
	if asked == "" || !i.orDefault().StricterThan(asked) {
		return ""
	}
	return fmt.Sprintf("config.isolation %q is less than this service gives, which is %q: want that or more, or leave it out", asked, i.orDefault())
}

var isolationShape = lang.EnumShape("what a task may find of earlier ones on its worker", "task", "account", "none")

const (
	// maxTasks is how many tasks a context serves at most. What Chromium itself keeps in
	// memory for a process grows with each, and what cleaning has missed does not stay
	// longer. With 50 the replacement is a fiftieth of the cost of each task.
	maxTasks = 50
	// cleaning bounds what comes after a page was left, so that there is time to replace the
	// context.
	cleaning = 400 * time.Millisecond
	// replacing bounds a new context before a task. A task that cannot have one fails, so
	// this is long: with other work on the machine it took more than 2 s.
	replacing = 15 * time.Second
)

// keeps is what is known of a worker's context for the tasks after the first.
type keeps struct {
	after   bool   // it may be kept after the task that has played last
	waits   bool   // it was kept, and no task has played in it since
	account string // of its tasks
	tasks   int    // after which it was kept
}

// mayKeep reports whether contexts are kept at all. Cleaning needs to end the connections
// of the worker, and to know every command that its browser is sent.
func (in *instance) mayKeep() bool {
	return in.engine.Isolation.orDefault() != IsolateTask && in.door != nil && in.tenant == nil && in.proxy == ""
}

// isolate gives a task another context where the one that was kept is not for it.
func (in *instance) isolate(ctx context.Context, t *Task, st TaskEnv) error {
	if !in.mayKeep() {
		return nil
	}
	level := in.engine.Isolation
	alone := t.Config.Isolation.StricterThan(level) || st.Cache != nil || st.Profile != nil || t.Config.HAR != nil || t.Config.FullTrace || t.Config.proxy != nil
	if in.keeps.waits && (alone || level == IsolateAccount && in.keeps.account != st.Account) {
		if err := in.replaceFor(ctx, in.context()); err != nil {
			in.engine.Log.Warn().Err(err).Msg("browser replaced: the context of another task could not be")
			return err
		}
	}
	in.keeps.waits, in.keeps.account, in.keeps.after = false, st.Account, !alone
	return nil
}

// keep cleans the context for the next task, and reports whether that can have it.
func (in *instance) keep(ctx context.Context, c *browser.Context) bool {
	if !in.keeps.after || !in.mayKeep() || in.keeps.tasks+1 >= maxTasks {
		return false
	}
	why := c.MustReplace()
	if why == "" {
		if err := in.clean(ctx, c); err != nil {
			why = err.Error()
		}
	}
	if why != "" {
		in.engine.Log.Debug().Str("reason", why).Msg("browser context replaced")
		return false
	}
	in.keeps.waits, in.keeps.after = true, false
	in.keeps.tasks++
	in.mu.Lock()
	in.closed, in.lost, in.refs, in.used, in.requests, in.through = nil, 0, nil, nil, nil, ""
	in.mu.Unlock()
	return true
}

// clean ends the connections of a task, so that no answer to it comes later, and then
// removes what it has left.
func (in *instance) clean(ctx context.Context, c *browser.Context) error {
	resistance := in.engine.pace.resistance() + in.patience
	ctx, cancel := context.WithTimeout(ctx, resistance+cleaning)
	defer cancel()
	erase := in.engine.Isolation != IsolateNone
	if erase {
		in.door.Shut() // until the next task
	}
	left, err := c.Clean(ctx, erase, resistance)
	if err != nil {
		return err
	}
	in.engine.pace.left.Add(left)
	if !erase {
		return nil
	}
	in.door.Renew()
	return nil
}
