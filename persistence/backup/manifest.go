package backup

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/persistence"
)

// format is that of backups, as this program writes them.
const format = 1

// Manifest says what a backup is. It is written when all else was read back.
type Manifest struct {
	Format  int    `json:"format"`
	Name    string `json:"name"`
	Store   string `json:"store"`          // whose backup it is
	Base    string `json:"base,omitempty"` // the backup that has the values that did not change; empty: a full one
	Depth   int    `json:"depth"`          // how many backups it needs
	Cluster bool   `json:"cluster"`
	Node    string `json:"node,omitempty"`
	Version string `json:"version"`

	Began    time.Time `json:"began"`
	Snapshot time.Time `json:"snapshot"` // the records are of this moment
	Ended    time.Time `json:"ended"`

	Revision   uint64           `json:"revision"` // the highest of the store then
	Records    map[string]int64 `json:"records"`  // by their kind
	Changed    int64            `json:"changed"`  // those whose values are in this backup
	RecordSize int64            `json:"recordSize"`
	RecordSum  string           `json:"recordSum"` // SHA-256

	Files     int64  `json:"files"`
	FileBytes int64  `json:"fileBytes"`
	NewFiles  int64  `json:"newFiles"` // those that no earlier backup has
	NewBytes  int64  `json:"newBytes"`
	Missing   int64  `json:"missing,omitempty"` // records that name a file which is not there
	ListSize  int64  `json:"listSize"`
	ListSum   string `json:"listSum"`

	// Key is a text that only the key opens which opens what is sealed in the backup.
	Key []byte `json:"key,omitempty"`
}

// Total is the number of all records.
func (m *Manifest) Total() (n int64) {
	for _, some := range m.Records {
		n += some
	}
	return n
}

func (m *Manifest) at(name string) string { return path.Join(m.Store, m.Name, name) }

const (
	manifestName = "manifest.json"
	recordsName  = "records"
	listName     = "files"
	maxManifest  = 1 << 20
)

// purpose is what the text of a manifest is sealed for: a mark of the key, like the one in
// the store.
func purpose(name string) string { return "seal/backup/" + name }

const sealedText = "troupe"

// Opens reports whether a key opens what is sealed in the backup.
func (m *Manifest) Opens(seal *persistence.Seal) bool {
	if len(m.Key) == 0 {
		return true
	}
	if seal == nil {
		return false
	}
	plain, err := seal.Open(purpose(m.Name), m.Key)
	return err == nil && string(plain) == sealedText
}

// backupName is a number and a time. The time is for people.
var backupName = regexp.MustCompile(`^(\d{6,})-\d{8}T\d{6}Z$`)

func nameOf(number int, at time.Time) string {
	return fmt.Sprintf("%06d-%s", number, at.UTC().Format("20060102T150405Z"))
}

func numberOf(name string) int {
	m := backupName.FindStringSubmatch(name)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// Errors of looking for a backup.
var (
	// ErrNone: there is no backup.
	ErrNone = errors.New("there is no complete backup")
	// ErrSeveral: there are backups of several stores, and nobody said which is meant.
	ErrSeveral = errors.New("there are backups of several stores: name the backup")
	// ErrNewer: a newer version has written the backup.
	ErrNewer = errors.New("the backup was written by a newer version")
)

// Listed are the backups of a place.
type Listed struct {
	Stores map[string][]*Manifest // by their stores, the oldest first
	Broken map[string]error       // manifests that cannot be read, by "store/backup"
	things map[string]int64
}

// List lists the complete backups of a place, or those of one store.
func List(ctx context.Context, at Place, store string) (*Listed, error) {
	if store != "" {
		store += "/"
	}
	things, err := at.List(ctx, store)
	if err != nil {
		return nil, err
	}
	l := &Listed{Stores: map[string][]*Manifest{}, Broken: map[string]error{}, things: things}
	for thing := range things {
		parts := strings.Split(thing, "/")
		if len(parts) != 3 || parts[2] != manifestName || numberOf(parts[1]) == 0 {
			continue
		}
		m, err := readManifest(ctx, at, parts[0], parts[1])
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case errors.Is(err, fs.ErrNotExist): // it was just removed
		case err != nil:
			l.Broken[parts[0]+"/"+parts[1]] = err
		default:
			l.Stores[m.Store] = append(l.Stores[m.Store], m)
		}
	}
	for _, list := range l.Stores {
		slices.SortFunc(list, func(a, b *Manifest) int { return cmp.Compare(numberOf(a.Name), numberOf(b.Name)) })
	}
	return l, nil
}

// last is the highest number of a backup of a store, complete or not.
func (l *Listed) last(store string) (n int) {
	for thing := range l.things {
		if parts := strings.Split(thing, "/"); len(parts) > 1 && parts[0] == store {
			n = max(n, numberOf(parts[1]))
		}
	}
	return n
}

// find finds a backup by its name; empty: the newest one.
func (l *Listed) find(name string) (*Manifest, error) {
	var found []*Manifest
	for _, list := range l.Stores {
		for i, m := range list {
			if m.Name == name || m.Store+"/"+m.Name == name || name == "" && i == len(list)-1 {
				found = append(found, m)
			}
		}
	}
	for at, err := range l.Broken {
		if name == "" || at == name || strings.HasSuffix(at, "/"+name) {
			return nil, err
		}
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) == 0 && name == "":
		return nil, ErrNone
	case len(found) == 0:
		return nil, fmt.Errorf("%w of the name %s", ErrNone, name)
	}
	var names []string
	for _, m := range found {
		names = append(names, fmt.Sprintf("%s/%s", m.Store, m.Name))
	}
	slices.Sort(names)
	return nil, fmt.Errorf("%w: %s", ErrSeveral, strings.Join(names, ", "))
}

func readManifest(ctx context.Context, at Place, store, name string) (*Manifest, error) {
	fail := func(err error) (*Manifest, error) {
		return nil, fmt.Errorf("read the manifest of the backup %s: %w", name, err)
	}
	r, err := at.Open(ctx, path.Join(store, name, manifestName))
	if err != nil {
		return fail(err)
	}
	defer r.Close()
	text, err := io.ReadAll(io.LimitReader(r, maxManifest))
	if err != nil {
		return fail(err)
	}
	var m Manifest
	if err := json.Unmarshal(text, &m); err != nil {
		return fail(fmt.Errorf("%w: %w", ErrBroken, err))
	}
	if m.Format > format {
		return fail(ErrNewer)
	}
	if m.Name != name || m.Store != store || m.Depth < 1 || (m.Base == "") != (m.Depth == 1) {
		return fail(fmt.Errorf("%w: it is not that of this backup", ErrBroken))
	}
	return &m, nil
}

func writeManifest(ctx context.Context, at Place, m *Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return at.Put(ctx, m.at(manifestName), bytes.NewReader(text))
}
