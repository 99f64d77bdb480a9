package browser

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/chromedp"
)

// Bounds of a message of the browser, in bytes. Pages decide how long the texts in
// it are, so they are cut as they come: no message is in memory as a whole.
const (
	maxText   = 64 << 10 // a text
	maxEvent  = 1 << 20  // an event with its cut texts
	maxAnswer = 16 << 20 // an answer with its cut texts

	maxWhole = 64 << 20 // for a guest, uncut

	maxPicture = maxEvent / 2 // a picture that comes by itself, in base64
	maxBytes   = maxEvent / 4 // all other bytes of an event, in base64
)

// Bytes that are as long as this may have been cut.
const (
	cutPicture = maxPicture / 4 * 3
	cutBytes   = maxText / 4 * 3
)

// maxLong are the texts that calls are made for. One in each message may be longer
// than maxText, by its name.
var maxLong = map[string]int{
	"value": MaxReply + 1<<20,
	"body":  maxBody/3*4 + 1<<20, // in base64
	"data":  64 << 20,            // a picture in base64
}

// ErrLargeAnswer is the error of a call whose answer is larger than an answer may be.
var ErrLargeAnswer = errors.New("the browser's answer is too large")

// message is what the browser has sent.
type message struct {
	cdproto.Message
	long []byte // the text that was asked for, where it is long: the message has its beginning
	cut  bool   // that text was too long, or the message had too much else

	whole []byte // the message as it came, where a guest may want it and it is not too large
}

// wire carries messages over the browser's pipe: JSON, each with a zero byte
// behind it.
type wire struct {
	from io.ReadCloser
	to   io.WriteCloser
	in   *bufio.Reader
	once sync.Once
	out  []byte // what was written and not sent yet

	whole atomic.Bool // messages are wanted as they come, too: there is a guest
}

func newWire(from io.ReadCloser, to io.WriteCloser) *wire {
	return &wire{from: from, to: to, in: bufio.NewReaderSize(from, maxText)}
}

// Close closes both ends, which makes the browser end.
func (w *wire) Close() {
	w.once.Do(func() {
		w.from.Close()
		w.to.Close()
	})
}

// write takes a command to be sent: see flush. Its parameters are JSON already, and long
// where they are the page script, so they are not encoded once more. Methods and sessions
// have names of letters and digits.
func (w *wire) write(m *cdproto.Message) error {
	w.out = strconv.AppendInt(append(w.out, `{"id":`...), m.ID, 10)
	if m.SessionID != "" {
		w.out = append(append(append(w.out, `,"sessionId":"`...), m.SessionID...), '"')
	}
	w.out = append(append(append(w.out, `,"method":"`...), m.Method...), '"')
	if m.Params != nil {
		w.out = append(append(w.out, `,"params":`...), m.Params...)
	}
	w.out = append(w.out, '}', 0)
	if len(w.out) < batchSize {
		return nil
	}
	return w.flush()
}

// batchSize bounds what is kept of messages that go out together, in bytes.
const batchSize = 64 << 10

// flush sends what was written: commands that are sent together go out together.
func (w *wire) flush() error {
	if len(w.out) == 0 {
		return nil
	}
	_, err := w.to.Write(w.out)
	if cap(w.out) > 2*batchSize {
		w.out = nil // a large command leaves no large buffer
	}
	w.out = w.out[:0]
	if err != nil {
		return fmt.Errorf("writing messages: %w", err)
	}
	return nil
}

// read gives the next message.
func (w *wire) read() (*message, error) {
	for {
		b, err := w.in.ReadSlice(0)
		m := new(message)
		switch {
		case err == nil:
			b = b[:len(b)-1]
			if w.whole.Load() {
				m.whole = bytes.Clone(b)
			}
		case errors.Is(err, bufio.ErrBufferFull):
			s := truncator{in: w.in, b: b}
			if w.whole.Load() {
				s.whole = append(make([]byte, 0, 4*len(b)), b...)
			}
			if b, err = s.run(); err != nil {
				return nil, err
			}
			m.long, m.cut, m.whole = s.long, s.cut, s.whole
		case errors.Is(err, io.EOF) && len(b) > 0:
			return nil, io.ErrUnexpectedEOF
		default:
			return nil, err
		}
		if len(bytes.TrimSpace(b)) == 0 {
			continue
		}
		if plain, ok := unwrap(b); ok {
			m.Message = plain
			return m, nil
		}
		return m, jsonv2.Unmarshal(b, &m.Message, chromedp.DefaultUnmarshalOptions)
	}
}
