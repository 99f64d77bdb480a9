package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"troupe/engine"
	"troupe/http/address"
	"troupe/http/answer"
)

type taskCommands struct {
	List   taskList   `cmd:"" help:"List the last tasks, or those of the queue."`
	Show   taskShow   `cmd:"" help:"Show a task: its state, its steps, and why it failed."`
	Watch  taskWatch  `cmd:"" help:"Show the steps of a task as they end, then print its result."`
	Cancel taskCancel `cmd:"" help:"Cancel a task."`
	Retry  taskRetry  `cmd:"" help:"Queue a task again that is in the list of dead tasks, as a new task."`
}

type taskList struct {
	client
	Status string `env:"-" enum:",queued,ended,dead" default:"" help:"Only tasks of the queue: queued, ended or dead. Default: the last tasks of any kind." placeholder:"STATUS"`
	Limit  int    `default:"20" help:"How many." placeholder:"N"`
	Cursor string `env:"-" help:"Where to go on, as the list before says. With --status." placeholder:"CURSOR"`
}

// Run lists tasks.
func (c *taskList) Run(w *environment) error {
	q := url.Values{"limit": {strconv.Itoa(c.Limit)}}
	for name, value := range map[string]string{"status": c.Status, "cursor": c.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	path := address.Fixed("/v1/tasks").With(q)
	if c.Status == "" {
		return c.recent(w, path)
	}
	var all struct {
		Tasks []answer.QueuedTask `json:"tasks"`
		Next  string              `json:"next,omitempty"`
	}
	if err := c.call(w.ctx, http.MethodGet, path, &all); err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"TASK", "STATUS", "CODE", "ATTEMPTS", "SINCE"}}
		for _, t := range all.Tasks {
			rows = append(rows, []string{t.TaskID, t.Status, cmp.Or(string(t.Code), "-"), strconv.Itoa(t.Attempts), clockOf(cmp.Or(t.Ended, t.Starts, t.Queued))})
		}
		table(out, rows)
		if all.Next != "" {
			fmt.Fprintf(out, "More: --cursor %s\n", quote(all.Next))
		}
	})
}

func (c *taskList) recent(w *environment, path address.Path) error {
	var all struct {
		Tasks []answer.RecentTask `json:"tasks"`
	}
	if err := c.call(w.ctx, http.MethodGet, path, &all); err != nil {
		return fmt.Errorf("list tasks: %w", err)
	}
	return c.print(w, all.Tasks, func(out io.Writer) {
		rows := [][]string{{"TASK", "STATUS", "CODE", "STARTED", "TOOK", "STEPS", "WORKER"}}
		for _, t := range all.Tasks {
			rows = append(rows, []string{t.TaskID, t.Status, cmp.Or(string(t.Code), "-"), clockOf(t.Started), took(t.Duration),
				fmt.Sprintf("%d/%d", t.Played, t.Actions), plain(t.WorkerName)})
		}
		table(out, rows)
	})
}

// clockOf is a time of an answer, as people read it here.
func clockOf(text string) string {
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return "-"
	}
	return at.Local().Format("2006-01-02 15:04:05")
}

func took(ms *int64) string {
	if ms == nil {
		return "-"
	}
	return (time.Duration(*ms) * time.Millisecond).String()
}

// oneTask is the argument of commands about one task.
type oneTask struct {
	client
	ID string `arg:"" help:"The task, such as task_5c49f9d7f0a20751_1795449031."`
}

// path is that of the task.
func (c *oneTask) path(doing string, below address.Constant) (address.Path, error) {
	path, err := address.Task.Path(c.ID, below)
	if err != nil {
		return path, usage("%s: %w", doing, err)
	}
	return path, nil
}

type taskShow struct{ oneTask }

// Run shows a task.
func (c *taskShow) Run(w *environment) error {
	path, err := c.path("show a task", "")
	if err != nil {
		return err
	}
	var one struct {
		Task answer.RecentTask `json:"task"`
	}
	if err := c.call(w.ctx, http.MethodGet, path, &one); err != nil {
		return fmt.Errorf("show a task: %w", err)
	}
	return c.print(w, one.Task, func(out io.Writer) { describeTask(out, &one.Task) })
}

// describeTask prints a task for people: why it failed comes first.
func describeTask(out io.Writer, t *answer.RecentTask) {
	p := paintFor(out)
	status := t.Status
	switch {
	case t.Code != "":
		status = p.red(status)
	case t.Status == "complete":
		status = p.green(status)
	}
	fmt.Fprintf(out, "%s is %s", t.TaskID, status)
	switch {
	case t.Position > 0:
		fmt.Fprintf(out, " at place %d.\n", t.Position)
	case t.Ended != "":
		fmt.Fprintf(out, ": %d of %d actions ended, %d failed. It ran from %s for %s on %s.\n", t.Played, t.Actions, t.Failed, clockOf(t.Started), took(t.Duration), plain(t.WorkerName))
	default:
		fmt.Fprintf(out, ": %d of %d actions ended. It runs since %s on %s.\n", t.Played, t.Actions, clockOf(t.Started), plain(t.WorkerName))
	}
	if t.Code != "" {
		fmt.Fprintf(out, "%s %s\n", p.red(string(t.Code)+":"), plain(t.Error))
	}
	for _, e := range t.Errors {
		if e.Error != t.Error {
			fmt.Fprintf(out, "  /actions/%s: %s (%s)\n", e.ActionPath, plain(e.Error), e.Code)
		}
		if e.Hint != "" {
			fmt.Fprintf(out, "  %s\n", plain(e.Hint))
		}
	}
	if s := t.Schedule; s != nil {
		fmt.Fprintf(out, "It is the run of %s for %s.\n", s.ScheduleID, s.Planned)
	}
	if len(t.Steps) > 0 {
		rows := [][]string{{"ACTION", "NAME", "TOOK", "ERROR"}}
		for _, s := range t.Steps {
			rows = append(rows, []string{s.Path, s.Action, fmt.Sprintf("%.0fms", s.Millis), plain(s.Error)})
		}
		table(out, rows)
	}
	describeFiles(out, t.Evidence, t.Trace)
}

// describeFiles names the files that show how a task went.
func describeFiles(out io.Writer, e *engine.Evidence, trace string) {
	if e != nil {
		for _, of := range [][2]string{{"screenshot", e.Screenshot}, {"HTML", e.HTML}, {"console", e.Console}, {"network", e.Network}} {
			if of[1] != "" {
				fmt.Fprintf(out, "%s: %s\n", of[0], of[1])
			}
		}
	}
	if trace != "" {
		fmt.Fprintf(out, "trace: %s\n", trace)
	}
}

type taskWatch struct {
	oneTask
	Out      string `env:"-" help:"Folder to fetch pictures and downloads to. Default: the result names their addresses." placeholder:"DIR"`
	Progress string `env:"-" default:"always" enum:"always,never" help:"Show the steps on standard error: always or never."`
}

// Run follows a task to its end. The exit code is that of the task.
func (c *taskWatch) Run(w *environment) error {
	if _, err := c.path("watch a task", ""); err != nil {
		return err
	}
	r, err := c.await(w, c.ID, c.Progress == "always")
	if err != nil {
		return err
	}
	return c.finish(w, r, c.Out)
}

type taskCancel struct{ oneTask }

// Run cancels a task.
func (c *taskCancel) Run(w *environment) error {
	path, err := c.path("cancel a task", "")
	if err != nil {
		return err
	}
	var gone json.RawMessage
	if err := c.call(w.ctx, http.MethodDelete, path, &gone); err != nil {
		return fmt.Errorf("cancel a task: %w", err)
	}
	return c.print(w, gone, func(out io.Writer) { fmt.Fprintf(out, "The task %s is cancelled.\n", c.ID) })
}

type taskRetry struct{ oneTask }

// Run queues a dead task again.
func (c *taskRetry) Run(w *environment) error {
	path, err := c.path("retry a task", "/retry")
	if err != nil {
		return err
	}
	var made answer.Queued
	if err := c.call(w.ctx, http.MethodPost, path, &made); err != nil {
		return fmt.Errorf("retry a task: %w", err)
	}
	return c.print(w, made, func(out io.Writer) { fmt.Fprintf(out, "It is queued again as %s.\n", made.TaskID) })
}

type usageCommand struct {
	client
	From string `env:"-" help:"Show the sums of runs from this day on, such as 2026-11-01. Default with --to or --by: 90 days." placeholder:"DAY"`
	To   string `env:"-" help:"Show the sums of runs before this day. Default with --from or --by: with today." placeholder:"DAY"`
	By   string `env:"-" enum:",day,label,token" default:"" help:"Show the sums of runs by day, label or token." placeholder:"WORD"`
	CSV  bool   `env:"-" name:"csv" help:"Print the sums as CSV."`
}

// accountUsage is what an account may use, and what it has used.
type accountUsage struct {
	Account  string   `json:"account"`
	Plan     string   `json:"plan"`
	Operator bool     `json:"operator,omitempty"`
	Used     int64    `json:"usedToday"`
	Left     *int64   `json:"remainingToday"`
	Reset    string   `json:"resetAt"`
	Held     int      `json:"reservedWorkers"`
	Proxies  []string `json:"proxies"`
	Storage  struct {
		Bytes int64 `json:"bytes"`
		Files int   `json:"files"`
	} `json:"storage"`
	Limits struct {
		Held  int    `json:"reservedWorkers"`
		Bytes *int64 `json:"storageBytes"`
	} `json:"limits"`
}

// Run shows the account, or what its runs come to.
func (c *usageCommand) Run(w *environment) error {
	if c.From != "" || c.To != "" || c.By != "" || c.CSV {
		return c.overTime(w)
	}
	var raw json.RawMessage
	if err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/usage"), &raw); err != nil {
		return fmt.Errorf("show the account: %w", err)
	}
	var of accountUsage
	if err := json.Unmarshal(raw, &of); err != nil {
		return fmt.Errorf("show the account: %w", err)
	}
	return c.print(w, raw, func(out io.Writer) {
		of.print(out, c.found.url)
	})
}

func (u *accountUsage) print(out io.Writer, service string) {
	plan := u.Plan
	if u.Operator {
		plan += ", operator"
	}
	tasks, storage := "no limit", fmt.Sprintf("%.1f MiB", float64(u.Storage.Bytes)/(1<<20))
	if u.Left != nil {
		tasks = fmt.Sprintf("%d left until %s", *u.Left, clockOf(u.Reset))
	}
	if u.Limits.Bytes != nil {
		storage += fmt.Sprintf(" of %.0f MiB", float64(*u.Limits.Bytes)/(1<<20))
	}
	rows := [][]string{{"ACCOUNT", plain(u.Account)}, {"SERVICE", service}, {"PLAN", plan}, {"TASKS TODAY", fmt.Sprintf("%d, %s", u.Used, tasks)},
		{"SESSIONS", fmt.Sprintf("%d of %d", u.Held, u.Limits.Held)}, {"STORAGE", fmt.Sprintf("%s in %d files", storage, u.Storage.Files)}}
	if len(u.Proxies) > 0 {
		slices.Sort(u.Proxies)
		rows = append(rows, []string{"PROXIES", fmt.Sprint(u.Proxies)})
	}
	table(out, rows)
}
