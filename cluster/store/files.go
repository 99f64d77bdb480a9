package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/nats-io/nuid"

	"troupe/persistence"
	"troupe/persistence/owned"
)

const (
	FileStream = "FILES"
	// A part of a file is one message, so that a large file does not hold up
	// what else goes between nodes.
	partSize     = 512 << 10
	fileSubjects = "file." // followed by the file and the part
	// FilePrefix begins the keys of descriptions in the store.
	FilePrefix = "file/"
	// abandoned is how old a file may be that has no description, before it is
	// taken for one whose node has died over it.
	abandoned = time.Hour
)

var _ = owned.Register(owned.Kind{Prefix: FilePrefix, By: owned.Nobody, Apart: "files count themselves"})

// Files keeps blobs on the nodes that keep the store. The bytes are messages in
// a stream of their own, a part each; the description is a record of the store,
// written last: without it the file is not there.
type Files struct {
	store  *Store
	stream jetstream.Stream
}

// OpenFiles opens the files of the cluster, and makes room for them if there is
// none. They end with the store.
func OpenFiles(ctx context.Context, s *Store) (*Files, error) {
	if s.attached {
		stream, err := findStream(ctx, s.member, s.js, FileStream)
		if err != nil {
			return nil, fmt.Errorf("open the files of the cluster: %w", err)
		}
		return &Files{s, stream}, nil
	}
	stream, err := openStream(ctx, s.member, s.js, jetstream.StreamConfig{
		Name: FileStream, Subjects: []string{fileSubjects + "*.*"},
		Storage: jetstream.FileStorage, Replicas: s.member.Replicas(),
		MaxMsgsPerSubject: 1, Duplicates: repeats,
		AllowDirect: true, // parts never change, so any node that has one may give it
	})
	if err != nil {
		return nil, fmt.Errorf("open the files of the cluster: %w", err)
	}
	s.groups.add(FileStream, stream)
	return &Files{s, stream}, nil
}

func PartSubject(name string, part int64) string {
	return fileSubjects + name + "." + strconv.FormatInt(part, 10)
}

// nameOf gives the part of an identifier that is one token of a subject.
func nameOf(id string) string {
	name, _, _ := strings.Cut(id, ".")
	return name
}

// Put implements [persistence.Files].
func (f *Files) Put(ctx context.Context, b persistence.Blob, r io.Reader) (persistence.Blob, error) {
	if err := f.store.enter(ctx); err != nil {
		return persistence.Blob{}, err
	}
	b.ID, b.Created, b.Size = persistence.NewFileID(b.ContentType), time.Now().UTC(), 0
	err := f.putParts(ctx, &b, r)
	if err == nil {
		err = f.describe(ctx, b)
	}
	if err == nil {
		return b, nil
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), tryTimeout)
	defer cancel()
	return persistence.Blob{}, errors.Join(fmt.Errorf("keep a file: %w", err), f.remove(ending, b.ID))
}

func (f *Files) putParts(ctx context.Context, b *persistence.Blob, r io.Reader) error {
	part := make([]byte, partSize)
	for i := int64(0); ; i++ {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, err := io.ReadFull(r, part)
		if n > 0 {
			m := nats.NewMsg(PartSubject(nameOf(b.ID), i))
			m.Header.Set(jetstream.MsgIDHeader, nuid.Next())
			m.Data = part[:n]
			if _, err := f.store.send(ctx, m); err != nil {
				return err
			}
			b.Size += int64(n)
		}
		switch {
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			return nil
		case err != nil:
			return err
		}
	}
}

// describe writes the description, which makes the file exist. Its record stays
// when the file has expired, for Sweep to find the bytes by.
func (f *Files) describe(ctx context.Context, b persistence.Blob) error {
	text, err := json.Marshal(b)
	if err != nil {
		return err
	}
	_, err = f.store.Put(ctx, persistence.Write{Key: FilePrefix + b.ID, Value: text, Durable: b.Durable})
	return err
}

// Open implements [persistence.Files].
func (f *Files) Open(ctx context.Context, id string) (persistence.Blob, io.ReadSeekCloser, error) {
	if err := f.store.enter(ctx); err != nil {
		return persistence.Blob{}, nil, err
	}
	if !persistence.IsFileID(id) {
		return persistence.Blob{}, nil, persistence.ErrNotFound
	}
	r, err := f.store.Get(ctx, FilePrefix+id)
	if err != nil {
		return persistence.Blob{}, nil, err
	}
	b, err := description(r)
	if err != nil {
		return persistence.Blob{}, nil, err
	}
	if gone(b, time.Now()) {
		return persistence.Blob{}, nil, persistence.ErrNotFound
	}
	return b, &openFile{files: f, ctx: ctx, name: nameOf(id), size: b.Size, part: -1}, nil
}

func description(r persistence.Record) (persistence.Blob, error) {
	var b persistence.Blob
	if err := json.Unmarshal(r.Value, &b); err != nil {
		return b, fmt.Errorf("read the description of a file: %w", err)
	}
	return b, nil
}

func gone(b persistence.Blob, now time.Time) bool {
	return !b.Expires.IsZero() && !now.Before(b.Expires)
}

// Delete implements [persistence.Files].
func (f *Files) Delete(ctx context.Context, id string) error {
	if err := f.store.enter(ctx); err != nil {
		return err
	}
	if !persistence.IsFileID(id) {
		return nil
	}
	if _, err := f.store.Get(ctx, FilePrefix+id); errors.Is(err, persistence.ErrNotFound) {
		return nil // and what has another extension is another file
	} else if err != nil {
		return err
	}
	if err := f.remove(ctx, id); err != nil {
		return fmt.Errorf("delete a file: %w", err)
	}
	return nil
}

// remove removes the description first, so that a file never has half its parts
// for readers.
func (f *Files) remove(ctx context.Context, id string) error {
	if err := f.store.Delete(ctx, FilePrefix+id, nil, false); err != nil {
		return err
	}
	return f.store.untilAnswered(ctx, func(try context.Context) error {
		return f.stream.Purge(try, jetstream.WithPurgeSubject(fileSubjects+nameOf(id)+".*"))
	})
}

// Sweep implements [persistence.Files].
func (f *Files) Sweep(ctx context.Context, now time.Time) (int, error) {
	all, err := f.store.List(ctx, FilePrefix)
	if err != nil {
		return 0, fmt.Errorf("sweep files: %w", err)
	}
	removed := 0
	described := map[string]bool{}
	var failed error
	for _, r := range all {
		b, err := description(r)
		described[nameOf(strings.TrimPrefix(r.Key, FilePrefix))] = true
		if err == nil && gone(b, now) {
			if err = f.remove(ctx, b.ID); err == nil {
				removed++
			}
		}
		if err != nil && failed == nil {
			failed = err
		}
		if ctx.Err() != nil {
			return removed, context.Cause(ctx)
		}
	}
	halves, err := f.halves(ctx, described, now)
	for _, name := range halves {
		if err == nil {
			err = f.remove(ctx, name)
		}
		if err == nil {
			removed++
		}
	}
	if err = errors.Join(failed, err); err != nil {
		err = fmt.Errorf("sweep files: %w", err)
	}
	return removed, err
}

// All implements [persistence.Lister].
func (f *Files) All(ctx context.Context) iter.Seq2[persistence.Blob, error] {
	return func(yield func(persistence.Blob, error) bool) {
		all, err := f.store.List(ctx, FilePrefix)
		if err != nil {
			yield(persistence.Blob{}, fmt.Errorf("list files: %w", err))
			return
		}
		for _, r := range all {
			if b, err := description(r); !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// halves finds files without a description that nobody can be writing any more.
func (f *Files) halves(ctx context.Context, described map[string]bool, now time.Time) ([]string, error) {
	var info *jetstream.StreamInfo
	err := f.store.untilAnswered(ctx, func(try context.Context) (err error) {
		info, err = f.stream.Info(try, jetstream.WithSubjectFilter(fileSubjects+"*.0"))
		return err
	})
	if err != nil {
		return nil, err
	}
	var names []string
	for subject := range info.State.Subjects {
		name := strings.TrimSuffix(strings.TrimPrefix(subject, fileSubjects), ".0")
		if described[name] {
			continue
		}
		var msg *jetstream.RawStreamMsg
		err := f.store.untilAnswered(ctx, func(try context.Context) (err error) {
			if msg, err = f.stream.GetLastMsgForSubject(try, subject); errors.Is(err, jetstream.ErrMsgNotFound) {
				err = nil // an answer: it is gone
			}
			return err
		})
		if err == nil && msg == nil {
			continue
		}
		if err != nil {
			return names, err
		}
		if now.Sub(msg.Time) > abandoned {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

var _ interface {
	persistence.Files
	persistence.Lister
} = (*Files)(nil)
