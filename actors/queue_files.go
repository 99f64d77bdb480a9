package actors

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"troupe/actors/records"
	"troupe/engine"
	"troupe/persistence"
)

// Of several nodes, the files of a queued task are kept by all, until the task has ended.
// The node that plays it has copies in a folder of its own.

// keptFilesFor bounds how long they are kept: no task waits longer, and what a killed
// process has left goes then.
const keptFilesFor = 60 * 24 * time.Hour

// errFilesGone: files of a task are no longer kept.
var errFilesGone = errors.New("files of the task are gone")

// shareFiles keeps the files of a task where all nodes find them, and returns the task
// without their places.
func (n *nodeParts) shareFiles(ctx context.Context, t *engine.Task, account string) (shared *engine.Task, ids []string, err error) {
	moved := *t
	moved.Files = slices.Clone(t.Files)
	for i := range moved.Files {
		f := &moved.Files[i]
		id, err := n.shareFile(ctx, f, account)
		if err != nil {
			n.unshareFiles(ids)
			return nil, nil, fmt.Errorf("keep the files of a queued task: %w", err)
		}
		ids, f.Path = append(ids, id), ""
	}
	return &moved, ids, nil
}

func (n *nodeParts) shareFile(ctx context.Context, f *engine.Upload, account string) (string, error) {
	from, err := os.Open(f.Path)
	if err != nil {
		return "", err
	}
	defer from.Close()
	b, err := n.records.Files.Put(ctx, persistence.Blob{
		Account: account, Label: f.Name, ContentType: f.Type, Expires: time.Now().Add(keptFilesFor), Durable: true,
	}, from)
	return b.ID, err
}

func (n *nodeParts) unshareFiles(ids []string) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, id := range ids {
		if err := n.records.Files.Delete(ctx, id); err != nil {
			n.log.Warn().Err(err).Msg("a file of a queued task stays until it expires")
		}
	}
}

// fetchFiles puts copies of the files of a task into a folder; empty: it has none.
func (n *nodeParts) fetchFiles(ctx context.Context, q *records.Queued, turn uint64) (folder string, err error) {
	if len(q.Blobs) == 0 {
		return "", nil
	}
	if n.cfg.QueuedUploads == "" {
		return "", errors.New("fetch the files of a queued task: there is no folder for them")
	}
	folder = filepath.Join(n.cfg.QueuedUploads, q.Account, q.ID+"-"+strconv.FormatUint(turn, 10))
	if err = os.MkdirAll(folder, 0o700); err == nil {
		for i, id := range q.Blobs {
			if err = n.fetchFile(ctx, id, filepath.Join(folder, strconv.Itoa(i))); err != nil {
				break
			}
		}
	}
	if err != nil {
		_ = os.RemoveAll(folder)
		return "", fmt.Errorf("fetch the files of a queued task: %w", err)
	}
	return folder, nil
}

func (n *nodeParts) fetchFile(ctx context.Context, id, to string) error {
	_, from, err := n.records.Files.Open(ctx, id)
	if errors.Is(err, persistence.ErrNotFound) {
		return errFilesGone
	} else if err != nil {
		return err
	}
	defer from.Close()
	f, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(f, from)
	return errors.Join(err, f.Close())
}

// sweepFetched removes the copies that an earlier process has left.
func (n *nodeParts) sweepFetched() error {
	if n.cfg.QueuedUploads == "" {
		return nil
	}
	folders, err := filepath.Glob(filepath.Join(n.cfg.QueuedUploads, "*"))
	if err != nil {
		return fmt.Errorf("look at the files of queued tasks: %w", err)
	}
	for _, folder := range folders {
		_ = os.RemoveAll(folder)
	}
	return nil
}
