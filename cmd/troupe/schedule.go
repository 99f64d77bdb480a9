package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"troupe/http/address"
	"troupe/http/answer"
)

type scheduleCommands struct {
	Create scheduleCreate `cmd:"" help:"Run a task, or a batch, at the times of a cron line or an interval."`
	List   scheduleList   `cmd:"" help:"List schedules with their next time and their last run."`
	Show   scheduleShow   `cmd:"" help:"Show a schedule with its next times and its last runs."`
	Pause  schedulePause  `cmd:"" help:"Begin no more runs of a schedule."`
	Resume scheduleResume `cmd:"" help:"Let a paused schedule go on."`
	Run    scheduleRun    `cmd:"" help:"Begin a run of a schedule at once."`
	Remove scheduleRemove `cmd:"" help:"Remove a schedule with its history."`
}

type scheduleOf struct {
	Schedule answer.Schedule `json:"schedule"`
}

type scheduleCreate struct {
	client
	Task     string        `arg:"" help:"File with the task as JSON, as for POST /v1/, or - for the standard input."`
	Cron     string        `help:"Cron line, such as '0 9 * * 1-5'." placeholder:"LINE"`
	Every    time.Duration `help:"Time between two runs, instead of a cron line." placeholder:"DURATION"`
	TimeZone string        `name:"time-zone" help:"Time zone of the cron line, such as Europe/Berlin. Default: UTC." placeholder:"NAME"`
	Items    string        `help:"File with one item, a JSON object, in each line, or NAME.csv: each run is a batch." placeholder:"FILE"`
	Missed   string        `default:"once" enum:"once,skip,all" help:"What becomes of times at which the service did not run: once, skip or all."`
	Overlap  string        `default:"skip" enum:"skip,queue,replace" help:"What becomes of a time at which the run before goes on: skip, queue or replace."`
	Jitter   time.Duration `help:"Begin each run later by up to so much."`
	Name     string        `help:"Name of the schedule."`
	Paused   bool          `help:"Create it paused."`
}

// maxScheduleFile bounds the files of a schedule: as JSON it has at most 1 MiB.
const maxScheduleFile = 1 << 20

// Run creates a schedule.
func (c *scheduleCreate) Run(w *environment) error {
	body, err := c.body(w.stdin)
	if err != nil {
		return err
	}
	resp, err := c.send(w.ctx, http.MethodPost, address.Fixed("/v1/schedules"), "application/json", bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("create a schedule: %w", err)
	}
	defer resp.Body.Close()
	var one scheduleOf
	if err := json.NewDecoder(resp.Body).Decode(&one); err != nil {
		return fmt.Errorf("create a schedule: %w", err)
	}
	return c.print(w, one.Schedule, func(out io.Writer) { describeSchedule(out, &one.Schedule) })
}

// body is the request.
func (c *scheduleCreate) body(stdin io.Reader) ([]byte, error) {
	switch {
	case (c.Cron == "") == (c.Every == 0):
		return nil, usage("give the schedule either --cron or --every")
	case c.Every < 0 || c.Jitter < 0:
		return nil, usage("--every and --jitter are times above 0")
	}
	task, err := readBounded(c.Task, stdin, maxScheduleFile)
	if err != nil {
		return nil, usage("read the task: %w", err)
	}
	if !json.Valid(task) {
		return nil, usage("the task %s is no JSON", c.Task)
	}
	r := map[string]any{"missed": c.Missed, "overlap": c.Overlap}
	for name, text := range map[string]string{"cron": c.Cron, "timeZone": c.TimeZone, "name": c.Name} {
		if text != "" {
			r[name] = text
		}
	}
	for name, d := range map[string]time.Duration{"every": c.Every, "jitter": c.Jitter} {
		if d > 0 {
			r[name] = d.Milliseconds()
		}
	}
	if c.Paused {
		r["paused"] = true
	}
	if c.Items == "" {
		r["task"] = json.RawMessage(task)
		return json.Marshal(r)
	}
	lines, err := readItems(c.Items, stdin)
	if err != nil {
		return nil, usage("read the items: %w", err)
	}
	items := []json.RawMessage{}
	for d := json.NewDecoder(bytes.NewReader(lines)); ; {
		var item json.RawMessage
		if err := d.Decode(&item); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, usage("read the item %d of %s: %w", len(items)+1, c.Items, err)
		}
		items = append(items, item)
	}
	r["batch"] = map[string]any{"task": json.RawMessage(task), "items": items}
	return json.Marshal(r)
}

// readItems reads items, which a file NAME.csv has as a table.
func readItems(path string, stdin io.Reader) ([]byte, error) {
	if path == "-" {
		return readBounded(path, stdin, maxScheduleFile)
	}
	in, err := openItems(path)
	if err != nil {
		return nil, err
	}
	defer in.Close()
	b, err := io.ReadAll(io.LimitReader(in, maxScheduleFile+1))
	if err == nil && len(b) > maxScheduleFile {
		err = fmt.Errorf("it is larger than %d bytes", maxScheduleFile)
	}
	return b, err
}

// readBounded reads a file, or the standard input for -, of at most so many bytes.
func readBounded(path string, stdin io.Reader, most int64) ([]byte, error) {
	in := stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	b, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(b)) > most {
		err = fmt.Errorf("it is larger than %d bytes", most)
	}
	return b, err
}

type scheduleList struct{ client }

// Run lists schedules.
func (c *scheduleList) Run(w *environment) error {
	var all struct {
		Schedules []answer.Schedule `json:"schedules"`
	}
	if err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/schedules"), &all); err != nil {
		return fmt.Errorf("list schedules: %w", err)
	}
	return c.print(w, all.Schedules, func(out io.Writer) {
		rows := [][]string{{"SCHEDULE", "NAME", "STATUS", "WHEN", "NEXT", "LAST RUN"}}
		for _, s := range all.Schedules {
			next, last := "-", "-"
			if len(s.Next) > 0 {
				next = s.Next[0]
			}
			if len(s.Runs) > 0 {
				last = string(s.Runs[0].Status)
			}
			rows = append(rows, []string{s.ScheduleID, s.Name, s.Status, when(&s), next, last})
		}
		table(out, rows)
	})
}

// when says when a schedule is due.
func when(s *answer.Schedule) string {
	if s.Cron != "" {
		return s.Cron + " (" + s.TimeZone + ")"
	}
	return "every " + (time.Duration(s.Every) * time.Millisecond).String()
}

// oneSchedule is the argument of commands about one schedule.
type oneSchedule struct {
	client
	ID string `arg:"" help:"The schedule, such as sched_5c49f9d7f0a20751_1795449031."`
}

// do sends a request about the schedule and prints it.
func (c *oneSchedule) do(w *environment, doing, method string, below address.Constant) error {
	path, err := address.Schedule.Path(c.ID, below)
	if err != nil {
		return usage("%s a schedule: %w", doing, err)
	}
	var one scheduleOf
	if err := c.call(w.ctx, method, path, &one); err != nil {
		return fmt.Errorf("%s a schedule: %w", doing, err)
	}
	return c.print(w, one.Schedule, func(out io.Writer) { describeSchedule(out, &one.Schedule) })
}

type scheduleShow struct{ oneSchedule }

// Run shows a schedule.
func (c *scheduleShow) Run(w *environment) error { return c.do(w, "show", http.MethodGet, "") }

type schedulePause struct{ oneSchedule }

// Run pauses a schedule.
func (c *schedulePause) Run(w *environment) error { return c.do(w, "pause", http.MethodPost, "/pause") }

type scheduleResume struct{ oneSchedule }

// Run lets a schedule go on.
func (c *scheduleResume) Run(w *environment) error {
	return c.do(w, "resume", http.MethodPost, "/resume")
}

type scheduleRun struct{ oneSchedule }

// Run begins a run at once.
func (c *scheduleRun) Run(w *environment) error { return c.do(w, "run", http.MethodPost, "/run") }

type scheduleRemove struct{ oneSchedule }

// Run removes a schedule.
func (c *scheduleRemove) Run(w *environment) error {
	var gone struct {
		ScheduleID string `json:"scheduleId"`
	}
	path, err := address.Schedule.Path(c.ID, "")
	if err != nil {
		return usage("remove a schedule: %w", err)
	}
	if err := c.call(w.ctx, http.MethodDelete, path, &gone); err != nil {
		return fmt.Errorf("remove a schedule: %w", err)
	}
	return c.print(w, gone, func(out io.Writer) { fmt.Fprintf(out, "The schedule %s is removed.\n", gone.ScheduleID) })
}

// describeSchedule prints a schedule for people.
func describeSchedule(out io.Writer, s *answer.Schedule) {
	name := ""
	if s.Name != "" {
		name = " (" + s.Name + ")"
	}
	fmt.Fprintf(out, "%s%s is %s: %s.\n", s.ScheduleID, name, s.Status, when(s))
	if len(s.Next) > 0 {
		fmt.Fprintf(out, "Next: %s\n", strings.Join(s.Next, ", "))
	}
	if len(s.Runs) == 0 {
		return
	}
	rows := [][]string{{"PLANNED", "STATUS", "CODE", "TASK OR BATCH"}}
	for _, r := range s.Runs {
		rows = append(rows, []string{r.Planned, string(r.Status), string(r.Code), r.TaskID + r.BatchID})
	}
	table(out, rows)
}
