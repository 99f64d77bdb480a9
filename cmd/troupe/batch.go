package main

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"troupe/http/address"
	"troupe/http/answer"
)

type batchCommands struct {
	Run    batchRun    `cmd:"" help:"Run a task for each line of a file, and write the results to another. Run it again to continue."`
	List   batchList   `cmd:"" help:"List batches, newest first."`
	Show   batchShow   `cmd:"" help:"Show the progress of a batch, and why items failed."`
	Pause  batchPause  `cmd:"" help:"Begin no more items of a batch."`
	Resume batchResume `cmd:"" help:"Let a paused batch go on."`
	Cancel batchCancel `cmd:"" help:"Cancel a batch for good."`
	Retry  batchRetry  `cmd:"" help:"Play the items of a batch again that have failed."`
}

type batchList struct {
	client
	Limit int `default:"20" help:"How many."`
}

// Run lists batches.
func (c *batchList) Run(w *environment) error {
	var all struct {
		Batches []answer.Batch `json:"batches"`
	}
	if err := c.call(w.ctx, http.MethodGet, address.Fixed("/v1/batches").With(url.Values{"limit": {strconv.Itoa(c.Limit)}}), &all); err != nil {
		return fmt.Errorf("list batches: %w", err)
	}
	return c.print(w, all.Batches, func(out io.Writer) {
		rows := [][]string{{"ID", "STATUS", "ITEMS", "COMPLETE", "FAILED", "WAITING", "CREATED", "NAME"}}
		for _, b := range all.Batches {
			at, _ := time.Parse(time.RFC3339Nano, b.Created)
			rows = append(rows, []string{b.BatchID, string(b.Status), strconv.Itoa(b.Items), strconv.Itoa(b.Complete), strconv.Itoa(b.Failed),
				strconv.Itoa(b.Waiting + b.Running), minute(at), plain(b.Name)})
		}
		table(out, rows)
	})
}

// oneBatch is the argument of commands about one batch.
type oneBatch struct {
	client
	ID string `arg:"" help:"The batch, such as batch_5c49f9d7f0a20751_1795449031."`
}

// do sends a request about the batch and prints how far it is.
func (c *oneBatch) do(w *environment, doing, method string, below address.Constant) error {
	path, err := address.Batch.Path(c.ID, below)
	if err != nil {
		return usage("%s: %w", doing, err)
	}
	var one batchOf
	if err := c.call(w.ctx, method, path, &one); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return c.print(w, one.Batch, func(out io.Writer) { describe(out, &one.Batch) })
}

type batchOf struct {
	Batch answer.Batch `json:"batch"`
}

type batchShow struct{ oneBatch }

// Run shows how far a batch is.
func (c *batchShow) Run(w *environment) error { return c.do(w, "show a batch", http.MethodGet, "") }

type batchPause struct{ oneBatch }

// Run pauses a batch.
func (c *batchPause) Run(w *environment) error {
	return c.do(w, "pause a batch", http.MethodPost, "/pause")
}

type batchResume struct{ oneBatch }

// Run lets a batch go on.
func (c *batchResume) Run(w *environment) error {
	return c.do(w, "resume a batch", http.MethodPost, "/resume")
}

type batchCancel struct{ oneBatch }

// Run cancels a batch.
func (c *batchCancel) Run(w *environment) error {
	return c.do(w, "cancel a batch", http.MethodPost, "/cancel")
}

type batchRetry struct{ oneBatch }

// Run plays failed items again.
func (c *batchRetry) Run(w *environment) error {
	return c.do(w, "retry a batch", http.MethodPost, "/retry")
}

// describe prints a batch for people.
func describe(out io.Writer, b *answer.Batch) {
	name := ""
	if b.Name != "" {
		name = " (" + plain(b.Name) + ")"
	}
	fmt.Fprintf(out, "%s%s is %s: %d of %d items complete, %d failed, %d running, %d waiting.\n", b.BatchID, name, b.Status, b.Complete, b.Items, b.Failed, b.Running, b.Waiting)
	if b.Dropped > 0 {
		fmt.Fprintf(out, "%d items did not begin.\n", b.Dropped)
	}
	if b.Held != "" {
		fmt.Fprintf(out, "No more items begin now: %s.\n", b.Held)
	}
	if b.TimeLeft > 0 {
		fmt.Fprintf(out, "%.0f items a minute, about %s left.\n", b.Rate, roughly(b.TimeLeft))
	}
	if len(b.Failures) == 0 {
		return
	}
	rows := [][]string{{"FAILURE", "ITEMS", "EXAMPLE", "ERROR"}}
	for _, f := range b.Failures {
		example, text := "", ""
		if f.Example != nil {
			example, text = "item "+strconv.Itoa(f.Example.Index), plain(f.Example.Error)
		}
		rows = append(rows, []string{string(f.Code), strconv.Itoa(f.Count), example, text})
	}
	table(out, rows)
}

// roughly is a time in milliseconds, as people say it.
func roughly(ms int64) string {
	d := time.Duration(ms) * time.Millisecond
	if d < time.Minute {
		return d.Round(time.Second).String()
	}
	text := d.Round(time.Minute).String()
	return text[:len(text)-len("0s")]
}
