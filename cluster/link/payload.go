package link

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

const (
	// pieceSize is how much of a payload is in one message, piecesAhead how many
	// are on their way at once: enough to keep the line busy, and little to wait
	// for behind them.
	pieceSize   = 256 << 10
	piecesAhead = 4
	// maxMessage bounds a message that is fetched.
	maxMessage = 256 << 20
	// maxAnswerBytes bounds the bytes of all answers that wait to be fetched.
	maxAnswerBytes = maxMessage
	// answerTTL is how long an answer waits to be fetched, whose asker does not
	// say that it has it.
	answerTTL = time.Minute
)

// errNoPayload: it was fetched, or its time was over.
var errNoPayload = errors.New("the payload does not exist")

// payloadStore has what other nodes may fetch in pieces.
type payloadStore struct {
	node string

	mu      sync.Mutex
	has     map[string]*payload
	answers int64 // bytes of those that have a time
}

type payload struct {
	open  func() (io.ReaderAt, func() error, error)
	size  int64
	timer *time.Timer // nil: it stays until it is removed
	used  time.Time   // when it was made, or a piece of it read last
}

func newPayloadStore(node string) *payloadStore {
	return &payloadStore{node: node, has: map[string]*payload{}}
}

// put makes a payload. With a time, the payload ends after it or when it was fetched;
// without one, it stays until it is removed.
func (o *payloadStore) put(open func() (io.ReaderAt, func() error, error), size int64, kept time.Duration) PayloadRef {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails: it ends the process instead
	p := PayloadRef{Node: o.node, ID: hex.EncodeToString(b), Size: size}
	one := &payload{open: open, size: size, used: time.Now()}
	o.mu.Lock()
	defer o.mu.Unlock()
	if kept > 0 {
		one.timer = time.AfterFunc(kept, func() { o.remove(p.ID) })
		o.answers += size
	}
	o.has[p.ID] = one
	return p
}

// answer makes a payload of an answer. When too many wait, it drops those first that
// were not read for longest: their receivers are most likely gone.
func (o *payloadStore) answer(b []byte) (PayloadRef, error) {
	size := int64(len(b))
	if size > maxMessage {
		return PayloadRef{}, fmt.Errorf("keep an answer to be fetched: it has %d bytes, more than %d", size, maxMessage)
	}
	o.mu.Lock()
	for o.answers+size > maxAnswerBytes {
		oldest := ""
		for id, p := range o.has {
			if p.timer != nil && (oldest == "" || p.used.Before(o.has[oldest].used)) {
				oldest = id
			}
		}
		o.drop(oldest)
	}
	o.mu.Unlock()
	return o.put(bytesIn(b), size, answerTTL), nil
}

// waiting reports whether an answer waits to be fetched.
func (o *payloadStore) waiting() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.answers > 0
}

func (o *payloadStore) remove(id string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.drop(id)
}

// drop removes a payload. The caller holds the lock.
func (o *payloadStore) drop(id string) {
	if p := o.has[id]; p != nil && p.timer != nil {
		p.timer.Stop()
		o.answers -= p.size
	}
	delete(o.has, id)
}

// fetched ends a payload that was for one who has it now.
func (o *payloadStore) fetched(id string) {
	o.mu.Lock()
	p := o.has[id]
	o.mu.Unlock()
	if p != nil && p.timer != nil {
		o.remove(id)
	}
}

func bytesIn(b []byte) func() (io.ReaderAt, func() error, error) {
	return func() (io.ReaderAt, func() error, error) {
		return bytes.NewReader(b), func() error { return nil }, nil
	}
}

// fileAt reads a file that is opened for each piece: a request may have more of
// them than a process should have open.
func fileAt(path string) func() (io.ReaderAt, func() error, error) {
	return func() (io.ReaderAt, func() error, error) {
		f, err := os.Open(path)
		if err != nil {
			return nil, nil, err
		}
		return f, f.Close, nil
	}
}

// wantPiece asks for a piece of a payload. The answer is a byte, zero if the rest
// is what was asked for. With Done nothing is wanted any more, and not answered.
type wantPiece struct {
	ID   string `json:"ID"`
	From int64  `json:"From"`
	Size int    `json:"Size"`
	Done bool   `json:"Done"`
}

// read gives a piece of a payload.
func (o *payloadStore) read(m wantPiece) ([]byte, error) {
	o.mu.Lock()
	p := o.has[m.ID]
	if p != nil {
		p.used = time.Now()
	}
	o.mu.Unlock()
	switch {
	case p == nil:
		return nil, errNoPayload
	case m.From < 0 || m.Size < 1 || m.Size > pieceSize || m.From > p.size-int64(m.Size):
		return nil, fmt.Errorf("the payload has no %d bytes at %d", m.Size, m.From)
	}
	r, end, err := p.open()
	if err != nil {
		return nil, fmt.Errorf("open the payload: %w", err)
	}
	defer func() { _ = end() }()
	b := make([]byte, 1+m.Size)
	if n, err := r.ReadAt(b[1:], m.From); n < m.Size {
		return nil, fmt.Errorf("read the payload: %w", err)
	}
	return b, nil
}

func (w *Transport) onPiece(msg *nats.Msg) {
	var m wantPiece
	err := json.Unmarshal(msg.Data, &m)
	var b []byte
	if err == nil && m.Done {
		w.out.fetched(m.ID)
		return
	}
	if err == nil {
		b, err = w.out.read(m)
	}
	if err != nil {
		b = append([]byte{1}, err.Error()...)
	}
	if err := msg.Respond(b); err != nil {
		w.log.Error().Err(err).Msg("piece of a payload not sent")
	}
}

// fetch gets a payload that is a message.
func (w *Transport) fetch(ctx context.Context, p PayloadRef) ([]byte, error) {
	if p.Size < 0 || p.Size > maxMessage {
		return nil, fmt.Errorf("fetch from %s: a message of %d bytes is none", p.Node, p.Size)
	}
	var b into
	if err := w.fetchTo(ctx, p, &b); err != nil {
		return nil, err
	}
	return b.bytes, nil
}

// into is memory that grows with what is written: a size that is only announced
// takes none.
type into struct {
	mu    sync.Mutex
	bytes []byte
}

func (b *into) WriteAt(p []byte, off int64) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if more := int(off) + len(p) - len(b.bytes); more > 0 {
		b.bytes = append(b.bytes, make([]byte, more)...)
	}
	return copy(b.bytes[off:], p), nil
}

// FetchFile gets a payload that is a file.
func (w *Transport) FetchFile(ctx context.Context, p PayloadRef, path string) (err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("fetch a file: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return w.fetchTo(ctx, p, f)
}

// OfferFile lets other nodes fetch a file, until withdraw.
func (w *Transport) OfferFile(path string, size int64) PayloadRef {
	return w.out.put(fileAt(path), size, 0)
}

// Withdraw ends what offerFile has begun.
func (w *Transport) Withdraw(p PayloadRef) { w.out.remove(p.ID) }

// fetchTo gets a payload piece by piece, a few at once, and says that it has it.
func (w *Transport) fetchTo(ctx context.Context, p PayloadRef, to io.WriterAt) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var wg sync.WaitGroup
	slots := make(chan struct{}, piecesAhead)
	for from := int64(0); from < p.Size && ctx.Err() == nil; from += pieceSize {
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			if err := w.fetchPiece(ctx, p, from, to); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return fmt.Errorf("fetch %d bytes from %s: %w", p.Size, p.Node, context.Cause(ctx))
	}
	if b, err := json.Marshal(wantPiece{ID: p.ID, Done: true}); err == nil {
		_ = w.nc.Publish(Subject(p.Node, "piece"), b) // without it the time ends it
	}
	return nil
}

func (w *Transport) fetchPiece(ctx context.Context, p PayloadRef, from int64, to io.WriterAt) error {
	m := wantPiece{ID: p.ID, From: from, Size: int(min(pieceSize, p.Size-from))}
	ask, err := json.Marshal(m)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	r, err := w.nc.RequestWithContext(ctx, Subject(p.Node, "piece"), ask)
	switch {
	case err != nil:
		return err
	case len(r.Data) < 1 || r.Data[0] != 0:
		return errors.New(string(bytes.TrimLeft(r.Data, "\x01")))
	case len(r.Data) != 1+m.Size:
		return fmt.Errorf("a piece has %d bytes, and %d were wanted", len(r.Data)-1, m.Size)
	}
	_, err = to.WriteAt(r.Data[1:], from)
	return err
}
