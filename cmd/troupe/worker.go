package main

import (
	"fmt"
	"io"
	"time"

	"troupe/actors/api"
	"troupe/http/admin"
)

type workerCommands struct {
	Add    workerAdd    `cmd:"" help:"Add a worker. It starts now and at each later start of the service."`
	List   workerList   `cmd:"" help:"List the workers."`
	Drain  workerDrain  `cmd:"" help:"Let a worker finish its task and accept no more."`
	Resume workerResume `cmd:"" help:"Let a drained worker accept tasks again."`
	Remove workerRemove `cmd:"" help:"Drain an added worker, stop it and delete it. Its session ends."`
}

type workerAdd struct {
	distant
	Name    string `arg:"" help:"Name of the worker."`
	Account string `help:"Account that the worker is for. Default: it is shared."`
	Node    string `help:"Node of the cluster that gets the worker. Default: the node of the data folder." env:"-"`
}

func (c *workerAdd) Run(w *environment) error {
	return executeOne(w, &c.distant, true, "add a worker", admin.AddWorker{Name: c.Name, Account: c.Account, Node: c.Node}, func(r admin.Worker, live bool) string {
		if !live {
			return fmt.Sprintf("The worker %q (%s) was added. It starts with the service.", r.Name, r.ID)
		}
		return fmt.Sprintf("The worker %q (%s) was added and starts.", r.Name, r.ID)
	})
}

type workerList struct{ distant }

func (c *workerList) Run(w *environment) error {
	all, live, err := execute(w, &c.distant, false, admin.ListWorkers{})
	if err != nil {
		return fmt.Errorf("list workers: %w", err)
	}
	if !live {
		fmt.Fprintln(w.stderr, "troupe: no service runs; these are the workers that were added, without those of --workers")
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"NAME", "ID", "STATE", "SINCE", "OWNER", "FOR", "TASK"}}
		for _, r := range all {
			row := []string{r.Name, r.ID, stateOf(r), minute(r.Since), either(r.Account, "shared"), either(r.For, "-"), either(r.Task, "-")}
			if r.Node != "" {
				rows[0] = append(rows[0][:7], "NODE")
				row = append(row, r.Node)
			}
			rows = append(rows, row)
		}
		table(out, rows)
	})
}

func either(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}

// stateOf tells the state with what a drain has made of it.
func stateOf(r admin.Worker) string {
	switch {
	case r.Draining && r.State == api.Offline:
		return "drained"
	case r.Draining:
		return string(r.State) + ", draining"
	default:
		return string(r.State)
	}
}

type workerDrain struct {
	distant
	Worker string `arg:"" help:"Name or id of the worker."`
}

func (c *workerDrain) Run(w *environment) error {
	return executeOne(w, &c.distant, false, "drain a worker", admin.DrainWorker{Worker: c.Worker}, func(r admin.Worker, _ bool) string {
		if r.State == api.Busy {
			return fmt.Sprintf("The worker %q accepts no more tasks. Its running task continues to the end.", r.Name)
		}
		return fmt.Sprintf("The worker %q accepts no more tasks.", r.Name)
	})
}

type workerResume struct {
	distant
	Worker string `arg:"" help:"Name or id of the worker."`
}

func (c *workerResume) Run(w *environment) error {
	return executeOne(w, &c.distant, false, "resume a worker", admin.ResumeWorker{Worker: c.Worker}, func(r admin.Worker, _ bool) string {
		return fmt.Sprintf("The worker %q accepts tasks again.", r.Name)
	})
}

type workerRemove struct {
	distant
	Worker string        `arg:"" help:"Name or id of the worker."`
	Grace  time.Duration `default:"30s" help:"How long a task that it runs may go on. Default: 30s."`
}

func (c *workerRemove) Run(w *environment) error {
	if c.Grace < 0 {
		return usage("--grace is %v: want zero or more", c.Grace)
	}
	return executeOne(w, &c.distant, false, "remove a worker", admin.RemoveWorker{Worker: c.Worker, Grace: c.Grace.Milliseconds()}, func(r admin.Worker, _ bool) string {
		return fmt.Sprintf("The worker %q was removed.", r.Name)
	})
}
