package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"troupe/persistence"
	"troupe/persistence/clock"
)

// Source is what a backup is made of. All of it may be in use.
type Source struct {
	Store interface {
		persistence.Store
		persistence.Snapshotter
	}
	Files interface {
		persistence.Files
		persistence.Lister
	}
	Uploads string            // folder with the files of queued tasks; empty: they are among Files
	Seal    *persistence.Seal // opens what is sealed
	// Identity is such that a copy of the store has another one, if that can be known: an
	// incremental backup must not follow those of the other.
	Identity string
	Cluster  bool
	Node     string
	Version  string
	Clock    *clock.Clock // nil: the machine's
	Log      zerolog.Logger
}

// deepest is how many backups one may need: the next one is a full one.
const deepest = 7

// file is a line of the list of files.
type file struct {
	persistence.Blob
	Upload string `json:"upload,omitempty"` // its path below the folder of uploads; empty: it is one of Files
	Sum    string `json:"sum"`              // SHA-256
}

// name is what the file is called in the list, and at the place.
func (f *file) name() string {
	if f.Upload != "" {
		return f.Sum
	}
	return f.ID
}

func filePath(store, name string) string { return path.Join(store, "files", name[:2], name) }

// making is a backup that is being made.
type making struct {
	*Source
	to    Place
	m     *Manifest
	base  *Manifest
	chain []*Manifest // base and those that it needs
	there map[string]int64
	old   map[string]file // of the base, by their names
	files map[string]file // by their keys
	wrote map[string]bool // names of files
}

// Make makes a backup and reads it back. With full it needs no other one. Before it becomes
// one, still is asked whether this process may go on.
func Make(ctx context.Context, s *Source, to Place, full bool, still func(context.Context) error) (*Manifest, error) {
	b, err := begin(ctx, s, to, full)
	if err != nil {
		return nil, err
	}
	if err := b.make(ctx); err != nil {
		return nil, errors.Join(err, b.discard(ctx))
	}
	err = b.verify(ctx)
	if err != nil {
		err = fmt.Errorf("read the backup back: %w", err)
	}
	if err == nil && still != nil {
		err = still(ctx)
	}
	if err == nil {
		b.m.Ended = b.Clock.Now().UTC()
		err = writeManifest(ctx, to, b.m)
	}
	if err == nil {
		var again *Manifest
		if again, err = readManifest(ctx, to, b.m.Store, b.m.Name); err == nil && again.RecordSum != b.m.RecordSum {
			err = fmt.Errorf("%w: its manifest is another one", ErrBroken)
		}
	}
	if err != nil {
		return nil, errors.Join(err, b.discard(ctx))
	}
	return b.m, nil
}

func begin(ctx context.Context, s *Source, to Place, full bool) (*making, error) {
	own, err := ownStore(ctx, s.Store)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256([]byte(own + "\n" + s.Identity))
	store := hex.EncodeToString(sum[:8])
	listed, err := List(ctx, to, store)
	if err != nil {
		return nil, err
	}
	for at, err := range listed.Broken {
		s.Log.Error().Err(err).Str("backup", at).Msg("a backup is damaged")
	}
	now := s.Clock.Now().UTC()
	b := &making{Source: s, to: to, there: listed.things, old: map[string]file{}, files: map[string]file{}, wrote: map[string]bool{}}
	b.m = &Manifest{Format: format, Name: nameOf(listed.last(store)+1, now), Store: store, Depth: 1, Cluster: s.Cluster, Node: s.Node, Version: s.Version, Began: now}
	if list := listed.Stores[store]; len(list) > 0 {
		newest := list[len(list)-1]
		if old, err := readList(ctx, to, newest); err == nil {
			for _, f := range old {
				b.old[f.key()] = f
			}
		} else {
			s.Log.Error().Err(err).Str("backup", newest.Name).Msg("a backup is damaged")
			full = true
		}
		if chain, err := chainOf(list, newest); err == nil && !full && len(chain) < deepest {
			b.base, b.chain = newest, chain
			b.m.Base, b.m.Depth = newest.Name, len(chain)+1
		}
	}
	if s.Seal != nil {
		if b.m.Key, err = s.Seal.Close(purpose(b.m.Name), []byte(sealedText)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// chainOf gives a backup and those that it needs, the full one first.
func chainOf(list []*Manifest, m *Manifest) ([]*Manifest, error) {
	chain := []*Manifest{m}
	for m.Base != "" {
		i := slices.IndexFunc(list, func(o *Manifest) bool { return o.Name == m.Base })
		if i < 0 || list[i].Depth != m.Depth-1 {
			return nil, fmt.Errorf("%w: it needs the backup %s, which is not there", ErrBroken, m.Base)
		}
		m = list[i]
		chain = append(chain, m)
	}
	slices.Reverse(chain)
	return chain, nil
}

// make writes everything but the manifest. Most files are copied before the records are
// read, so that few can be removed between the two.
func (b *making) make(ctx context.Context) error {
	if err := b.copyFiles(ctx); err != nil {
		return err
	}
	b.m.Snapshot = b.Clock.Now().UTC()
	snapshot, err := b.Store.Snapshot(ctx)
	if err != nil {
		return err
	}
	defer snapshot.Close()
	b.m.Revision = snapshot.Revision()
	if err := b.copyFiles(ctx); err != nil {
		return err
	}
	changed, err := b.dangling(ctx, snapshot)
	if err != nil {
		return err
	}
	if err := b.records(ctx, snapshot, changed); err != nil {
		return err
	}
	return b.list(ctx)
}

// ours reports whether a record is one of backups themselves, which no backup has.
func ours(key string) bool { return strings.HasPrefix(key, prefix) }

// dangling finds records whose files were removed before they could be copied, and gives
// what became of them: such a record was replaced or deleted just then. A nil record was
// deleted.
func (b *making) dangling(ctx context.Context, s persistence.Snapshot) (map[string]*persistence.Record, error) {
	changed := map[string]*persistence.Record{}
	err := s.Each(ctx, func(r persistence.Record) error {
		if id := persistence.FileOf(r.Value); id != "" && b.files[id].ID == "" {
			changed[r.Key] = nil
		}
		return nil
	})
	for key := range changed {
		if err != nil {
			break
		}
		for lost := uint64(0); ; {
			var r persistence.Record
			if r, err = b.Store.Get(ctx, key); errors.Is(err, persistence.ErrNotFound) {
				changed[key], err = nil, nil
				break
			}
			if err != nil {
				break
			}
			changed[key] = &r
			id := persistence.FileOf(r.Value)
			if id == "" || b.files[id].ID != "" {
				break
			}
			blob, f, no := b.Files.Open(ctx, id)
			if errors.Is(no, persistence.ErrNotFound) {
				if lost == r.Revision { // nobody has changed it: its file is lost, here too
					b.m.Missing++
					break
				}
				lost = r.Revision
				continue
			}
			if err = no; err != nil {
				break
			}
			err = errors.Join(b.copyFile(ctx, file{Blob: blob}, f), f.Close())
			break
		}
	}
	return changed, err
}

// records writes the records.
func (b *making) records(ctx context.Context, s persistence.Snapshot, changed map[string]*persistence.Record) error {
	since := uint64(0)
	if b.base != nil {
		since = b.base.Revision
	}
	b.m.Records = map[string]int64{}
	return b.piped(ctx, recordsName, func(out io.Writer) (err error) {
		w := newRecordWriter(out)
		err = s.Each(ctx, func(r persistence.Record) error {
			if ours(r.Key) {
				return nil
			}
			if now, has := changed[r.Key]; has {
				if now == nil {
					return nil
				}
				r = *now
			}
			value := r.Revision > since
			if value {
				b.m.Changed++
			}
			b.m.Records[persistence.KindOf(r.Key)]++
			return w.add(r, value)
		})
		if err == nil {
			b.m.RecordSum, b.m.RecordSize, err = w.end()
		}
		return err
	})
}

// piped writes a thing while another function makes it.
func (b *making) piped(ctx context.Context, name string, write func(io.Writer) error) error {
	r, w := io.Pipe()
	made := make(chan error, 1)
	go func() {
		err := write(w)
		w.CloseWithError(err)
		made <- err
	}()
	put := b.to.Put(ctx, b.m.at(name), r)
	r.CloseWithError(errors.Join(put, io.ErrClosedPipe))
	if err := <-made; err != nil && !errors.Is(err, io.ErrClosedPipe) {
		return errors.Join(err, put)
	}
	return put
}

// list writes the list of files.
func (b *making) list(ctx context.Context) error {
	var text bytes.Buffer
	out := json.NewEncoder(&text)
	for _, key := range slices.Sorted(maps.Keys(b.files)) {
		f := b.files[key]
		if err := out.Encode(f); err != nil {
			return err
		}
		b.m.Files++
		b.m.FileBytes += f.Size
	}
	sum := sha256.Sum256(text.Bytes())
	b.m.ListSum, b.m.ListSize = hex.EncodeToString(sum[:]), int64(text.Len())
	return b.to.Put(ctx, b.m.at(listName), &text)
}

// discard removes what was written of a backup that came to nothing. Files stay: the next
// one may need them, and a retention removes them otherwise.
func (b *making) discard(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	var err error
	for _, name := range []string{manifestName, recordsName, listName} {
		err = errors.Join(err, b.to.Remove(ctx, b.m.at(name)))
	}
	return err
}
