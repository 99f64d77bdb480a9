package damage

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/minio/highwayhash"

	"troupe/persistence"
)

// The engine cuts a damaged file at the damage when it opens it and goes on with
// the rest. A node that lost acknowledged records this way can lead the others
// and make them forget the records, too. So every checksum is read before the
// engine starts, and a damaged copy is an error: an empty folder is safe, because
// the engine knows that it has nothing.
const (
	recordHead = 22 // length, sequence, time and length of the subject of a record
	recordSum  = 8
	maxRecord  = 32 << 20 // the engine's own bound
	hasHeader  = 1 << 31  // in the length of a record
	erased     = 1 << 63  // in its sequence
	tombstone  = 1 << 62  // also there
)

// inspection is what was found of a node's copy.
type inspection struct {
	dir   string
	found []string
	last  map[string]uint64 // of each log, by its folder: the last sequence in it
	given []string          // logs that the engine has given up, by their folders
	marks Marks
}

// Inspect reads a node's copy of what is replicated, and changes nothing. A copy
// that is damaged is a [persistence.Damage]. A node that runs changes its files, so
// it must not run.
//
// Of a copy that is not damaged it returns the logs of groups that the engine itself
// has given up, by their folders. See [Clear].
func Inspect(dir string) (givenUp []string, err error) {
	in := &inspection{dir: dir, last: map[string]uint64{}}
	root := filepath.Join(dir, "jetstream")
	if left, err := os.ReadDir(root); errors.Is(err, fs.ErrNotExist) || err == nil && len(left) == 0 {
		return nil, nil // a new node, or an emptied one
	}
	err = in.readMarks()
	if err == nil {
		err = in.walk(root)
	}
	if err == nil {
		err = in.compare()
	}
	if err != nil {
		return nil, fmt.Errorf("inspect the node's copy: %w", err)
	}
	if in.found != nil {
		return nil, &persistence.Damage{Dir: dir, Found: in.found}
	}
	return in.given, nil
}

func (in *inspection) walk(root string) error {
	return filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == purgedDir:
			return fs.SkipDir
		case d.IsDir() && in.isBeingDeleted(path):
			return fs.SkipDir
		case d.IsDir() && (d.Name() == "msgs" || d.Name() == newDir):
			return in.log(path)
		case d.IsDir() || strings.HasSuffix(path, ".tmp"):
			return nil
		case filepath.Base(filepath.Dir(path)) == "snapshots":
			return in.snapshot(path)
		case d.Name() == "meta.inf":
			return in.meta(path)
		}
		return nil
	})
}

func (in *inspection) report(path, format string, a ...any) {
	rel, err := filepath.Rel(in.dir, path)
	if err != nil {
		rel = path
	}
	in.found = append(in.found, strconv.Quote(rel)+" "+fmt.Sprintf(format, a...))
}

// sum is the engine's checksum of parts, with a name as its key.
func sum(name string, parts ...[]byte) []byte {
	key := sha256.Sum256([]byte(name))
	h, err := highwayhash.NewDigest64(key[:])
	if err != nil {
		panic(err) // of the key's length
	}
	for _, p := range parts {
		h.Write(p)
	}
	return h.Sum(nil)
}

// meta looks at the description of a log.
func (in *inspection) meta(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	name := filepath.Base(filepath.Dir(path))
	want, err := os.ReadFile(strings.TrimSuffix(path, ".inf") + ".sum")
	if errors.Is(err, fs.ErrNotExist) {
		in.report(path, "has no checksum beside it")
		return nil
	}
	if err == nil && hex.EncodeToString(sum(name, b)) != string(want) {
		in.report(path, "does not fit its checksum")
	}
	return err
}

// snapshot looks at what a group had agreed on.
func (in *inspection) snapshot(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	group := filepath.Dir(filepath.Dir(path))
	end := len(b) - recordSum
	if end < 20 || !bytes.Equal(sum(filepath.Base(group), b[:end]), b[end:]) {
		in.report(path, "does not fit its checksum")
		return nil
	}
	in.last[group] = max(in.last[group], binary.LittleEndian.Uint64(b[8:]))
	return nil
}

// log looks at the blocks of a log. Only the very end of the last one may be
// broken: that is what a process leaves that was killed while it wrote.
func (in *inspection) log(dir string) error {
	home := filepath.Dir(dir)
	if _, err := os.Stat(filepath.Join(home, "meta.inf")); errors.Is(err, fs.ErrNotExist) {
		in.report(home, "has no meta.inf")
	}
	all, err := filepath.Glob(filepath.Join(dir, "*.blk"))
	if err != nil {
		return err
	}
	blocks := map[int]string{}
	for _, path := range all {
		if n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(path), ".blk")); err == nil {
			blocks[n] = path
		}
	}
	numbers := make([]int, 0, len(blocks))
	for n := range blocks {
		numbers = append(numbers, n)
	}
	slices.Sort(numbers)
	group := filepath.Base(filepath.Dir(home)) == "_js_" // its log has no gaps
	last := uint64(0)
	for i, n := range numbers {
		b, err := os.ReadFile(blocks[n])
		if err != nil {
			return err
		}
		whole, gap := records(fmt.Sprintf("%s-%d", filepath.Base(home), n), b, &last)
		switch torn := len(b) - whole; {
		case torn > 0 && (in.marks.Files != nil || i < len(numbers)-1 || whole+ends(b[whole:]) < len(b)):
			in.report(blocks[n], "is damaged at byte %d of %d", whole, len(b))
		case gap && group:
			in.report(blocks[n], "does not follow on the one before")
		}
	}
	in.last[home] = max(in.last[home], last)
	return nil
}

// records reads the records of a block and returns how many bytes of it are whole,
// and whether sequences are missing. Last is the sequence before, and becomes the
// block's.
func records(key string, b []byte, last *uint64) (whole int, gap bool) {
	le := binary.LittleEndian
	for whole+recordHead <= len(b) {
		head := b[whole : whole+recordHead]
		size, subject := le.Uint32(head), int(le.Uint16(head[20:]))
		from := subject
		if size&hasHeader != 0 {
			from += 4
		}
		size &^= hasHeader
		data := int(size) - recordHead
		if size > maxRecord || whole+int(size) > len(b) || from > data-recordSum {
			return whole, gap
		}
		body := b[whole+recordHead : whole+int(size)]
		end := data - recordSum
		if !bytes.Equal(sum(key, head[4:20], body[:subject], body[from:end]), body[end:]) {
			return whole, gap
		}
		seq := le.Uint64(head[4:])
		at := seq &^ (erased | tombstone)
		if seq&tombstone == 0 && *last > 0 && at > *last+1 {
			gap = true
		}
		*last = max(*last, at)
		whole += int(size)
	}
	return whole, gap
}

// ends is how many bytes a record takes that was being written when the process was
// killed, where it is the last one: all that is left, unless others follow it.
func ends(b []byte) int {
	if len(bytes.TrimRight(b, "\x00")) == 0 || len(b) < recordHead {
		return len(b) // blocks of the disk that nothing was written to yet
	}
	size := int(binary.LittleEndian.Uint32(b) &^ hasHeader)
	if size < recordHead+recordSum || size > maxRecord {
		return 0
	}
	return min(size, len(b))
}
