package persistence

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"strconv"

	"github.com/dgraph-io/badger/v4"
	"github.com/dgraph-io/badger/v4/fb"
	"github.com/dgraph-io/badger/v4/pb"
	"github.com/dgraph-io/badger/v4/table"
	"github.com/dgraph-io/badger/v4/y"
	"github.com/klauspost/compress/s2"
	"google.golang.org/protobuf/proto"
)

// This file reads Badger's files without Badger, which changes what it opens and ends at
// the first fault. It serves to judge a store before it is opened, and to read what is
// left of a damaged one.

// version is one version of a key, as a file has it.
type version struct {
	key     string
	at      uint64 // Badger's version: each transaction has the next one
	deleted bool
	expires uint64 // seconds since the epoch, 0: never
	value   []byte
}

// Bits of an entry's meta, as Badger has them.
const (
	metaDelete = 1 << 0
	metaFin    = 1 << 7
	metaKnown  = 1<<0 | 1<<2 | 1<<6 | 1<<7 // what our entries can have
)

var (
	txnEnd     = []byte("!badger!txn")
	castagnoli = crc32.MakeTable(crc32.Castagnoli)
)

// sound runs a function on data that may be damaged: what it panics with is an
// error of the data.
func sound(f func() error) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("it makes no sense: %.200v", r)
		}
	}()
	return f()
}

// rawTable is what could be read of a table.
type rawTable struct {
	name   string
	newest uint64 // the newest version that was ever in it
	all    int    // entries that it had; -1: not known
	read   int
	bloom  []byte
	lost   [][2]string // ranges of keys that cannot be read, from and to; "": no end
	damage error       // the first fault
}

// has reports whether the part of a table that cannot be read may have a key.
func (t *rawTable) has(key string) bool {
	if len(t.bloom) > 0 && !y.Filter(t.bloom).MayContain(y.Hash([]byte(key))) {
		return false
	}
	for _, r := range t.lost {
		if key >= r[0] && (r[1] == "" || key <= r[1]) {
			return true
		}
	}
	return false
}

// readTable reads all blocks of a table, and hands over what is in those that are
// whole. They may be compressed or not: the list of tables knows, if it is there, and
// else the checksum of each block.
func readTable(name string, compressed []bool, each func(version)) *rawTable {
	t := &rawTable{name: name, all: -1}
	fault := func(err error) {
		if t.damage == nil {
			t.damage = err
		}
	}
	data, err := os.ReadFile(name)
	if err != nil {
		fault(err)
		t.lost = [][2]string{{"", ""}}
		return t
	}
	err = sound(func() error {
		index, err := indexOf(data)
		if err != nil {
			return err
		}
		t.newest, t.all, t.bloom = index.MaxVersion(), int(index.KeyCount()), bytes.Clone(index.BloomFilterBytes())
		var at fb.BlockOffset
		for i := range index.OffsetsLength() {
			if !index.Offsets(&at, i) {
				return errors.New("its index is cut off")
			}
			from := string(y.ParseKey(at.KeyBytes()))
			n := 0
			var found []version
			err := sound(func() error {
				end := uint64(at.Offset()) + uint64(at.Len())
				if end > uint64(len(data)) {
					return errors.New("a block is cut off")
				}
				block, err := eitherBlock(data[at.Offset():end], compressed)
				if err != nil {
					return err
				}
				return entriesOf(block, func(v version) { n++; found = append(found, v) })
			})
			if err != nil {
				fault(fmt.Errorf("block %d: %w", i, err))
				to := ""
				if i+1 < index.OffsetsLength() && index.Offsets(&at, i+1) {
					to = string(y.ParseKey(at.KeyBytes()))
				}
				t.lost = append(t.lost, [2]string{from, to})
				continue
			}
			t.read += n
			for _, v := range found {
				each(v)
			}
		}
		return nil
	})
	if err != nil {
		fault(err)
		t.lost = [][2]string{{"", ""}}
	}
	return t
}

// indexOf finds the index at the end of a table: the index, its length, its
// checksum and the checksum's length.
func indexOf(data []byte) (*fb.TableIndex, error) {
	end := len(data)
	var failed error
	back := func(n uint32) []byte {
		if failed == nil && uint64(n) > uint64(end) {
			failed = errors.New("it is cut off")
		}
		if failed != nil {
			return make([]byte, 4)
		}
		end -= int(n)
		return data[end : end+int(n)]
	}
	sum := back(binary.BigEndian.Uint32(back(4)))
	index := back(binary.BigEndian.Uint32(back(4)))
	if failed != nil {
		return nil, failed
	}
	if err := checksum(index, sum); err != nil {
		return nil, fmt.Errorf("its index: %w", err)
	}
	return fb.GetRootAsTableIndex(index, 0), nil
}

// checksum compares data with a checksum as Badger writes it.
func checksum(data, sum []byte) error {
	var want pb.Checksum
	if err := proto.Unmarshal(sum, &want); err != nil {
		return fmt.Errorf("read its checksum: %w", err)
	}
	if want.Algo != pb.Checksum_CRC32C && want.Algo != pb.Checksum_XXHash64 {
		return errors.New("its checksum has an unknown type")
	}
	if y.VerifyChecksum(data, &want) != nil {
		return errors.New("its checksum is wrong")
	}
	return nil
}

// block is a part of a table: entries, and where each begins.
type block struct {
	data    []byte
	offsets []uint32
}

// eitherBlock reads a block in one of several ways. If all fail, the error is that of the
// first.
func eitherBlock(raw []byte, compressed []bool) (b block, err error) {
	for i, way := range compressed {
		e := sound(func() (e error) { b, e = blockOf(raw, way); return e })
		if e == nil {
			return b, nil
		}
		if i == 0 {
			err = e
		}
	}
	return block{}, err
}

func blockOf(raw []byte, compressed bool) (block, error) {
	data := raw
	if compressed {
		var err error
		if n, err := s2.DecodedLen(raw); err != nil || n > 64<<20 {
			return block{}, errors.New("it cannot be unpacked")
		}
		if data, err = s2.Decode(nil, raw); err != nil {
			return block{}, errors.New("it cannot be unpacked")
		}
	}
	end := len(data) - 4
	size := int(binary.BigEndian.Uint32(data[end:]))
	sum := data[end-size : end]
	data = data[:end-size]
	if err := checksum(data, sum); err != nil {
		return block{}, err
	}
	end = len(data) - 4
	n := int(binary.BigEndian.Uint32(data[end:]))
	return block{data[:end-4*n], y.BytesToU32Slice(data[end-4*n : end])}, nil
}

// entriesOf hands over what is in a block. Keys are written without what they
// begin with in common with the first one.
func entriesOf(b block, each func(version)) error {
	var base []byte
	for i, at := range b.offsets {
		end := len(b.data)
		if i+1 < len(b.offsets) {
			end = int(b.offsets[i+1])
		}
		e := b.data[at:end]
		common, own := int(binary.LittleEndian.Uint16(e)), int(binary.LittleEndian.Uint16(e[2:]))
		key := append(bytes.Clone(base[:common]), e[4:4+own]...)
		if i == 0 {
			base = key
		}
		var v y.ValueStruct
		v.Decode(e[4+own:])
		if len(key) < 8 {
			return errors.New("a key is too short")
		}
		each(version{string(y.ParseKey(key)), y.ParseTs(key), v.Meta&metaDelete != 0, v.ExpiresAt, bytes.Clone(v.Value)})
	}
	return nil
}

// rawLog is what could be read of a log.
type rawLog struct {
	name   string
	damage error    // there is something behind what can be read in order
	ends   []uint64 // versions of the transactions that can be read in order
	end    int64    // where they end
}

// readLog reads a log, in order and up to the first fault as Badger does, and
// then what still makes sense behind that. A transaction is handed over when it is
// whole, and with beyond behind a fault.
func readLog(name string, each func(v version, beyond bool)) *rawLog {
	l := &rawLog{name: name}
	data, err := os.ReadFile(name)
	if err != nil {
		l.damage = err
		return l
	}
	l.end = int64(min(logHeader, len(data)))
	var txn []version
	beyond := false
	for pos := logHeader; pos < len(data); {
		meta, v, size := logEntry(data[pos:])
		if size == 0 {
			beyond, txn = true, nil
			pos += 1 + len(data[pos+1:]) - len(bytes.TrimLeft(data[pos+1:], "\x00")) // no entry of ours begins with a zero
			continue
		}
		pos += size
		if beyond && l.damage == nil {
			l.damage = errors.New("a part in its middle cannot be read")
		}
		switch {
		case meta&metaFin == 0 && beyond:
			each(v, true)
		case meta&metaFin == 0:
			txn = append(txn, v)
		case !beyond:
			at, err := strconv.ParseUint(string(v.value), 10, 64)
			if err != nil || len(txn) > 0 && txn[0].at != at {
				beyond, txn = true, nil
				continue
			}
			l.ends, l.end = append(l.ends, at), int64(pos)
			for _, v := range txn {
				each(v, false)
			}
			txn = nil
		}
	}
	return l
}

// logEntry reads an entry of a log. Its size is 0 at the end.
func logEntry(b []byte) (meta byte, v version, size int) {
	if len(b) < 10 || b[0]&^byte(metaKnown) != 0 || b[1] != 0 || b[2] == 0 {
		return 0, v, 0
	}
	at := 2
	var n [3]uint64
	for i := range n {
		var k int
		if n[i], k = binary.Uvarint(b[at:]); k <= 0 {
			return 0, v, 0
		}
		at += k
	}
	key, value := n[0], n[1]
	if key < 8 || key > MaxKey+64 || value > 2<<20 || uint64(len(b)) < uint64(at)+key+value+4 {
		return 0, v, 0
	}
	k := b[at : at+int(key)]
	if name := k[:key-8]; !bytes.HasPrefix(name, []byte(recordPrefix)) && !bytes.HasPrefix(name, []byte(ownPrefix)) && !bytes.Equal(name, txnEnd) {
		return 0, v, 0
	}
	size = at + int(key+value)
	if crc32.Checksum(b[:size], castagnoli) != binary.BigEndian.Uint32(b[size:]) {
		return 0, v, 0
	}
	return b[0], version{string(y.ParseKey(k)), y.ParseTs(k), b[0]&metaDelete != 0, n[2], bytes.Clone(b[at+int(key) : size])}, size + 4
}

// manifest reads Badger's list of tables.
func manifest(dir string) (badger.Manifest, error) {
	f, err := os.Open(filepath.Join(dir, badger.ManifestFilename))
	if err != nil {
		return badger.Manifest{}, err
	}
	defer f.Close()
	var m badger.Manifest
	err = sound(func() (err error) {
		m, _, err = badger.ReplayManifestFile(f, 0, badger.DefaultOptions(dir).WithLogger(nil))
		return err
	})
	return m, err
}

func tableName(dir string, id uint64) string { return table.NewFilename(id, dir) }
