package http

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"troupe/engine/lang"
	"troupe/http/answer"
)

// patientReader gives a client time for each line of its body anew. A byte now and then, or
// empty lines, give it no more: that is not a client whose items take long.
type patientReader struct {
	io.Reader
	conn  net.Conn
	until time.Time
}

func (r *patientReader) Read(p []byte) (int, error) {
	_ = r.conn.SetReadDeadline(r.until)
	n, err := r.Reader.Read(p)
	r.until = r.until.Add(time.Duration(n) * time.Second / slowestUpload)
	return n, err
}

// streamWeight is what a stream of lines has in memory: a portion, and a line that comes.
const streamWeight = portionBytes + maxPayload

// readLines reads a stream of lines: the head of the batch, and then its items. What it
// keeps of it in memory is one portion.
func (r *batchReader) readLines() *answer.Refusal {
	leave, no := r.s.waits.Take(r.account.ID)
	if no != nil {
		return no
	}
	defer leave()
	held := r.s.gate.Weigh(r.account.ID)
	if err := held.Add(streamWeight); err != nil {
		return answer.RefuseBy(tooMuch(err))
	}
	defer held.Release()
	from := bodyOf(r.ctx)
	if from == nil {
		r.fault(lang.Fault{Message: noHead})
		return nil
	}
	lines := &patientReader{Reader: from, conn: r.ctx.Conn()}
	patience := func() { lines.until = time.Now().Add(r.s.cfg.RequestTimeout) }
	patience()
	in := bufio.NewReaderSize(lines, 64<<10)
	if mark, err := in.Peek(len(byteOrderMark)); err == nil && string(mark) == byteOrderMark {
		_, _ = in.Discard(len(byteOrderMark)) // it is in the buffer
	}
	for n := 1; ; n++ {
		line, err := readLine(in, maxPayload)
		at := fmt.Sprintf("line %d: ", n)
		switch {
		case errors.Is(err, errLongLine):
			r.fault(lang.Fault{Message: fmt.Sprintf("%shas more than %d bytes", at, maxPayload)})
			r.ctx.SetConnectionClose()
			return nil
		case err != nil && !errors.Is(err, io.EOF):
			return broken(err)
		}
		switch {
		case len(line) == 0: // between lines, or the end
		case r.template == nil:
			if no := r.headLine(line); no != nil {
				return no
			}
			patience()
			if r.found != nil { // what follows is not needed
				for err == nil {
					if line, err = readLine(in, maxPayload); len(line) > 0 {
						patience()
					}
				}
				return nil
			}
			for i := range r.faults {
				r.faults[i].Message = at + r.faults[i].Message
			}
		default:
			if no := r.item(line, fmt.Sprintf("/items/%d", r.count), at); no != nil {
				return no
			}
			patience()
		}
		if err != nil {
			if r.template == nil && len(r.faults) == 0 {
				r.fault(lang.Fault{Message: noHead})
			}
			return nil
		}
		if r.template == nil && len(r.faults) > 0 || !lang.MoreFaults(r.faults) {
			r.ctx.SetConnectionClose()
			return nil
		}
	}
}

// byteOrderMark is what some editors and shells put before a text in UTF-8.
const byteOrderMark = "\ufeff"

const noHead = "want the task in the first line, and an item in each further one"

var errLongLine = errors.New("the line is too long")

// readLine reads a line without its end and the spaces around it. With the last one comes
// [io.EOF].
func readLine(in *bufio.Reader, most int) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		if line = append(line, part...); len(line) > most {
			return nil, errLongLine
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return trimSpace(line), err
		}
	}
}

func trimSpace(b []byte) []byte {
	space := func(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }
	for len(b) > 0 && space(b[len(b)-1]) {
		b = b[:len(b)-1]
	}
	for len(b) > 0 && space(b[0]) {
		b = b[1:]
	}
	return b
}
