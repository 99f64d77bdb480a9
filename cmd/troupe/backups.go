package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"troupe/http/admin"
	"troupe/http/telemetry"
	"troupe/persistence"
	"troupe/persistence/backup"
)

// backups is where and how often backups are made while the service runs, as flags.
type backups struct {
	To    string        `help:"Make backups by itself: a folder, or s3://BUCKET/PREFIX. Default: none." placeholder:"PLACE"`
	Every time.Duration `default:"24h" help:"How often. Default: 24h."`
	Keep  int           `default:"14" help:"How many backups are kept, beside those that these need. Default: 14." placeholder:"N"`
	backupStorage
}

// backupStorage is the S3 storage of backups, as flags.
type backupStorage struct {
	S3Endpoint    string `name:"s3-endpoint" help:"URL of the S3-compatible storage of backups. Default: that of --s3-endpoint." placeholder:"URL"`
	S3Region      string `name:"s3-region" help:"Region of the bucket of backups. Default: requested from the storage." placeholder:"NAME"`
	S3Credentials string `name:"s3-credentials" help:"File with ACCESS-KEY:SECRET-KEY for the bucket of backups. Default: that of --s3-credentials, or the variables of AWS." placeholder:"FILE"`
}

// s3Scheme begins the name of a place in S3 storage.
const s3Scheme = "s3://"

func (b *backups) check(files storage) error {
	switch {
	case b.To == "" && b.backupStorage != backupStorage{}:
		return usage("--backup-s3-… needs --backup-to or --restore-from s3://BUCKET/PREFIX")
	case b.Every < time.Minute || b.Every > 366*24*time.Hour:
		return usage("--backup-every is %v: want a minute to a year", b.Every)
	case b.Keep < 1 || b.Keep > 10000:
		return usage("--backup-keep is %d: want 1 to 10000", b.Keep)
	}
	if b.To == "" {
		return nil
	}
	if _, err := b.place(b.To, files); err != nil {
		return usage("--backup-to: %w", err)
	}
	return nil
}

// place is what a text names. What the flags of backups leave open is as for files.
func (b backupStorage) place(text string, files storage) (admin.BackupPlace, error) {
	rest, s3 := strings.CutPrefix(text, s3Scheme)
	if !s3 {
		dir, err := filepath.Abs(text)
		return admin.BackupPlace{Folder: dir}, err
	}
	bucket, prefix, _ := strings.Cut(rest, "/")
	if prefix = strings.Trim(prefix, "/"); prefix != "" {
		prefix += "/"
	}
	or := func(a, b string) string {
		if a != "" {
			return a
		}
		return b
	}
	in := storage{Endpoint: or(b.S3Endpoint, files.Endpoint), Bucket: bucket, Prefix: prefix, Region: or(b.S3Region, files.Region), Credentials: or(b.S3Credentials, files.Credentials)}
	if !in.on() {
		return admin.BackupPlace{}, usage("%s needs the address of the storage: --backup-s3-endpoint", text)
	}
	c, err := in.config()
	if err != nil {
		return admin.BackupPlace{}, err
	}
	return admin.BackupPlace{S3: &admin.BackupS3{
		Endpoint: c.Endpoint, Insecure: c.Insecure, Region: c.Region, Bucket: c.Bucket, Prefix: c.Prefix, AccessKey: c.AccessKey, SecretKey: c.SecretKey, Session: c.Session,
	}}, nil
}

// openPlace opens a place of backups.
func openPlace(ctx context.Context, p admin.BackupPlace) (backup.Place, error) {
	if p.S3 == nil {
		return backup.Folder(p.Folder), nil
	}
	ctx, cancel := context.WithTimeout(ctx, openStorageWithin)
	defer cancel()
	return persistence.OpenS3Objects(ctx, persistence.S3Config{
		Endpoint: p.S3.Endpoint, Insecure: p.S3.Insecure, Region: p.S3.Region, Bucket: p.S3.Bucket, Prefix: p.S3.Prefix, AccessKey: p.S3.AccessKey, SecretKey: p.S3.SecretKey, Session: p.S3.Session,
	})
}

// where is a place as the keeper of backups wants it.
func where(p admin.BackupPlace) backup.Where {
	return backup.Where{Name: p.String(), Open: func(ctx context.Context) (backup.Place, error) { return openPlace(ctx, p) }}
}

// keepBackups makes backups when they are due, and when an operator wants one.
func (s *service) keepBackups(seal *persistence.Seal) {
	if s.Cluster.worker() {
		return
	}
	source := &backup.Source{Files: s.files, Seal: seal, Node: s.Cluster.Node, Version: ownVersion(), Clock: &s.clock, Log: s.log}
	if s.disk != nil {
		source.Store, source.Uploads, source.Identity = s.disk, queuedUploadsIn(s.data), persistence.FolderIdentity(storeIn(s.data))
	} else {
		source.Store, source.Cluster = s.shared, true
	}
	var schedule *backup.Schedule
	if s.Backups.To != "" {
		p, err := s.Backups.place(s.Backups.To, s.S3)
		if err == nil {
			schedule = &backup.Schedule{To: where(p), Every: s.Backups.Every, Keep: s.Backups.Keep}
		} else { // the flags were checked; a file with keys may be gone since
			s.log.Error().Err(err).Msg("no backups are made")
		}
	}
	s.backups = backup.NewKeeper(source, schedule)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.backups.Run(ctx)
	}()
	s.backupsEnd = ctx
	s.ends = append(s.ends, func() error { cancel(); <-done; s.backing.Wait(); return nil })
}

// BackUp is part of [admin.Backups].
func (s *service) BackUp(ctx context.Context, to admin.BackupPlace, full bool) (*backup.Result, error) {
	if to == (admin.BackupPlace{}) {
		if s.Backups.To == "" {
			return nil, fmt.Errorf("the service makes no backups by itself (--backup-to): name a folder, or %sBUCKET/PREFIX", s3Scheme)
		}
		var err error
		if to, err = s.Backups.place(s.Backups.To, s.S3); err != nil {
			return nil, err
		}
	}
	s.backing.Add(1)
	defer s.backing.Done()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.backupsEnd, cancel)()
	return s.backups.Make(ctx, where(to), full)
}

// backupNumbers are for the metrics.
func (s *service) backupNumbers() telemetry.Backups {
	n := s.backups.Numbers()
	return telemetry.Backups{Every: n.Every, Last: n.Last, Took: n.Took, Bytes: n.Bytes, Records: n.Records, Failed: n.Failed, Failures: n.Failures}
}
