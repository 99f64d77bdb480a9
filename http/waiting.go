package http

import (
	"errors"
	"io"
	"sync"
)

// What one account may have in progress at once, so that others have room.
const (
	maxWaits  = 256       // polls that wait, and streams of the events of single tasks
	maxBodies = 128 << 20 // bytes of JSON of tasks' requests that are read, wait or go on
)

// accountBytes counts how many bytes each account has in progress.
type accountBytes struct {
	most int64
	mu   sync.Mutex
	by   map[string]int64
}

// add takes bytes, if the account has so many left; a negative number gives back.
func (w *accountBytes) add(account string, n int64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if n > 0 && w.by[account]+n > w.most {
		return false
	}
	if w.by == nil {
		w.by = map[string]int64{}
	}
	if w.by[account] += n; w.by[account] <= 0 {
		delete(w.by, account)
	}
	return true
}

// errBodies is the error of a body that its account has no room for.
var errBodies = errors.New("the account has too many requests under way")

// meteredReader is a reader whose bytes count for an account until they are given back.
type meteredReader struct {
	io.Reader
	all     *accountBytes
	account string
	n       int64
}

// of is the reader with its bytes counted; nil counts nothing.
func (w *meteredReader) of(r io.Reader) io.Reader {
	if w == nil {
		return r
	}
	w.Reader = r
	return w
}

func (w *meteredReader) Read(p []byte) (int, error) {
	n, err := w.Reader.Read(p)
	if n > 0 && !w.all.add(w.account, int64(n)) {
		return 0, errBodies
	}
	w.n += int64(n)
	return n, err
}

// release gives back what was read. It may be called again, and without a reader.
func (w *meteredReader) release() {
	if w != nil {
		w.all.add(w.account, -w.n)
		w.n = 0
	}
}
