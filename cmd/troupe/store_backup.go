package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/http/admin"
	"troupe/persistence"
	"troupe/persistence/backup"
)

// fileStorage is how commands reach S3 storage: as the service does for its files, by the
// same variables.
type fileStorage struct {
	S3Endpoint    string `name:"s3-endpoint" help:"URL of the S3-compatible storage of s3://BUCKET/PREFIX." placeholder:"URL"`
	S3Region      string `name:"s3-region" help:"Region of the bucket. Default: requested from the storage." placeholder:"NAME"`
	S3Credentials string `name:"s3-credentials" help:"File with ACCESS-KEY:SECRET-KEY. Default: the variables of AWS." placeholder:"FILE"`
}

func (f fileStorage) place(text string) (admin.BackupPlace, error) {
	p, err := backupStorage{}.place(text, storage{Endpoint: f.S3Endpoint, Region: f.S3Region, Credentials: f.S3Credentials})
	if err != nil {
		return p, usage("%s", strings.ReplaceAll(err.Error(), "--backup-s3-", "--s3-"))
	}
	return p, nil
}

type storeBackup struct {
	operator
	fileStorage
	To   string `arg:"" optional:"" help:"Folder or s3://BUCKET/PREFIX that gets the backup, beside earlier ones. The service writes it, so the folder must be writable for its user. Default: the --backup-to of the running service." placeholder:"PLACE"`
	Full bool   `help:"Make a full backup. Default: what has changed since the last one of this place."`
}

func (c *storeBackup) Run(w *environment) error {
	var to admin.BackupPlace
	if c.To != "" {
		var err error
		if to, err = c.place(c.To); err != nil {
			return err
		}
	}
	dir, err := findData(c.Data)
	if err != nil {
		return usageError{err}
	}
	r, err := admin.Send(socketIn(dir), admin.BackUp{To: to, Full: c.Full})
	if errors.Is(err, admin.ErrNoService) {
		r, err = c.stopped(w.ctx, to)
	}
	if err != nil {
		return fmt.Errorf("back up the store: %w", explained(dir, err))
	}
	key := "the key " + quote(keyIn(dir))
	if r.Cluster {
		key = "the secret of the cluster's nodes (--cluster-secret-file)"
	}
	return c.print(w, r, func(out io.Writer) {
		kind := "a full backup"
		if r.Base != "" {
			kind = fmt.Sprintf("with the %d that have changed since %s", r.Changed, r.Base)
		}
		fmt.Fprintf(out, "The backup %s in %s is complete and was read back: %s.\n", r.Name, r.Place, kind)
		fmt.Fprintf(out, "It has %s; and %d files, %d of them new.\n", counted(r.Records), r.Files, r.NewFiles)
		if r.Missing > 0 {
			fmt.Fprintf(out, "Warning: %d records name files that are not there. If the service keeps files in S3, make the backup while it runs.\n", r.Missing)
		}
		fmt.Fprintf(out, "To open what is sealed in it you need %s. It is not in the backup: keep it elsewhere.\n", key)
	})
}

// stopped makes a backup of a service that does not run.
func (c *storeBackup) stopped(ctx context.Context, to admin.BackupPlace) (*backup.Result, error) {
	dir, err := stopped(c.operator)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(storeIn(dir)); err != nil {
		return nil, usage("there is no store in the data folder %s", dir)
	}
	if to == (admin.BackupPlace{}) {
		return nil, usage("no service runs with the data folder %s: name a folder, or %sBUCKET/PREFIX, for the backup", dir, s3Scheme)
	}
	store, closes, err := openDisk(dir, zerolog.Nop())
	if err != nil {
		return nil, err
	}
	files, err := persistence.OpenFolder(filesIn(dir))
	if err != nil {
		return nil, errors.Join(err, closes())
	}
	seal, err := openKey(dir, store)
	var r *backup.Result
	if err == nil {
		r, err = backup.NewKeeper(&backup.Source{
			Store: store, Files: files, Uploads: queuedUploadsIn(dir), Seal: seal, Identity: persistence.FolderIdentity(storeIn(dir)), Version: ownVersion(), Log: zerolog.Nop(),
		}, nil).Make(ctx, where(to), c.Full)
	}
	return r, errors.Join(err, files.Close(), closes())
}

type storeBackups struct {
	fileStorage
	JSON  bool   `help:"Print JSON, for scripts."`
	From  string `arg:"" help:"Folder or s3://BUCKET/PREFIX with the backups." placeholder:"PLACE"`
	Check bool   `help:"Read all of each backup, and compare checksums and counts. Exit code 3: one is damaged."`
}

// listedBackup is a backup as it is listed.
type listedBackup struct {
	backup.Manifest
	Damaged string `json:"damaged,omitempty"`
	Checked bool   `json:"checked"`
}

func (c *storeBackups) Run(w *environment) error {
	at, err := findPlace(w.ctx, c.fileStorage, c.From)
	if err != nil {
		return err
	}
	l, err := backup.List(w.ctx, at, "")
	if err != nil {
		return fmt.Errorf("list the backups: %w", err)
	}
	all, damaged := []listedBackup{}, 0
	for _, list := range l.Stores {
		for _, m := range list {
			one := listedBackup{Manifest: *m}
			if c.Check {
				b, err := backup.Find(w.ctx, at, m.Store+"/"+m.Name)
				if err == nil {
					err = b.Check(w.ctx)
				}
				if one.Checked = err == nil; err != nil {
					one.Damaged, damaged = err.Error(), damaged+1
				}
			}
			all = append(all, one)
		}
	}
	for name, err := range l.Broken {
		store, of, _ := strings.Cut(name, "/")
		all, damaged = append(all, listedBackup{Manifest: backup.Manifest{Store: store, Name: of}, Damaged: err.Error()}), damaged+1
	}
	slices.SortFunc(all, func(a, b listedBackup) int { return cmp.Or(cmp.Compare(a.Store, b.Store), cmp.Compare(a.Name, b.Name)) })
	err = operator{JSON: c.JSON}.print(w, all, func(out io.Writer) {
		rows := [][]string{{"BACKUP", "OF", "KIND", "RECORDS", "FILES", "STATE"}}
		for _, b := range all {
			kind, state := "full", "complete"
			if b.Base != "" {
				kind = "since " + b.Base
			}
			switch {
			case b.Damaged != "":
				state = b.Damaged
			case b.Checked:
				state = "intact"
			}
			rows = append(rows, []string{b.Store + "/" + b.Name, b.Snapshot.UTC().Format(time.RFC3339), kind, fmt.Sprint(b.Total()), fmt.Sprint(b.Files), state})
		}
		table(out, rows)
	})
	if err == nil && damaged > 0 {
		err = dataError{fmt.Errorf("%d of %d backups are damaged", damaged, len(all)), "The others are not affected. Make a full backup: troupe store backup --full\n"}
	}
	return err
}

// findPlace opens a place with backups that must be there.
func findPlace(ctx context.Context, s3 fileStorage, text string) (backup.Place, error) {
	p, err := s3.place(text)
	if err != nil {
		return nil, err
	}
	if p.S3 == nil {
		if info, err := os.Stat(p.Folder); err != nil || !info.IsDir() {
			return nil, usage("%s is no folder with backups", p.Folder)
		}
	}
	at, err := openPlace(ctx, p)
	if err != nil {
		return nil, usageError{err}
	}
	return at, nil
}
