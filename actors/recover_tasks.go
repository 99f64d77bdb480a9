package actors

import (
	"context"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// recoverTasks writes down what has become of the tasks that ran when the node
// ended: from now on they have failed, whatever happens next.
func (n *nodeParts) recoverTasks(ctx context.Context) error {
	var lost []records.Task
	err := records.EachJSON(ctx, n.records, records.TaskPrefix, func(t records.Task) {
		if t.Status == api.TaskPending && t.Node == n.cfg.Node {
			t.Status, t.Ended = api.TaskFailed, time.Now()
			lost = append(lost, t)
		}
	})
	if err != nil {
		return err
	}
	err = records.InParallel(lost, func(t records.Task) error { return n.records.EndTask(ctx, t, nil, records.Interrupted()) })
	if err != nil {
		return fmt.Errorf("write down interrupted tasks: %w", err)
	}
	for _, t := range lost {
		n.tellEnd(t, records.Interrupted())
	}
	return nil
}

// tellEnd writes into the log how an asynchronous task has ended: nobody may ever
// ask for it.
func (n *nodeParts) tellEnd(t records.Task, out *engine.Outcome) {
	n.log.Info().Str("task", t.ID).Str("account", persistence.AccountName(t.Account)).Str("worker", t.WorkerID).
		Str("status", string(t.Status)).Str("end", string(out.End)).Str("code", string(codeOf(out))).
		Int("failed", len(out.Failures)).Dur("took", t.Ended.Sub(t.Started)).Msg("asynchronous task ended")
}

// codeOf is the code that a poll answers with; empty: the list ran to its end.
func codeOf(out *engine.Outcome) engine.Code {
	switch out.End {
	case engine.EndCompleted:
		return ""
	case engine.EndStopped:
		if n := len(out.Failures); n > 0 {
			return out.Failures[n-1].Code
		}
	case engine.EndTimeout:
		return engine.CodeTaskTimeout
	case engine.EndCrashed:
		return engine.CodeBrowserCrashed
	case engine.EndInterrupted:
		return engine.CodeInterrupted
	case engine.EndCancelled:
		return engine.CodeCancelled
	case engine.EndLost:
		return engine.CodeWorkerLost
	}
	return engine.CodeInternal
}
