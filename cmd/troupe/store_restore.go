package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/persistence/backup"
)

type storeRestore struct {
	operator
	fileStorage
	From       string `arg:"" help:"Folder or s3://BUCKET/PREFIX with the backups, a data folder that was copied, or a file of an earlier version." placeholder:"PLACE"`
	Backup     string `help:"Name of the backup. Default: the newest." placeholder:"NAME"`
	Key        string `help:"Key of the service that the backup is of. It is copied into the data folder." placeholder:"FILE" type:"path"`
	WithoutKey bool   `help:"Restore without the key: secrets, sessions, profiles, queued tasks, schedules and webhooks are lost."`
}

func (c *storeRestore) Run(w *environment) error {
	dir, err := findData(c.Data)
	if err != nil {
		return usageError{err}
	}
	if serviceRuns(dir) {
		return usage("a service runs with the data folder %s: stop it first", dir)
	}
	if _, err := os.Stat(clusterIn(dir)); err == nil {
		return usage("the data folder %s is that of a node of a cluster: start the nodes of an empty cluster with troupe serve --restore-from %s", dir, quote(c.From))
	}
	if !strings.HasPrefix(c.From, s3Scheme) {
		info, err := os.Stat(c.From)
		if err != nil {
			return usage("look at the backup: %w", err)
		}
		if info.Mode().IsRegular() {
			return c.file(w, dir)
		}
		if _, err := os.Stat(clusterIn(c.From)); err == nil {
			return usage("%s is the data folder of a node of a cluster: nothing can be made of one node's copy. Start with it: troupe serve --accept-copy, or fetch everything from the other nodes: troupe serve --reset-store", c.From)
		}
		if _, err := os.Stat(storeIn(c.From)); err == nil {
			return c.copied(w, dir)
		}
	}
	at, err := findPlace(w.ctx, c.fileStorage, c.From)
	if err != nil {
		return err
	}
	b, err := backup.Find(w.ctx, at, c.Backup)
	switch {
	case errors.Is(err, backup.ErrNone), errors.Is(err, backup.ErrSeveral):
		return usage("restore the store: %w", err)
	case errors.Is(err, backup.ErrBroken), errors.Is(err, backup.ErrNewer):
		return dataError{fmt.Errorf("restore the store: %w", err), "Nothing was changed. troupe store backups " + quote(c.From) + " --check shows which backups are intact; name one by --backup.\n"}
	case err != nil:
		return fmt.Errorf("restore the store: %w", err)
	case b.Cluster:
		return usage("%s", otherKind(b))
	}
	if dir, err = dataFolder(dir); err != nil {
		return usageError{err}
	}
	if err := c.placeKey(dir); err != nil {
		return err
	}
	if !c.WithoutKey {
		if err := keyOpens(b, dir); err != nil {
			return err
		}
	}
	if err := b.Check(w.ctx); err != nil { // before anything is changed
		return dataError{fmt.Errorf("restore the store: %w", err), "Nothing was changed. troupe store backups " + quote(c.From) + " --check shows which backups are intact; name one by --backup.\n"}
	}
	return c.restore(w, dir, b)
}

// placeKey puts the named key into the data folder, in the place of none or of the same.
func (c *storeRestore) placeKey(dir string) error {
	if c.Key == "" {
		return nil
	}
	key, err := os.ReadFile(c.Key)
	if err == nil {
		_, err = persistence.NewSeal(key)
	}
	if err != nil {
		return usage("--key: %w", err)
	}
	there, err := os.ReadFile(keyIn(dir))
	if err == nil && string(there) != string(key) {
		return usage("--key: there is another key in %s: move it away first", keyIn(dir))
	}
	if err == nil {
		return nil
	}
	return os.WriteFile(keyIn(dir), key, 0o600)
}

// restore makes the store and the files of a backup that is intact.
func (c *storeRestore) restore(w *environment, dir string, b *backup.Backup) (err error) {
	aside, err := asideAll(dir)
	if err != nil {
		return err
	}
	store, err := persistence.OpenBadger(storeIn(dir), persistence.Options{})
	if err != nil {
		return fmt.Errorf("restore the store: %w", explained(dir, err))
	}
	files, err := persistence.OpenFolder(filesIn(dir))
	if err != nil {
		return errors.Join(err, store.Close())
	}
	into := backup.Into{Store: store, Files: files, Uploads: queuedUploadsIn(dir)}
	if c.WithoutKey {
		into.Without = []string{persistence.SealCheck}
		if err := keyless(dir); err != nil {
			return errors.Join(err, files.Close(), store.Close())
		}
	}
	from := c.From
	if !strings.HasPrefix(from, s3Scheme) {
		from, _ = filepath.Abs(from)
	}
	r := &backup.Restored{Backup: b.Store + "/" + b.Name, From: from, Of: b.Snapshot}
	err = restoreMarked(w.ctx, b, into, r, 0)
	if err = errors.Join(err, files.Close(), store.Close()); err != nil {
		return fmt.Errorf("restore the store: %w", err)
	}
	return c.print(w, r, func(out io.Writer) {
		fmt.Fprintf(out, "The store has %s; and %d files. They are as they were at %s.\n", counted(r.Records), r.Files, r.Of.UTC().Format(time.RFC3339))
		if r.Expired > 0 {
			fmt.Fprintf(out, "Records and files whose time was over: %d.\n", r.Expired)
		}
		if c.WithoutKey {
			fmt.Fprintln(out, "Without the key: "+lostWithoutKey+".")
		}
		printAside(out, aside)
	})
}

// asideAll moves what the data folder has away: the store, files, and files of queued tasks.
func asideAll(dir string) (moved []string, err error) {
	at, err := persistence.SetAside(storeIn(dir))
	if err != nil {
		return nil, fmt.Errorf("move the store aside: %w", err)
	}
	moved = append(moved, at)
	for _, folder := range []string{filesIn(dir), queuedUploadsIn(dir)} {
		if at, err = persistence.MoveAside(folder); err != nil {
			return nil, err
		}
		moved = append(moved, at)
	}
	return slices.DeleteFunc(moved, func(at string) bool { return at == "" }), nil
}

func printAside(out io.Writer, aside []string) {
	if len(aside) > 0 {
		fmt.Fprintln(out, "What was there before is in "+strings.Join(aside, ", ")+".")
	}
}

// file restores the records of a file that an earlier version has written.
func (c *storeRestore) file(w *environment, dir string) error {
	if dir, err := dataFolder(dir); err != nil {
		return usageError{err}
	} else if err := c.placeKey(dir); err != nil {
		return err
	}
	n, aside, err := persistence.RestoreBadger(storeIn(dir), c.From, zerolog.Nop())
	if err != nil {
		return fmt.Errorf("restore the store: %w", explained(dir, err))
	}
	if err := c.newKey(w.ctx, dir); err != nil {
		return err
	}
	return c.print(w, n, func(out io.Writer) {
		fmt.Fprintf(out, "The store has %s. Files are not in the backup of an earlier version: copy files/.\n", counted(n))
		if aside != "" {
			printAside(out, []string{aside})
		}
	})
}

// newKey makes a key for records that were restored with the mark of the one that is lost.
func (c *storeRestore) newKey(ctx context.Context, dir string) error {
	if !c.WithoutKey {
		return nil
	}
	if _, err := os.Stat(keyIn(dir)); !errors.Is(err, os.ErrNotExist) {
		return err // it stays; whether it is the right one is seen at the start
	}
	store, err := persistence.OpenBadger(storeIn(dir), persistence.Options{})
	if err != nil {
		return explained(dir, err)
	}
	_, err = persistence.NewKey(ctx, keyIn(dir), store)
	return errors.Join(err, store.Close())
}

// copied makes a data folder of what can be read in a copy of another one, which was made
// while a service ran, or after a kill.
func (c *storeRestore) copied(w *environment, dir string) error {
	from, err := filepath.Abs(c.From)
	if err != nil {
		return err
	}
	same := from == dir
	if dir, err = dataFolder(dir); err != nil {
		return usageError{err}
	}
	if c.Key == "" && !same {
		if _, err := os.Stat(keyIn(from)); err == nil {
			c.Key = keyIn(from)
		}
	}
	if err := c.placeKey(dir); err != nil {
		return err
	}
	if !same {
		for _, folder := range []string{filesIn(dir), queuedUploadsIn(dir)} {
			if _, err := persistence.MoveAside(folder); err != nil {
				return err
			}
		}
		for _, f := range []struct{ from, to string }{{filesIn(from), filesIn(dir)}, {queuedUploadsIn(from), queuedUploadsIn(dir)}} {
			if _, err := os.Stat(f.from); err != nil {
				continue
			}
			if err := os.CopyFS(f.to, os.DirFS(f.from)); err != nil {
				return fmt.Errorf("copy the files: %w", err)
			}
		}
	}
	r, err := persistence.RecoverBadger(storeIn(from), storeIn(dir), zerolog.Nop())
	if err != nil {
		return fmt.Errorf("restore the store: %w", explained(dir, err))
	}
	lost, err := lostFiles(dir)
	if err == nil {
		err = c.newKey(w.ctx, dir)
	}
	if err != nil {
		return err
	}
	return c.print(w, r, func(out io.Writer) {
		printRecovered(out, r)
		if lost > 0 {
			fmt.Fprintf(out, "Records whose files are missing: %d.\n", lost)
		}
	})
}

// lostFiles counts records that name files which are not there.
func lostFiles(dir string) (lost int, err error) {
	store, err := persistence.OpenBadger(storeIn(dir), persistence.Options{})
	if err != nil {
		return 0, explained(dir, err)
	}
	files, err := persistence.OpenFolder(filesIn(dir))
	if err != nil {
		return 0, errors.Join(err, store.Close())
	}
	all, err := store.List(context.Background(), "")
	for _, r := range all {
		if id := persistence.FileOf(r.Value); id != "" {
			_, f, no := files.Open(context.Background(), id)
			if errors.Is(no, persistence.ErrNotFound) {
				lost++
			} else if no == nil {
				_ = f.Close()
			}
		}
	}
	return lost, errors.Join(err, files.Close(), store.Close())
}
