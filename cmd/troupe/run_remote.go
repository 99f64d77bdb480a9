package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"troupe/engine"
	"troupe/engine/lang"
	"troupe/http/address"
	"troupe/http/answer"
)

// runAnywhere are the flags of run that a service can heed.
var runAnywhere = append([]string{"out", "file", "trace", "progress", "session", "detach"}, connectionFlags...)

// remote reports whether the task goes to a service: if one is named, and no flag asks for a
// run without one.
func (c *runCommand) remote(given []string) (bool, error) {
	return atService(&c.connection, c.Local, given, runAnywhere, &c.atService)
}

// atService decides for commands that work with a service and without one.
func atService(c *connection, local bool, given, anywhere []string, to *bool) (bool, error) {
	own := slices.DeleteFunc(slices.Clone(given), func(name string) bool { return slices.Contains(anywhere, name) })
	switch {
	case len(own) > 0 && c.named():
		return false, usage("--%s is for a run without a service: leave out --url and --context, or that flag", own[0])
	case local || len(own) > 0:
		return false, nil
	}
	at, err := c.service()
	if err != nil {
		return false, err
	}
	*to = at.given
	return at.given, nil
}

// runRemote sends the task to the service, waits for its end and prints its result as a run
// without a service does.
func (c *runCommand) runRemote(w *environment) error {
	source, files, err := c.Task.read(w)
	if err != nil {
		return err
	}
	body, err := c.request(source)
	if err != nil {
		return err
	}
	kind, sent := "application/json", io.Reader(bytes.NewReader(body))
	if len(files) > 0 {
		kind, sent = withFiles(body, files)
	}
	watch := c.Progress == "always" || c.Progress == "auto" && terminal(w.stderr)
	end := stopwatch(w, "the task runs at "+c.found.url, watch)
	resp, err := c.do(w.ctx, http.DefaultClient, http.MethodPost, address.Fixed("/v1/"), kind, sent)
	end()
	if err != nil {
		return fmt.Errorf("run the task: %w", err)
	}
	defer resp.Body.Close()
	result, err := readResult(resp, *c.found)
	var no *refusedError
	if errors.As(err, &no) && no.Code == engine.CodeInvalidRequest {
		pointAt(w.stderr, c.Task.Task, source, no.Details)
		if err := answer.WriteIndented(w.stdout, no.Refusal); err != nil {
			return err
		}
		return usage("the task is not valid: see the result")
	}
	if err != nil {
		return fmt.Errorf("run the task: %w", err)
	}
	if !result.ended() {
		if c.Detach {
			return answer.WriteIndented(w.stdout, json.RawMessage(result.raw))
		}
		if result, err = c.await(w, result.TaskID, watch); err != nil {
			return err
		}
	}
	return c.finish(w, result, c.Out)
}

// request is the request with what the flags add to it.
func (c *runCommand) request(source []byte) ([]byte, error) {
	if !c.Trace && c.Session == "" && !c.Detach {
		return source, nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(source, &body); err != nil || body == nil {
		return nil, usage("the task %s is not a JSON object", c.Task.Task)
	}
	within := func(name, field string, value any) error {
		var of map[string]any
		if err := json.Unmarshal(body[name], &of); body[name] != nil && err != nil {
			return usage("%s of the task is not an object", name)
		}
		if of == nil {
			of = map[string]any{}
		}
		of[field] = value
		b, err := json.Marshal(of)
		body[name] = b
		return err
	}
	if c.Trace {
		if err := within("config", "trace", "full"); err != nil {
			return nil, err
		}
	}
	if c.Session != "" {
		if err := address.Session.Check(c.Session); err != nil {
			return nil, usage("--session: %w", err)
		}
		if err := within("session", "id", c.Session); err != nil {
			return nil, err
		}
	}
	if c.Detach && body["queue"] == nil {
		body["async"] = json.RawMessage("true")
	}
	return json.Marshal(body)
}

// withFiles is the body of a request with files. They are read as it is sent.
func withFiles(task []byte, files []engine.Upload) (kind string, body io.Reader) {
	out, in := io.Pipe()
	m := multipart.NewWriter(in)
	go func() {
		err := m.WriteField("payload", string(task))
		for _, f := range files {
			if err == nil {
				err = addFile(m, f)
			}
		}
		if err == nil {
			err = m.Close()
		}
		_ = in.CloseWithError(err) // which the request ends with
	}()
	return m.FormDataContentType(), out
}

func addFile(m *multipart.Writer, f engine.Upload) error {
	from, err := os.Open(f.Path)
	if err != nil {
		return fmt.Errorf("read --file: %w", err)
	}
	defer from.Close()
	part, err := m.CreateFormFile("files", f.Name)
	if err == nil {
		_, err = io.Copy(part, from)
	}
	return err
}

// taskResult is what a service answers about a task.
type taskResult struct {
	answer.Task
	Ended *int64 `json:"duration"` // missing: it has not ended
	raw   []byte
}

func (r *taskResult) ended() bool { return r.Ended != nil }

// failed is as for [troupe/actors/outcome.Failed]: what the list tolerates is no failure.
func (r *taskResult) failed() bool {
	return r.Code != "" || slices.ContainsFunc(r.Errors, func(f answer.Failure) bool { return !f.Tolerated }) ||
		!r.Success && len(r.Errors) == 0
}

// maxResult bounds the answer about a task.
const maxResult = 256 << 20

// readResult reads an answer about a task. One that is none is an error.
func readResult(resp *http.Response, at place) (*taskResult, error) {
	b, err := io.ReadAll(io.LimitReader(resp.Body, maxResult))
	if err != nil {
		return nil, fmt.Errorf("read the result: %w", err)
	}
	r := &taskResult{raw: b}
	if err := json.Unmarshal(b, r); err != nil || !r.ended() && resp.StatusCode >= 300 {
		resp.Body = io.NopCloser(bytes.NewReader(b))
		return nil, refused(resp, at)
	}
	return r, nil
}

// lastSteps is how long the last steps of a task may take to be shown once its result is there.
const lastSteps = 2 * time.Second

// await waits for the end of a task that goes on without this command.
func (c *connection) await(w *environment, id string, watch bool) (*taskResult, error) {
	if _, err := c.service(); err != nil { // before two ask for it
		return nil, err
	}
	follow, stop := context.WithCancel(w.ctx)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		if watch {
			c.steps(follow, id, &progress{out: w.stderr, began: time.Now()})
		}
	}()
	defer func() { stop(); <-followed }()
	r, err := c.poll(w.ctx, id)
	if w.ctx.Err() != nil {
		return nil, fmt.Errorf("stopped: the task %s goes on. Watch it with troupe task watch %s, or cancel it with troupe task cancel %s", id, id, id)
	}
	if err == nil {
		select {
		case <-followed:
		case <-time.After(lastSteps):
		}
	}
	return r, err
}

// poll asks for the result of a task until it is there. A service that does not answer is asked
// again.
func (c *connection) poll(ctx context.Context, id string) (*taskResult, error) {
	if err := address.Task.Check(id); err != nil {
		return nil, usageError{err}
	}
	path := address.Fixed("/v1/get-result").With(url.Values{"taskId": {id}, "wait": {"20000"}})
	for {
		r, err := c.ask(ctx, path)
		switch {
		case err == nil && r.ended():
			return r, nil
		case err == nil: // not yet
		case !passing(err) || !pause(ctx, time.Second):
			return nil, fmt.Errorf("wait for the task: %w", err)
		}
	}
}

func (c *connection) ask(ctx context.Context, path address.Path) (*taskResult, error) {
	resp, err := c.do(ctx, http.DefaultClient, http.MethodGet, path, "", nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return readResult(resp, *c.found)
}

// finish fetches the files of a result and prints it.
func (c *connection) finish(w *environment, r *taskResult, dir string) error {
	raw := r.raw
	if dir != "" {
		raw = c.fetchFiles(w, r, dir)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, raw, "", "  "); err != nil {
		return fmt.Errorf("print the result: %w", err)
	}
	if _, err := fmt.Fprintln(w.stdout, strings.TrimSpace(out.String())); err != nil {
		return err
	}
	if r.failed() {
		return errTaskFailed
	}
	return nil
}

// stopwatch shows how long something takes to somebody who waits.
func stopwatch(w *environment, what string, on bool) (end func()) {
	if !on || !terminal(w.stderr) {
		return func() {}
	}
	done, gone, began := make(chan struct{}), make(chan struct{}), time.Now()
	go func() {
		defer close(gone)
		for tick := time.NewTicker(100 * time.Millisecond); ; {
			select {
			case <-done:
				tick.Stop()
				fmt.Fprint(w.stderr, "\r\x1b[K")
				return
			case <-tick.C:
				fmt.Fprintf(w.stderr, "\r\x1b[K%7.1fs %s", time.Since(began).Seconds(), what)
			}
		}
	}()
	return func() { close(done); <-gone }
}

// pointAt says in which line and column of a file each fault is.
func pointAt(out io.Writer, file string, source []byte, faults []lang.Fault) {
	if file == "-" {
		file = "standard input"
	}
	p := paintFor(out)
	for _, f := range faults {
		line, column := lang.Position(source, f.Path)
		fmt.Fprintf(out, "%s %s\n", p.bold(fmt.Sprintf("%s:%d:%d:", file, line, column)), f)
	}
}
