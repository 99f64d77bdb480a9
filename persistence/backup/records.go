package backup

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"time"

	"troupe/persistence"
)

// recordsHead begins the records of a backup. They are in key order. Each has how much of
// its key is that of the one before, the rest of the key, its revision, when it expires, and
// its value, if that is there: an incremental backup has every key, so that it says what was
// deleted, and the values that have changed. A zero revision ends them, and their number.
const recordsHead = "troupe backup records 1\n"

// ErrBroken: a backup is not whole.
var ErrBroken = errors.New("the backup is damaged or incomplete")

// recordWriter writes the records of a backup.
type recordWriter struct {
	out  *bufio.Writer
	sum  hash.Hash
	size int64
	last string
	n    uint64
	err  error
}

func newRecordWriter(out io.Writer) *recordWriter {
	w := &recordWriter{sum: sha256.New()}
	w.out = bufio.NewWriterSize(io.MultiWriter(out, w.sum), 64<<10)
	w.write([]byte(recordsHead))
	return w
}

func (w *recordWriter) write(b []byte) {
	if w.err == nil {
		_, w.err = w.out.Write(b)
		w.size += int64(len(b))
	}
}

// add writes a record, with its value or without.
func (w *recordWriter) add(r persistence.Record, value bool) error {
	shared := 0
	for shared < len(w.last) && shared < len(r.Key) && w.last[shared] == r.Key[shared] {
		shared++
	}
	b := binary.AppendUvarint(nil, r.Revision)
	b = binary.AppendUvarint(b, uint64(shared))
	b = binary.AppendUvarint(b, uint64(len(r.Key)-shared))
	b = append(b, r.Key[shared:]...)
	var expires int64
	if !r.Expires.IsZero() {
		expires = r.Expires.UnixNano()
	}
	b = binary.AppendVarint(b, expires)
	if value {
		b = binary.AppendUvarint(b, uint64(len(r.Value))+1)
	} else {
		b = append(b, 0)
	}
	w.write(b)
	if value {
		w.write(r.Value)
	}
	w.last, w.n = r.Key, w.n+1
	return w.err
}

// end writes the end, and returns the checksum and the size of all.
func (w *recordWriter) end() (sum string, size int64, err error) {
	w.write(binary.AppendUvarint([]byte{0}, w.n))
	if w.err == nil {
		w.err = w.out.Flush()
	}
	return hex.EncodeToString(w.sum.Sum(nil)), w.size, w.err
}

// entry is a record of a backup.
type entry struct {
	persistence.Record
	has bool // its value is in this backup
}

// recordReader reads the records of a backup.
type recordReader struct {
	in   *bufio.Reader
	sum  hash.Hash
	last string
	n    uint64
	done bool
}

// checksummed counts what a buffered reader takes ahead only when it is used: the sum is of
// all that there is.
func newRecordReader(in io.Reader) (*recordReader, error) {
	r := &recordReader{sum: sha256.New()}
	r.in = bufio.NewReaderSize(io.TeeReader(in, r.sum), 64<<10)
	head := make([]byte, len(recordsHead))
	if _, err := io.ReadFull(r.in, head); err != nil || !bytes.Equal(head, []byte(recordsHead)) {
		return nil, fmt.Errorf("%w: its records do not begin as those of this version: %w", ErrBroken, err)
	}
	return r, nil
}

// next returns the next record; false: there are no more.
func (r *recordReader) next() (e entry, ok bool, err error) {
	if r.done {
		return e, false, nil
	}
	fail := func(err error) (entry, bool, error) {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return entry{}, false, fmt.Errorf("%w: record %d: %w", ErrBroken, r.n+1, err)
	}
	number := func() uint64 {
		if err != nil {
			return 0
		}
		var v uint64
		v, err = binary.ReadUvarint(r.in)
		return v
	}
	if e.Revision = number(); err != nil {
		return fail(err)
	}
	if e.Revision == 0 {
		if n := number(); err != nil || n != r.n {
			return fail(errors.Join(err, errors.New("there are fewer than there should be")))
		}
		if _, err := r.in.ReadByte(); !errors.Is(err, io.EOF) {
			return fail(errors.New("data follows the end"))
		}
		r.done = true
		return e, false, nil
	}
	shared, rest := number(), number()
	if err != nil || shared > uint64(len(r.last)) || rest > persistence.MaxKey || shared+rest > persistence.MaxKey || shared+rest == 0 {
		return fail(errors.Join(err, errors.New("its key makes no sense")))
	}
	key := make([]byte, shared+rest)
	copy(key, r.last[:shared])
	if _, err := io.ReadFull(r.in, key[shared:]); err != nil {
		return fail(err)
	}
	if e.Key = string(key); e.Key <= r.last {
		return fail(errors.New("it is out of order"))
	}
	expires, err := binary.ReadVarint(r.in)
	if err != nil {
		return fail(err)
	}
	if expires != 0 {
		e.Expires = time.Unix(0, expires).UTC()
	}
	size := number()
	if err != nil || size > persistence.MaxValue+1 {
		return fail(errors.Join(err, errors.New("its value makes no sense")))
	}
	if size > 0 {
		e.has, e.Value = true, make([]byte, size-1)
		if _, err := io.ReadFull(r.in, e.Value); err != nil {
			return fail(err)
		}
	}
	r.last, r.n = e.Key, r.n+1
	return e, true, nil
}

// checksum is that of everything, after the last record.
func (r *recordReader) checksum() string { return hex.EncodeToString(r.sum.Sum(nil)) }
