package persistence

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/dgraph-io/badger/v4"
	"github.com/rs/zerolog"
)

// Options are the settings of [OpenBadger]. The zero value is good.
type Options struct {
	// Log receives the database's own messages. Zero: they are dropped.
	Log zerolog.Logger
	// SyncEvery is how long a write that is not durable may stay unsynced.
	// Zero: one second.
	SyncEvery time.Duration
	// MinFree is how many bytes must be free on the disk: with fewer, writes
	// give [ErrFull], until there are a quarter more. Deletions go on for as
	// long as they need no new file. Zero: [LeastFree]; negative: no bound.
	MinFree int64
}

// Errors of a store whose disk takes nothing: what would be written is refused,
// what is there can be read, and it passes when the reason does.
var (
	// ErrFull: the disk has too little space left.
	ErrFull = errors.New("the disk is nearly full")
	// ErrUnwritable: nothing new can be made in the store's folder.
	ErrUnwritable = errors.New("the store's folder cannot be written to")
	// ErrFailed says that the disk has failed to store a write. Its content is
	// unknown, so nothing is written until the store is opened again.
	ErrFailed = fmt.Errorf("the disk has failed to keep what was written to it: %w", ErrUnwritable)
)

// Badger is the embedded [Store]. One goroutine decides and commits all
// changes, as many at once as are waiting; another one syncs, so that a change
// that need not be durable never waits for the disk.
type Badger struct {
	db    *badger.DB
	dir   string
	lock  *os.File
	log   zerolog.Logger
	state *stateFile // nil while it is frozen
	hub   Hub
	views views

	mu          sync.RWMutex // held for reading while db or a channel is used
	closed      bool
	snapshots   sync.WaitGroup
	requests    chan *request
	unsynced    chan *request         // committed, and to be answered when synced
	wrote       chan struct{}         // the writer has ended
	synced      chan struct{}         // the syncer has ended
	dirty       atomic.Bool           // something was committed since the last sync
	blocked     atomic.Pointer[error] // why nothing is written now; nil: it is
	failed      atomic.Pointer[error] // why nothing is written any more; nil: it is
	frozen      atomic.Bool           // the disk has no room to open it: it is only read
	minFree     int64
	rest        rest
	pads        chan chan struct{} // asks the writer to fill the log in use, and is told when it has
	packing     sync.WaitGroup     // the tables are being put together; the syncer begins it, one at a time
	reserveSize int64              // how large the reserve beside the store is to be
	flushing    sync.Mutex
	newest      atomic.Int64 // number of the log that has what was committed last
	flushed     int          // up to this number, logs are on the disk, but for what was added to the last one
	flushLog    *os.File     // that one; nil: it is not known which logs are on the disk

	// The writer owns the following fields.
	version  uint64 // of the last transaction
	revision uint64 // the last one that was given
	reserved uint64 // the last one that may be given before more are reserved
	due      schedule
	journal  journal
	records  map[string]int64 // how many there were at the opening, by their kind
}

// OpenBadger opens the store in a folder and creates the folder if there is
// none. Only one process can have it open: others get [ErrInUse]. A store that
// is damaged is an [ErrDamaged], one of a newer version an [ErrNewer]: it is left
// as it is. Where the disk has no room to open a store that is there, the store is read
// only until there is: see [Badger.Blocked].
func OpenBadger(dir string, o Options) (*Badger, error) {
	if o.SyncEvery <= 0 {
		o.SyncEvery = time.Second
	}
	least, reserve := setAside(dir)
	if o.MinFree == 0 {
		o.MinFree = least
	}
	lock, err := lockFolder(dir)
	if err != nil {
		return nil, err
	}
	b := &Badger{
		dir: dir, lock: lock, log: o.Log,
		requests:    make(chan *request, 4*groupSize),
		unsynced:    make(chan *request, 4*groupSize),
		pads:        make(chan chan struct{}),
		wrote:       make(chan struct{}),
		synced:      make(chan struct{}),
		minFree:     o.MinFree,
		reserveSize: reserve,
	}
	if b.db, err = open(dir, o.Log); NoRoom(err) {
		err = b.freeze(err)
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	if err := b.begins(); err != nil {
		b.views.close()
		b.db.Close()
		lock.Close()
		return nil, fmt.Errorf("load the store in %s: %w", dir, err)
	}
	b.checkDisk()
	go b.write()
	go b.syncAll(o)
	return b, nil
}

// begins prepares a store that was just opened.
func (b *Badger) begins() (err error) {
	if b.records, err = b.load(); err != nil {
		return err
	}
	b.version = b.db.MaxVersion()
	if b.frozen.Load() {
		b.views.renew(b.db, b.version)
		return nil
	}
	return b.settle()
}

// settle prepares what writing needs.
func (b *Badger) settle() (err error) {
	b.journal = journal{dir: b.dir}
	if _, b.journal.active, err = logs(b.dir); err != nil {
		return fmt.Errorf("find its log: %w", err)
	}
	b.newest.Store(int64(b.journal.active))
	b.views.renew(b.db, b.version)
	b.state, err = openState(b.dir, state{Format: format, Since: b.version, Boot: bootID(), Version: b.version, Bound: b.reserved, Records: b.records})
	if err != nil {
		return err
	}
	_ = os.RemoveAll(b.dir + ".repaired") // of a repair that was given up: this one is whole
	b.dirty.Store(true)                   // what a killed process has left may be on no disk yet
	if _, err := b.lock.WriteAt([]byte(knownText), 0); err != nil {
		err = errors.Join(err, b.state.close())
		b.state = nil
		return err
	}
	b.records = nil
	return nil
}

// Blocked says why writes are refused now: an [ErrFull], an [ErrUnwritable] or an
// [ErrFailed], or nil while they are not.
func (b *Badger) Blocked() error {
	if err := b.failed.Load(); err != nil {
		return *err
	}
	if err := b.blocked.Load(); err != nil {
		return *err
	}
	return nil
}

// Get implements [Store].
func (b *Badger) Get(ctx context.Context, key string) (Record, error) {
	var r Record
	err := b.read(ctx, func(txn *badger.Txn) error {
		item, err := txn.Get(keyOf(key))
		if err != nil {
			return err
		}
		r, err = recordOf(item, time.Now())
		return err
	})
	if errors.Is(err, badger.ErrKeyNotFound) {
		err = ErrNotFound
	}
	return r, err
}

// List implements [Store].
func (b *Badger) List(ctx context.Context, prefix string) ([]Record, error) {
	var list []Record
	err := b.read(ctx, func(txn *badger.Txn) error {
		now := time.Now()
		o := badger.DefaultIteratorOptions
		o.Prefix = keyOf(prefix)
		it := txn.NewIterator(o)
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			r, err := recordOf(it.Item(), now)
			if errors.Is(err, ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			list = append(list, r)
		}
		return nil
	})
	return list, err
}

// Keys implements [Store].
func (b *Badger) Keys(ctx context.Context, prefix, after string, most int) ([]KeySize, error) {
	var list []KeySize
	err := b.read(ctx, func(txn *badger.Txn) error {
		now := time.Now()
		o := badger.DefaultIteratorOptions
		o.PrefetchValues = false
		o.Prefix = keyOf(prefix)
		it := txn.NewIterator(o)
		defer it.Close()
		if after > prefix {
			it.Seek(append(keyOf(after), 0))
		} else {
			it.Rewind()
		}
		for ; it.Valid() && len(list) < most; it.Next() {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			item := it.Item()
			key := string(item.Key()[len(recordPrefix):])
			if key <= after && after != "" {
				continue
			}
			size := int(item.ValueSize())
			if item.ExpiresAt() == 0 && size >= headerSize { // its value need not be read
				list = append(list, KeySize{Key: key, Size: size - headerSize})
				continue
			}
			r, err := recordOf(item, now)
			switch {
			case err == nil:
				list = append(list, KeySize{key, len(r.Value), r.Expires})
			case !errors.Is(err, ErrNotFound):
				return err
			}
		}
		return nil
	})
	return list, err
}

// Watch implements [Store].
func (b *Badger) Watch(ctx context.Context, prefix string) (<-chan Event, error) {
	return b.hub.Watch(ctx, prefix)
}

// Put implements [Store].
func (b *Badger) Put(ctx context.Context, w Write) (uint64, error) {
	c, err := putting(w)
	if err != nil {
		return 0, err
	}
	a := b.do(ctx, c)
	return a.revision, a.err
}

// Delete implements [Store].
func (b *Badger) Delete(ctx context.Context, key string, revision *uint64, durable bool) error {
	return b.do(ctx, removing(key, revision, durable)).err
}

// Add implements [Store].
func (b *Badger) Add(ctx context.Context, key string, delta, limit int64, expires time.Time) (int64, bool, error) {
	c, err := adding(key, delta, limit, expires)
	if err != nil {
		return 0, false, err
	}
	a := b.do(ctx, c)
	return a.total, a.ok, a.err
}

// Sync implements [Store].
func (b *Badger) Sync(ctx context.Context) error {
	return b.submit(ctx, b.unsynced, &request{ctx: ctx, done: make(chan answer, 1)}).err
}

// read runs a function on what is committed.
func (b *Badger) read(ctx context.Context, f func(*badger.Txn) error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b.mu.RLock()
	defer b.mu.RUnlock()
	if b.closed {
		return ErrClosed
	}
	return b.views.read(f)
}

// Keys of records are apart from the store's own.
const (
	recordPrefix = "k/"
	ownPrefix    = "m/"
	lastKey      = "m/last"     // is written with each transaction: so the newest version is never dropped
	boundKey     = "m/revision" // the highest revision that may have been given
)

func keyOf(key string) []byte { return append([]byte(recordPrefix), key...) }

// A stored value is a header and the record's value: version, revision, stamp.
const headerSize = 1 + 8 + 8

func encode(value []byte, revision uint64, expires int64) []byte {
	b := make([]byte, headerSize, headerSize+len(value))
	b[0] = 1
	binary.BigEndian.PutUint64(b[1:], revision)
	binary.BigEndian.PutUint64(b[9:], uint64(expires))
	return append(b, value...)
}

func decode(b []byte) (current, error) {
	if len(b) < headerSize || b[0] != 1 {
		return current{}, errors.New("the record has a header that this version does not know")
	}
	return current{
		revision: binary.BigEndian.Uint64(b[1:]),
		expires:  int64(binary.BigEndian.Uint64(b[9:])),
		value:    b[headerSize:],
	}, nil
}

// recordOf reads an item, or gives ErrNotFound when it has expired.
func recordOf(item *badger.Item, now time.Time) (Record, error) {
	raw, err := item.ValueCopy(nil)
	if err != nil {
		return Record{}, err
	}
	key := string(item.Key()[len(recordPrefix):])
	cur, err := decode(raw)
	if err != nil {
		return Record{}, fmt.Errorf("read %q: %w", key, err)
	}
	if expired(cur.expires, now) {
		return Record{}, ErrNotFound
	}
	return Record{Key: key, Value: cur.value, Revision: cur.revision, Expires: unstamp(cur.expires)}, nil
}
