package persistence

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"

	"troupe/testkit/need"
)

// TestViewsKeepWhatTheyShow: while tables are merged, a reader sees what was there when it
// began. Afterwards nothing of that is kept.
func TestViewsKeepWhatTheyShow(t *testing.T) {
	need.NoRace(t)
	ctx := context.Background()
	b, err := OpenBadger(filepath.Join(t.TempDir(), "db"), Options{MinFree: -1})
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	put := func(key string, value []byte) {
		t.Helper()
		if _, err := b.Put(ctx, Write{Key: key, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	merge := func() { // what is in memory becomes tables, and they become one
		t.Helper()
		for i := range 3 * memTable / (256 << 10) {
			put(fmt.Sprint("filler", i%8), make([]byte, 256<<10))
		}
		if err := b.db.Flatten(1); err != nil {
			t.Fatal(err)
		}
	}
	versions := func() (n int) {
		txn := b.db.NewTransactionAt(math.MaxUint64, false)
		defer txn.Discard()
		it := txn.NewKeyIterator(keyOf("k"), badger.IteratorOptions{AllVersions: true})
		defer it.Close()
		for it.Rewind(); it.Valid(); it.Next() {
			n++
		}
		return n
	}
	put("k", []byte("first"))
	err = b.views.read(func(txn *badger.Txn) error {
		for i := range 50 {
			put("k", fmt.Append(nil, i))
		}
		merge()
		merge()
		item, err := txn.Get(keyOf("k"))
		if err != nil {
			return err
		}
		return item.Value(func(v []byte) error {
			if !bytes.Contains(v, []byte("first")) {
				t.Errorf("the reader sees %q, which was written after it began", v)
			}
			return nil
		})
	})
	if err != nil {
		t.Errorf("the reader: %v", err)
	}
	merge()
	merge()
	if n := versions(); n > 2 {
		t.Errorf("%d versions of a record are kept that nobody can see", n)
	}
}
