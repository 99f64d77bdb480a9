package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	"troupe/persistence"
	"troupe/persistence/backup"
)

// restoring is what an empty service begins with, as flags.
type restoring struct {
	From       string `help:"Start an empty service, or an empty cluster, with a backup: a folder, or s3://BUCKET/PREFIX. Give it to all nodes of the cluster." placeholder:"PLACE"`
	Backup     string `help:"Name of the backup. Default: the newest." placeholder:"NAME"`
	WithoutKey bool   `help:"Restore without the key: secrets, sessions, profiles, queued tasks, schedules and webhooks are lost." env:"-"`
}

func (r *restoring) check(c *serveCommand) error {
	switch {
	case r.From == "" && (r.Backup != "" || r.WithoutKey):
		return usage("--restore-backup and --restore-without-key need --restore-from")
	case r.From == "":
		return nil
	case c.Cluster.worker():
		return usage("--role worker keeps nothing: give --restore-from to the nodes that keep the records")
	}
	if _, err := c.Backups.place(r.From, c.S3); err != nil {
		return usage("--restore-from: %w", err)
	}
	return nil
}

const (
	// restoreSays is how often a node that restores says that it goes on, and restoreSilent
	// after which time another one takes over.
	restoreSays   = 5 * time.Second
	restoreSilent = 45 * time.Second
)

// unfinishedRestore refuses a store of a single node that has a part of a backup.
func unfinishedRestore(data string, store persistence.Store) error {
	r, _, err := backup.Marked(context.Background(), store)
	if err != nil || r == nil || !r.Ended.IsZero() {
		return err
	}
	return dataError{fmt.Errorf("the store in %s has only a part of the backup %s, because its restore was interrupted", storeIn(data), r.Backup),
		"Restore it again: troupe store restore " + quote(r.From) + " --data " + quote(data) + "\n"}
}

// restoreFirst puts a backup into the store, before anything uses it. In a cluster one node
// does it, and the others wait.
func (s *service) restoreFirst(ctx context.Context) error {
	for said := false; ; {
		mark, revision, err := backup.Marked(ctx, s.store)
		if err != nil {
			return err
		}
		switch {
		case mark != nil && !mark.Ended.IsZero():
			if s.Restore.From != "" {
				s.log.Warn().Str("backup", mark.Backup).Time("restored", mark.Ended).Msg("a backup was restored already: --restore-from was ignored; remove that flag")
			}
			return nil
		case mark == nil && s.Restore.From == "":
			return nil
		case mark != nil && (s.Restore.From == "" || mark.Node != s.Cluster.Node && time.Since(mark.Seen).Abs() < restoreSilent):
			if !said {
				said = true
				s.log.Warn().Str("backup", mark.Backup).Str("node", mark.Node).Msg("the start waits for a node that restores a backup")
			}
			select {
			case <-ctx.Done():
				return context.Cause(ctx)
			case <-time.After(time.Second):
			}
			continue
		case mark == nil:
			if used, err := backup.Empty(ctx, s.store); err != nil {
				return err
			} else if used != "" {
				return usage("--restore-from is for an empty service, and this one has records, such as %s: remove the flag, or replace what is there: for one service with troupe store restore, for a cluster after troupe serve --reset-store at all nodes", used)
			}
		}
		err = s.restoreNow(ctx, revision)
		if errors.Is(err, persistence.ErrConflict) { // another node was first
			continue
		}
		return err
	}
}

// restoreNow restores, if nobody else has begun since the revision of the mark.
func (s *service) restoreNow(ctx context.Context, revision uint64) error {
	p, err := s.Backups.place(s.Restore.From, s.S3)
	if err != nil {
		return usageError{err}
	}
	place, err := openPlace(ctx, p)
	if err != nil {
		return usage("--restore-from: %w", err)
	}
	b, err := backup.Find(ctx, place, s.Restore.Backup)
	if err != nil {
		return usage("--restore-from %s: %w", s.Restore.From, err)
	}
	if err := s.restorable(b); err != nil {
		return err
	}
	s.log.Info().Str("backup", b.Name).Time("of", b.Snapshot).Msg("a backup is being restored: first it is read")
	if err := b.Check(ctx); err != nil {
		return fmt.Errorf("restore the backup %s: %w", b.Name, err)
	}
	into := backup.Into{Store: s.store, Files: s.files}
	if s.disk != nil {
		into.Uploads = queuedUploadsIn(s.data)
	}
	if s.Restore.WithoutKey {
		into.Without = []string{persistence.SealCheck}
		if s.member == nil { // the nodes of a cluster have their secret
			if err := keyless(s.data); err != nil {
				return err
			}
		}
	}
	r := &backup.Restored{Backup: b.Store + "/" + b.Name, From: s.Restore.From, Of: b.Snapshot, Node: s.Cluster.Node}
	if err := restoreMarked(ctx, b, into, r, revision); err != nil {
		return err
	}
	s.log.Info().Str("backup", b.Name).Time("of", b.Snapshot).Any("records", r.Records).Int64("files", r.Files).Int64("expired", r.Expired).Msg("the backup was restored; remove --restore-from")
	return nil
}

// restorable says why a backup cannot be restored here, before anything is changed.
func (s *service) restorable(b *backup.Backup) error {
	if b.Cluster != (s.member != nil) {
		return usage("%s", otherKind(b))
	}
	if s.Restore.WithoutKey {
		return nil
	}
	if s.member != nil {
		seal, err := s.seal()
		if err != nil {
			return err
		}
		if !b.Opens(seal) {
			return dataError{errors.New("the cluster's secret does not open the backup"),
				"Put the secret that the cluster had then into the file of --cluster-secret-file, as a further line, at all nodes.\n" +
					"If it is gone, add --restore-without-key: " + lostWithoutKey + "\n"}
		}
		return nil
	}
	return keyOpens(b, s.data)
}

const lostWithoutKey = "accounts, tokens, flows and files are restored; secrets, sessions, profiles, queued tasks, schedules and webhooks are lost"

func otherKind(b *backup.Backup) string {
	if b.Cluster {
		return fmt.Sprintf("the backup %s is that of a cluster: start the nodes of an empty cluster with --restore-from", b.Name)
	}
	return fmt.Sprintf("the backup %s is that of a single service: restore it with troupe store restore, then bring it into the cluster with troupe cluster import", b.Name)
}

// keyOpens reports whether the key in a data folder opens a backup. It makes no key.
func keyOpens(b *backup.Backup, data string) error {
	var seal *persistence.Seal
	if _, err := os.Stat(keyIn(data)); err == nil {
		if seal, err = persistence.OpenSeal(keyIn(data)); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if b.Opens(seal) {
		return nil
	}
	what := "the key in " + keyIn(data) + " does not open the backup"
	if seal == nil {
		what = "there is no key in " + keyIn(data) + ", and the backup has none"
	}
	return dataError{errors.New(what), "Put the key of that service there (its data folder has it as key), or name it: troupe store restore … --key FILE.\n" +
		"If it is gone: troupe store restore … --without-key, or troupe serve --restore-from … --restore-without-key: " + lostWithoutKey + "\n"}
}

// keyless makes a key in a data folder that has none, for a service that goes on without that
// of its backup: it would not start with sealed records and no key.
func keyless(data string) error {
	_, err := persistence.OpenSeal(keyIn(data))
	return err
}

// restoreMarked restores, and keeps a mark in the store that says how far it is.
func restoreMarked(ctx context.Context, b *backup.Backup, into backup.Into, r *backup.Restored, revision uint64) (err error) {
	r.Began, r.Seen = time.Now().UTC(), time.Now().UTC()
	if revision, err = backup.Mark(ctx, into.Store, r, &revision); err != nil {
		return err
	}
	working, end := context.WithCancelCause(ctx)
	says := make(chan struct{})
	saying := *r
	go func() {
		defer close(says)
		tick := time.NewTicker(restoreSays)
		defer tick.Stop()
		for {
			select {
			case <-working.Done():
				return
			case <-tick.C:
			}
			saying.Seen = time.Now().UTC()
			next, err := backup.Mark(working, into.Store, &saying, &revision)
			if errors.Is(err, persistence.ErrConflict) {
				end(errors.New("another node has taken the restore over"))
				return
			}
			if err == nil {
				revision = next
			}
		}
	}()
	err = b.Restore(working, into, r)
	end(nil)
	<-says
	if err != nil {
		return fmt.Errorf("restore the backup %s: %w", b.Name, err)
	}
	r.Ended, r.Seen = time.Now().UTC(), time.Now().UTC()
	_, err = backup.Mark(ctx, into.Store, r, &revision)
	return err
}

// acceptCopy takes a copied folder for an original where that is wanted.
func (s *service) acceptCopy(dir string) error {
	if !s.AcceptCopy {
		return nil
	}
	if err := persistence.CheckCopied(dir); err == nil {
		return nil
	} else if !errors.Is(err, persistence.ErrCopy) {
		return err
	} else {
		s.log.Warn().Err(err).Msg("the service starts with a copied folder because of --accept-copy: what was written last can be missing, and files that records name; remove that flag")
	}
	return persistence.AcceptCopy(dir)
}

// copiedNode adds what can be done about a node's folder that was copied.
func copiedNode(data string, err error) error {
	at := quote(data)
	if !errors.Is(err, persistence.ErrCopy) {
		return err
	}
	text := "Nothing was changed. You can do one of three things:\n"
	text += "  troupe serve --reset-store --data " + at + " …\n      moves the copy aside and fetches everything from the other nodes\n"
	text += "  troupe serve --restore-from PLACE --data DIR …\n      starts an empty cluster with a backup\n"
	text += "  troupe serve --accept-copy --data " + at + " …\n      starts with the copy: changes that the cluster has acknowledged can be missing\n"
	return dataError{fmt.Errorf("join the cluster: %w", err), text}
}
