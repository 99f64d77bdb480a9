package attach

import (
	"bytes"
	"context"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"
)

// flush waits a moment for the client to take what it was sent.
func (r *relay) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaveTime)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		r.mu.Lock()
		done := r.unread == 0
		r.mu.Unlock()
		if done {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// write gives the client what there is for it.
func (r *relay) write(ctx context.Context) error {
	for {
		r.mu.Lock()
		out := r.out
		r.out = nil
		r.mu.Unlock()
		for _, b := range out {
			if err := r.client.Write(b); err != nil {
				return ending(EndSlow)
			}
			r.mu.Lock()
			r.unread -= len(b)
			r.mu.Unlock()
		}
		if len(out) > 0 {
			continue
		}
		select {
		case <-r.wake:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// put queues a message for the client.
func (r *relay) put(b []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return
	}
	if r.unread+len(b) > MaxUnread {
		r.end(ending(EndSlow))
		return
	}
	r.unread += len(b)
	r.out = append(r.out, b)
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// Codes of errors, as the browser has them.
const (
	codeMessage = -32600
	codeRefused = -32000
	codeSession = -32001
)

type failure struct {
	ID      int64  `json:"id"`
	Error   fault  `json:"error"`
	Session string `json:"sessionId,omitzero"`
}

type fault struct {
	Code int    `json:"code"`
	Text string `json:"message"`
}

func (r *relay) fails(id int64, session string, code int, text string) {
	if b, err := json.Marshal(failure{id, fault{code, text}, session}, lenient); err == nil {
		r.put(b)
	}
}

type success struct {
	ID      int64  `json:"id"`
	Result  any    `json:"result"`
	Session string `json:"sessionId,omitzero"`
}

func (r *relay) answers(id int64, session string, result any) {
	b, err := json.Marshal(success{id, result, session}, lenient)
	if err != nil {
		r.fails(id, session, codeRefused, "the answer cannot be encoded")
		return
	}
	r.put(b)
}

// addressed gives an answer the number of its command, and takes the root session out, which the
// client does not know. What the browser writes begins with the number and ends with the session.
func (r *relay) addressed(b []byte, session string, id int64) []byte {
	rest, ok := bytes.CutPrefix(b, []byte(`{"id":`))
	if comma := bytes.IndexByte(rest, ','); ok && comma > 0 {
		b = append(strconv.AppendInt(append(make([]byte, 0, len(b)+20), `{"id":`...), id, 10), rest[comma:]...)
	}
	if session == "" {
		b = r.withoutRoot(b)
	}
	return b
}

func (r *relay) withoutRoot(b []byte) []byte {
	if rest, ok := bytes.CutSuffix(b, []byte(`,"sessionId":"`+r.browser.Root()+`"}`)); ok {
		return append(bytes.Clone(rest), '}')
	}
	return b
}
