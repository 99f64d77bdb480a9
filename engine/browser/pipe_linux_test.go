package browser

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestQuietPipe: what is written to one end comes from the other, in pieces of any size,
// also where the pipe is full or empty for a while. A closed pipe ends who reads and who
// writes.
func TestQuietPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, to := quiet(r), quiet(w)
	if _, is := from.(*quietPipe); !is {
		t.Fatal("an end of a pipe is not quiet")
	}
	random := rand.New(rand.NewPCG(1, 2))
	sent := make([]byte, 1<<20)
	for i := range sent {
		sent[i] = byte(random.Uint32())
	}
	var came atomic.Int64
	go func() {
		for rest := sent; len(rest) > 0; {
			n := min(len(rest), 1+random.IntN(200<<10)) // more than a pipe holds
			if m, err := to.Write(rest[:n]); err != nil || m != n {
				t.Errorf("wrote %d of %d: %v", m, n, err)
			}
			rest = rest[n:]
			for empties := random.IntN(3) == 0; empties && int(came.Load()) < len(sent)-len(rest); {
				runtime.Gosched()
			}
		}
		to.Close()
	}()
	var got []byte
	for b := make([]byte, 3000); ; {
		n, err := from.Read(b)
		got = append(got, b[:n]...)
		came.Store(int64(len(got)))
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !bytes.Equal(got, sent) {
		t.Errorf("%d bytes came, others than the %d that were sent", len(got), len(sent))
	}
}

func TestClosedQuietPipe(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, to := quiet(r), quiet(w)
	ended := make(chan error, 2)
	go func() {
		_, err := from.Read(make([]byte, 1))
		ended <- err
	}()
	from.Close()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("reading while it is closed: %v", err)
	}
	if n, err := to.Write([]byte("x")); n != 0 || err == nil {
		t.Errorf("nobody reads, and writing says %d, %v", n, err)
	}
	r, w, err = os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	to = quiet(w)
	go func() {
		_, err := to.Write(make([]byte, 1<<20)) // which nobody reads
		ended <- err
	}()
	to.Close()
	if err := <-ended; !errors.Is(err, os.ErrClosed) {
		t.Errorf("writing while it is closed: %v", err)
	}
}

// TestQuietPipeInOrder: the race detector knows that what is read came after what was
// written before it was sent.
func TestQuietPipeInOrder(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	from, to := quiet(r), quiet(w)
	defer from.Close()
	defer to.Close()
	told := map[string]int{}
	go func() {
		told["it"] = 1
		if _, err := to.Write([]byte{1}); err != nil {
			t.Error(err)
		}
	}()
	if _, err := from.Read(make([]byte, 1)); err != nil || told["it"] != 1 {
		t.Error(err, told)
	}
}
