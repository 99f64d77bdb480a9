package persistence

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/options"
	"github.com/rs/zerolog"
)

// TestTablesOfBothKinds: without the list of tables, compressed tables of earlier releases
// and those of today are read alike.
func TestTablesOfBothKinds(t *testing.T) {
	for name, how := range map[string]options.CompressionType{"compressed": options.Snappy, "not compressed": options.None} {
		dir := t.TempDir()
		db, err := badger.Open(badgerOptions(dir, zerolog.Nop()).WithCompression(how).WithBlockCacheSize(1 << 20))
		if err != nil {
			t.Fatal(err)
		}
		const entries = 500
		if err := db.Update(func(txn *badger.Txn) error {
			for i := range entries {
				if err := txn.Set(fmt.Appendf(nil, "key/%d", i), fmt.Appendf(nil, "the value of key %d, and again the value of key %d", i, i)); err != nil {
					return err
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		found := map[string]string{}
		tables, _ := filepath.Glob(filepath.Join(dir, "*.sst"))
		for _, table := range tables {
			r := readTable(table, []bool{false, true}, func(v version) { found[v.key] = string(v.value) })
			if r.damage != nil {
				t.Errorf("%s: %v", name, r.damage)
			}
		}
		if len(found) < entries || found["key/7"] != "the value of key 7, and again the value of key 7" {
			t.Errorf("%s: %d entries, and key 7 is %q", name, len(found), found["key/7"])
		}
	}
}
