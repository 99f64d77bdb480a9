package main

import (
	"errors"
	"fmt"
	"io"
	"time"

	"troupe/engine"
	"troupe/http/admin"
	"troupe/http/answer"
)

type drainCommand struct {
	distant
	Node string        `help:"Node of the cluster. Default: the node of the data folder." env:"-"`
	Wait time.Duration `help:"Wait so long until no task runs or waits any more. Exit code 1: one still does."`
}

// Run tells the running service to take no more tasks.
func (c *drainCommand) Run(w *environment) error {
	if c.Wait < 0 {
		return usage("--wait is %v: want zero or more", c.Wait)
	}
	now, err := sendCommand(w, &c.distant, admin.DrainService{Node: c.Node})
	if err != nil {
		return fmt.Errorf("drain the service: %w", err)
	}
	late := time.After(c.Wait)
	for c.Wait > 0 && now.Busy+now.Waiting > 0 {
		select {
		case <-w.ctx.Done():
			return w.ctx.Err()
		case <-late:
			return fmt.Errorf("drain the service: %s after %v", left(now, " "+engine.Plural(now.Busy, "task", "tasks")), c.Wait)
		case <-time.After(200 * time.Millisecond):
		}
		if now, err = sendCommand(w, &c.distant, admin.CountService{Node: c.Node}); err != nil {
			return fmt.Errorf("drain the service: %w", err)
		}
	}
	return c.print(w, now, func(out io.Writer) {
		fmt.Fprintf(out, "The service accepts no more tasks; %s. troupe resume undoes this.\n", left(now, ""))
	})
}

type resumeCommand struct {
	distant
	Node string `help:"Node of the cluster. Default: the node of the data folder." env:"-"`
}

// Run lets it take tasks again.
func (c *resumeCommand) Run(w *environment) error {
	now, err := sendCommand(w, &c.distant, admin.ResumeService{Node: c.Node})
	if err != nil {
		return fmt.Errorf("let the service go on: %w", err)
	}
	return c.print(w, now, func(out io.Writer) {
		if now.Draining {
			fmt.Fprintln(out, "The service is stopping: it accepts no more tasks.")
			return
		}
		fmt.Fprintf(out, "The service accepts tasks; %s.\n", free(now))
	})
}

// free counts the workers that a task would find free.
func free(n answer.Capacity) string {
	verb := engine.Plural(n.Online, "is", "are")
	if n.Workers == 1 {
		verb = "is"
	}
	return fmt.Sprintf("%d of %d %s %s free", n.Online, n.Workers, engine.Plural(n.Workers, "worker", "workers"), verb)
}

// left counts the tasks that are not over, with a word behind the first number.
func left(n answer.Capacity, what string) string {
	return fmt.Sprintf("%d%s %s and %d %s", n.Busy, what, engine.Plural(n.Busy, "runs", "run"), n.Waiting, engine.Plural(n.Waiting, "waits", "wait"))
}

// sendCommand sends a command that only a running service can run.
func sendCommand[R any](w *environment, by placed, o admin.Command[R]) (result R, err error) {
	c, elsewhere := by.placed()
	if elsewhere != nil && elsewhere.found != nil && elsewhere.found.given {
		return overHTTP(w, elsewhere, o)
	}
	dir, err := findData(c.Data)
	if err != nil {
		return result, usageError{err}
	}
	if result, err = admin.Send(socketIn(dir), o); errors.Is(err, admin.ErrNoService) {
		return result, usage("no service runs with the data folder %s", dir)
	}
	return result, err
}
