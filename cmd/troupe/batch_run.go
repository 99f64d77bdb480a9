package main

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"troupe/http/address"
	"troupe/http/answer"
)

type batchRun struct {
	client
	Task     string `arg:"" help:"File with the task as JSON, as for POST /v1/. An action reads a field of the item as $${item.name}."`
	Items    string `arg:"" help:"File with one item, a JSON object, in each line. Or a file NAME.csv: its first line names the fields, and each other line is an item of texts."`
	Out      string `required:"" help:"File for the results, one in each line. Results that it has are not fetched again." placeholder:"FILE"`
	Name     string `help:"Name of the batch. Default: that of the file with the items."`
	Order    string `default:"ended" enum:"ended,items" help:"Order of the results: ended or items."`
	New      bool   `help:"Start another batch, also where the service has one of the same task and items."`
	Progress string `default:"auto" enum:"auto,always,never" help:"Show the progress on standard error: always, never, or auto: on a terminal."`
}

// Run runs a batch. The key of its request comes from the task and the items, so the same
// command continues what it has begun. The exit code is 0 if no item failed.
func (c *batchRun) Run(w *environment) error {
	task, key, err := c.read()
	if err != nil {
		return err
	}
	out, err := openResults(c.Out)
	if err != nil {
		return usageError{err}
	}
	defer out.file.Close()
	stop := w.ctx
	b, err := c.start(stop, task, key)
	if err != nil {
		return fmt.Errorf("start the batch: %w", err)
	}
	if out.batch != "" && out.batch != b.BatchID {
		return usage("%s has results of the batch %s, and this one is %s: name another file", c.Out, out.batch, b.BatchID)
	}
	bar := newBatchBar(w.stderr, c.Progress)
	fmt.Fprintf(w.stderr, "troupe: %s, %d items\n", b.BatchID, b.Items)
	b, err = c.follow(stop, b, out, bar)
	bar.end()
	if stop.Err() != nil {
		return fmt.Errorf("stopped: the batch %s goes on. Run the same command again to fetch the rest, or cancel it with troupe batch cancel", b.BatchID)
	}
	if err != nil {
		return err
	}
	if err := c.print(w, b, func(to io.Writer) { describe(to, b) }); err != nil {
		return err
	}
	if b.Failed+b.Dropped > 0 {
		return errTaskFailed
	}
	return nil
}

// read reads the task, and makes the key of the request.
func (c *batchRun) read() (task []byte, key string, err error) {
	source, err := os.ReadFile(c.Task)
	if err != nil {
		return nil, "", usage("read the task: %w", err)
	}
	var line bytes.Buffer
	if err := json.Compact(&line, bytes.TrimPrefix(source, []byte("\ufeff"))); err != nil {
		return nil, "", usage("read the task: %s is not JSON: %w", c.Task, err)
	}
	items, err := openItems(c.Items)
	if err != nil {
		return nil, "", usage("read the items: %w", err)
	}
	defer items.Close()
	sum := sha256.New()
	sum.Write(line.Bytes())
	if _, err := io.Copy(sum, items); err != nil {
		return nil, "", usage("read the items: %w", err)
	}
	if c.New {
		_, _ = io.CopyN(sum, rand.Reader, 16)
	}
	if c.Name == "" {
		c.Name = filepath.Base(c.Items)
	}
	return line.Bytes(), "troupe-batch-" + hex.EncodeToString(sum.Sum(nil)), nil
}

// start sends the task and the items, or finds the batch that has them.
func (c *batchRun) start(ctx context.Context, task []byte, key string) (*answer.Batch, error) {
	for {
		var one batchOf
		err := c.post(ctx, task, key, &one)
		if err == nil {
			return &one.Batch, nil
		}
		if !passing(err) || !pause(ctx, time.Second) {
			return nil, err
		}
	}
}

func (c *batchRun) post(ctx context.Context, task []byte, key string, into any) error {
	items, err := openItems(c.Items)
	if err != nil {
		return usage("read the items: %w", err)
	}
	defer items.Close()
	name, err := json.Marshal(c.Name)
	if err != nil {
		return err
	}
	head := fmt.Sprintf(`{"name":%s,"task":%s}`+"\n", name, task)
	resp, err := c.send(ctx, http.MethodPost, address.Fixed("/v1/batches"), "application/x-ndjson", io.MultiReader(strings.NewReader(head), items), "Idempotency-Key", key)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return json.NewDecoder(resp.Body).Decode(into)
}

// pause waits. It reports false if ctx ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// follow fetches results until the batch has ended and all are there. A service that
// does not answer is asked again.
func (c *batchRun) follow(ctx context.Context, b *answer.Batch, out *resultFile, bar *batchBar) (*answer.Batch, error) {
	const every = 500 * time.Millisecond
	for {
		path, err := address.Batch.Path(b.BatchID, "")
		if err != nil {
			return b, err
		}
		var now batchOf
		err = c.call(ctx, http.MethodGet, path, &now)
		if err == nil {
			b = &now.Batch
			bar.show(b)
			err = c.fetch(ctx, b, out)
		}
		var file *os.PathError
		switch {
		case ctx.Err() != nil:
			return b, ctx.Err()
		case err != nil && (!passing(err) || errors.As(err, &file)):
			return b, fmt.Errorf("fetch the results: %w", err)
		case err == nil && b.Ended != "":
			return b, out.file.Sync()
		}
		pause(ctx, every)
	}
}

// fetch appends the results that are there.
func (c *batchRun) fetch(ctx context.Context, b *answer.Batch, out *resultFile) error {
	q := url.Values{"order": {c.Order}, "cursor": {out.cursor}}
	path, err := address.Batch.Path(b.BatchID, "/results")
	if err != nil {
		return usageError{err}
	}
	resp, err := c.send(ctx, http.MethodGet, path.With(q), "", nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	return out.append(resp.Body)
}
