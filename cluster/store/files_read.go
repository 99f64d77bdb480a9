package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// openFile reads a file part by part. The context of its opening ends it.
type openFile struct {
	files *Files
	ctx   context.Context
	name  string
	size  int64
	at    int64
	part  int64 // that bytes are of; -1: none
	bytes []byte
}

// missing is how long a part may seem not to be there, on a node that answers
// in place of one that was lost.
const missing = 3 * time.Second

var errShort = errors.New("a part of the file is missing")

func (f *openFile) Read(p []byte) (int, error) {
	if f.at >= f.size {
		return 0, io.EOF
	}
	if n := f.at / partSize; n != f.part {
		if err := f.load(n); err != nil {
			return 0, fmt.Errorf("read a file: %w", err)
		}
	}
	n := copy(p, f.bytes[f.at%partSize:])
	f.at += int64(n)
	return n, nil
}

// load reads a part.
func (f *openFile) load(part int64) error {
	want := min(partSize, f.size-part*partSize)
	subject := PartSubject(f.name, part)
	end := time.Now().Add(missing)
	return f.files.store.untilAnswered(f.ctx, func(try context.Context) error {
		for {
			msg, err := f.files.stream.GetLastMsgForSubject(try, subject)
			switch {
			case err == nil && int64(len(msg.Data)) == want:
				f.part, f.bytes = part, msg.Data
				return nil
			case err != nil && !errors.Is(err, jetstream.ErrMsgNotFound):
				return err
			case time.Now().After(end) || try.Err() != nil:
				return errShort
			}
			pause(try, 20*time.Millisecond)
		}
	})
}

func (f *openFile) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += f.at
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 {
		return 0, errors.New("seek to before the start of a file")
	}
	f.at = offset
	return offset, nil
}

func (f *openFile) Close() error { return nil }
