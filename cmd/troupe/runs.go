package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"troupe/http/address"
	"troupe/http/answer"
)

type runsCommands struct {
	List   runsList   `cmd:"" help:"List and search runs, newest first."`
	Show   runsShow   `cmd:"" help:"Show a run: how it ended, where it was, and what it has left."`
	Again  runsAgain  `cmd:"" help:"Run the task of a run again, as it was or with other fields, and print the result."`
	Delete runsDelete `cmd:"" help:"Delete a run from the history."`
}

type runsList struct {
	client
	State    string   `env:"-" enum:",complete,failed" default:"" help:"Only runs in this state: complete or failed." placeholder:"STATE"`
	Code     string   `env:"-" help:"Only runs with this code of an error, or one of several with commas between them." placeholder:"CODE"`
	Label    string   `env:"-" help:"Only runs with this label." placeholder:"TEXT"`
	Metadata []string `env:"-" sep:"none" help:"Only runs with this value in their metadata. May be repeated." placeholder:"KEY=VALUE"`
	Origin   string   `env:"-" enum:",request,mcp,batch,schedule" default:"" help:"Only runs from there: request, mcp, batch or schedule." placeholder:"ORIGIN"`
	Of       string   `env:"-" help:"Only runs of this batch or schedule." placeholder:"ID"`
	Address  string   `env:"-" help:"Only runs at this host and the hosts below it, or at addresses that begin so." placeholder:"ADDRESS"`
	TokenID  string   `env:"-" name:"token-id" help:"Only runs of the token with this id." placeholder:"ID"`
	From     string   `env:"-" help:"Only runs that were asked for at this time or later: a day such as 2026-11-29, or a time such as 2026-11-29T07:00:00Z." placeholder:"TIME"`
	To       string   `env:"-" help:"Only runs that were asked for before this time." placeholder:"TIME"`
	Search   string   `env:"-" short:"q" help:"Only runs with all these words: in label, metadata, addresses, title, error, code or ids." placeholder:"WORDS"`
	Order    string   `env:"-" enum:"newest,oldest" default:"newest" help:"Which come first: newest or oldest."`
	Limit    int      `default:"20" help:"How many." placeholder:"N"`
	Cursor   string   `env:"-" help:"Where to go on, as the list before says." placeholder:"CURSOR"`
	CSV      bool     `env:"-" name:"csv" help:"Print a table as CSV, with all columns."`
}

// maxRunPart is how many runs the service lists in one part.
const maxRunPart = 1000

// query is the filters, as parameters.
func (c *runsList) query() (url.Values, error) {
	switch {
	case c.Limit < 1:
		return nil, usage("--limit is %d: want 1 or more", c.Limit)
	case c.JSON && c.CSV:
		return nil, usage("give either --json or --csv")
	}
	q := url.Values{"order": {c.Order}}
	for name, value := range map[string]string{"state": c.State, "code": c.Code, "label": c.Label, "origin": c.Origin, "of": c.Of,
		"address": c.Address, "token": c.TokenID, "from": c.From, "to": c.To, "q": c.Search, "cursor": c.Cursor} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for _, one := range c.Metadata {
		key, value, ok := strings.Cut(one, "=")
		if !ok || key == "" {
			return nil, usage("--metadata is %q: want KEY=VALUE", one)
		}
		if q.Has("metadata." + key) {
			return nil, usage("--metadata names %q twice", key)
		}
		q.Set("metadata."+key, value)
	}
	return q, nil
}

// parts asks for part after part until there are as many runs as wanted: a part of a search can
// be empty, though later ones are not. Next is where the list can go on.
func (c *runsList) parts(q url.Values, read func(address.Path) (n int, next string, err error)) (next string, err error) {
	for left := c.Limit; ; {
		q.Set("limit", strconv.Itoa(min(left, maxRunPart)))
		n, next, err := read(address.Fixed("/v1/runs").With(q))
		if err != nil {
			return "", fmt.Errorf("list runs: %w", err)
		}
		if left -= n; left <= 0 || next == "" {
			return next, nil
		}
		q.Set("cursor", next)
	}
}

// runParts is a list of runs.
type runParts struct {
	Runs       []answer.Run `json:"runs"`
	Next       string       `json:"next,omitempty"`
	Unreadable []string     `json:"unreadable,omitempty"`
}

// Run lists runs.
func (c *runsList) Run(w *environment) error {
	q, err := c.query()
	if err != nil {
		return err
	}
	if c.CSV {
		return c.table(w, q)
	}
	all := runParts{Runs: []answer.Run{}}
	all.Next, err = c.parts(q, func(path address.Path) (int, string, error) {
		var part runParts
		if err := c.call(w.ctx, http.MethodGet, path, &part); err != nil {
			return 0, "", err
		}
		all.Runs, all.Unreadable = append(all.Runs, part.Runs...), append(all.Unreadable, part.Unreadable...)
		return len(part.Runs), part.Next, nil
	})
	if err != nil {
		return err
	}
	return c.print(w, all, func(out io.Writer) {
		rows := [][]string{{"RUN", "ASKED", "STATE", "CODE", "LABEL", "FIRST ADDRESS", "TITLE"}}
		for _, r := range all.Runs {
			title := ""
			if r.Page != nil {
				title = r.Page.Title
			}
			rows = append(rows, []string{r.RunID, clockOf(r.AskedAt), r.State, cmp.Or(string(r.Code), "-"), cmp.Or(plain(r.Label), "-"), cmp.Or(plain(r.First), "-"), cmp.Or(plain(title), "-")})
		}
		table(out, rows)
		if len(all.Unreadable) > 0 {
			fmt.Fprintf(out, "The service's key does not open: %s\n", strings.Join(all.Unreadable, ", "))
		}
		if all.Next != "" {
			fmt.Fprintf(out, "More: --cursor %s\n", quote(all.Next))
		}
	})
}

// table prints runs as the service writes them in CSV, with the heads of the first part only.
func (c *runsList) table(w *environment, q url.Values) error {
	q.Set("format", "csv")
	out, heads := csv.NewWriter(w.stdout), false
	next, err := c.parts(q, func(path address.Path) (int, string, error) {
		resp, err := c.send(w.ctx, http.MethodGet, path, "", nil)
		if err != nil {
			return 0, "", err
		}
		defer resp.Body.Close()
		in := csv.NewReader(resp.Body)
		for n := -1; ; n++ { // the heads are no run
			row, err := in.Read()
			switch {
			case errors.Is(err, io.EOF):
				return max(n, 0), resp.Header.Get("X-Next-Cursor"), nil
			case err != nil:
				return 0, "", fmt.Errorf("read the answer of %s: %w", c.found.url, err)
			case n < 0 && heads:
				continue
			}
			heads = true
			if err := out.Write(row); err != nil {
				return 0, "", err
			}
		}
	})
	if out.Flush(); err == nil {
		err = out.Error()
	}
	if err == nil && next != "" {
		fmt.Fprintf(w.stderr, "More: --cursor %s\n", quote(next))
	}
	return err
}

// oneRun is the argument of commands about one run.
type oneRun struct {
	client
	ID string `arg:"" help:"The run, which has the id of its task, such as task_5c49f9d7f0a20751_1795449031."`
}

// path is that of the run.
func (c *oneRun) path(doing string, below address.Constant) (address.Path, error) {
	path, err := address.Run.Path(c.ID, below)
	if err != nil {
		return path, usage("%s: %w", doing, err)
	}
	return path, nil
}

// read reads the run.
func (c *oneRun) read(ctx context.Context, doing string) (*answer.WholeRun, error) {
	path, err := c.path(doing, "")
	if err != nil {
		return nil, err
	}
	var one struct {
		Run answer.WholeRun `json:"run"`
	}
	if err := c.call(ctx, http.MethodGet, path, &one); err != nil {
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return &one.Run, nil
}

type runsShow struct{ oneRun }

// Run shows a run.
func (c *runsShow) Run(w *environment) error {
	r, err := c.read(w.ctx, "show a run")
	if err != nil {
		return err
	}
	return c.print(w, r, func(out io.Writer) { describeRun(out, r) })
}

// describeRun prints a run for people: why it failed comes first.
func describeRun(out io.Writer, r *answer.WholeRun) {
	p := paintFor(out)
	state := p.green(r.State)
	if r.State != "complete" {
		state = p.red(r.State)
	}
	fmt.Fprintf(out, "%s is %s: %d of %d actions ended, %d failed.", r.RunID, state, r.Ended, r.Actions, r.Failed)
	if r.Started == "" {
		fmt.Fprintln(out, " It did not begin.")
	} else {
		fmt.Fprintf(out, " It ran from %s for %s on %s.\n", clockOf(r.Started), took(&r.Duration), plain(r.Worker))
	}
	if r.Code != "" {
		fmt.Fprintf(out, "%s %s\n", p.red(string(r.Code)+":"), plain(r.Error))
	}
	if r.Path != "" {
		fmt.Fprintf(out, "  /actions/%s\n", r.Path)
	}
	from, page := string(r.Origin), ""
	switch {
	case r.Item != nil:
		from = fmt.Sprintf("item %d of %s", *r.Item, r.Batch)
	case r.Schedule != nil:
		from = fmt.Sprintf("%s for %s", r.Schedule.ScheduleID, r.Schedule.Planned)
	}
	if r.Page != nil {
		page = plain(r.Page.URL)
		if r.Page.Status > 0 {
			page += fmt.Sprintf(" (%d)", r.Page.Status)
		}
		if r.Page.Title != "" {
			page += " " + plain(r.Page.Title)
		}
	}
	result := fmt.Sprintf("%d bytes", r.Run.Bytes)
	if r.Until != "" {
		result += ", kept until " + clockOf(r.Until)
	}
	if r.Kept {
		result += "; a copy is kept: see --json"
	}
	rows := [][]string{{"LABEL", plain(r.Label)}, {"METADATA", plain(string(r.Metadata))}, {"FROM", from}, {"TOKEN", r.Token}, {"REPEATS", r.Again},
		{"ASKED", clockOf(r.AskedAt)}, {"ENDED", clockOf(r.EndedAt)}, {"ATTEMPTS", strconv.Itoa(r.Attempts)}, {"SESSION", r.Session},
		{"FIRST ADDRESS", plain(r.First)}, {"LAST PAGE", page}, {"RESULT", result}, {"REQUEST", requestOf(r)}}
	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(out, "%-14s %s\n", row[0], row[1])
		}
	}
	for _, at := range r.Pictures {
		fmt.Fprintf(out, "picture: %s\n", at)
	}
	describeFiles(out, r.Evidence, r.Trace)
}

// requestOf says what is kept of a request.
func requestOf(r *answer.WholeRun) string {
	text := "is kept: see --json"
	if len(r.Request) == 0 {
		text = fmt.Sprintf("is not kept: it had %d bytes", r.Bytes)
	}
	if len(r.Masked) > 0 {
		text += ". Masked: " + plain(strings.Join(r.Masked, ", "))
	}
	if r.Files > 0 {
		text += fmt.Sprintf(". It came with %d files", r.Files)
	}
	return text
}

type runsAgain struct {
	oneRun
	Changes  string   `arg:"" optional:"" name:"file" help:"File with an object of JSON, or - for the standard input: its fields replace those of the task, and with has values for masked fields."`
	Files    []string `env:"-" name:"file" sep:"none" help:"File that the first request came with: they are not kept. May be repeated, in the same order." placeholder:"FILE"`
	Detach   bool     `env:"-" help:"Do not wait: print the id of the new task. It runs as with async, unless it is queued."`
	Out      string   `env:"-" help:"Folder to fetch pictures and downloads to. Default: the result names their addresses." placeholder:"DIR"`
	Progress string   `env:"-" default:"auto" enum:"auto,always,never" help:"Show the steps of a queued task on standard error: always, never, or auto: on a terminal."`
}

// Run repeats a run, and waits for its end. The exit code is that of the new task.
func (c *runsAgain) Run(w *environment) error {
	const doing = "run it again"
	path, err := c.path(doing, "/again")
	if err != nil {
		return err
	}
	body, err := c.body(w)
	if err != nil {
		return err
	}
	files, err := uploads(c.Files)
	if err != nil {
		return err
	}
	kind, sent := "application/json", io.Reader(bytes.NewReader(body))
	if len(files) > 0 {
		kind, sent = withFiles(body, files)
	}
	if _, err := c.service(); err != nil {
		return err
	}
	watch := c.Progress == "always" || c.Progress == "auto" && terminal(w.stderr)
	end := stopwatch(w, "the task runs at "+c.found.url, watch)
	resp, err := c.do(w.ctx, http.DefaultClient, http.MethodPost, path, kind, sent)
	end()
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer resp.Body.Close()
	result, err := readResult(resp, *c.found)
	switch {
	case err != nil:
		return fmt.Errorf("%s: %w", doing, err)
	case result.ended():
		return c.finish(w, result, c.Out)
	case c.Detach:
		return c.print(w, json.RawMessage(result.raw), func(out io.Writer) { fmt.Fprintln(out, result.TaskID) })
	}
	if result, err = c.await(w, result.TaskID, watch); err != nil {
		return err
	}
	return c.finish(w, result, c.Out)
}

// body is the fields that change. Async is one of them for who does not wait: a queued task has
// no need of it.
func (c *runsAgain) body(w *environment) ([]byte, error) {
	changes := map[string]json.RawMessage{}
	if c.Changes != "" {
		b, err := readBounded(c.Changes, w.stdin, maxTask)
		if err != nil {
			return nil, usage("read the changes: %w", err)
		}
		if err := json.Unmarshal(b, &changes); err != nil || changes == nil {
			return nil, usage("the changes in %s are not a JSON object", c.Changes)
		}
	}
	if c.Detach && changes["queue"] == nil {
		r, err := c.read(w.ctx, "run it again")
		if err != nil {
			return nil, err
		}
		var was map[string]json.RawMessage
		if err := json.Unmarshal([]byte(cmp.Or(string(r.Request), "{}")), &was); err != nil {
			return nil, fmt.Errorf("read the request of the run: %w", err)
		}
		if was["queue"] == nil {
			changes["async"] = json.RawMessage("true")
		}
	}
	return json.Marshal(changes)
}

type runsDelete struct{ oneRun }

// Run deletes a run.
func (c *runsDelete) Run(w *environment) error {
	path, err := c.path("delete a run", "")
	if err != nil {
		return err
	}
	var gone json.RawMessage
	if err := c.call(w.ctx, http.MethodDelete, path, &gone); err != nil {
		return fmt.Errorf("delete a run: %w", err)
	}
	return c.print(w, gone, func(out io.Writer) { fmt.Fprintf(out, "The run %s is deleted.\n", c.ID) })
}
