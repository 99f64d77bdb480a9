package link

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/engine"
)

// codecVersion is the version of what nodes write. Nodes of neighbouring
// releases run beside each other while a cluster is renewed, so a change that an
// older node would misread takes a new number, and an older one is refused with a
// sentence instead of being guessed at.
const codecVersion = 1

// ErrVersion is the error for a message that another version has written.
var ErrVersion = errors.New("the message has an unknown version")

// kind says what a message is: its number on the wire, which is never used again.
type kind = byte

// The kinds of what goes between nodes beside the messages of [api.Verb], which
// bring their own.
const (
	kindExecute  kind = 1 // as an order
	kindExecuted kind = 2
	kindPolled   kind = 5
	kindFrame    kind = 31
	kindClient   kind = 64
)

// plainly are those messages that are JSON and nothing else.
var plainly = map[kind]func() any{
	12: fresh[LocateSession], 13: fresh[SessionLocated], 14: fresh[Inventory], 15: fresh[PayloadRef], 16: fresh[Fault],
	25: fresh[PauseNode], 26: fresh[api.Status], 27: fresh[view.ScreencastRequest], 28: fresh[OpenView], 29: fresh[ViewOpened], 30: fresh[NextInView],
	32: fresh[ViewEvents], 33: fresh[CloseView], 34: fresh[RecentTasks], 35: fresh[RecentTasksReply], 36: fresh[LinkViewers], 37: fresh[LinkViewersReply],
	40: fresh[StartQuery], 41: fresh[StartReply], 42: fresh[ReceiptQuery], 43: fresh[Receipt],
	60: fresh[DigestQuery], 61: fresh[Digest], 65: fresh[ClientReady], 66: fresh[EndClients], 67: fresh[ClientsEnded],
	68: fresh[FindTicket], 69: fresh[TicketFound],
}

func fresh[T any]() any { return new(T) }

// kinds are the kinds of those by their types.
var kinds = func() map[reflect.Type]kind {
	all := map[reflect.Type]kind{}
	for k, fresh := range plainly {
		if api.New(k) != nil {
			panic(fmt.Sprintf("the kind %d of messages between nodes is a verb's, too", k))
		}
		all[reflect.TypeOf(fresh())] = k
	}
	return all
}()

// kindOf is the kind of a message that is JSON and nothing else; 0: it has none.
func kindOf(m any) kind {
	if k := api.Kind(m); k != 0 {
		return k
	}
	return kinds[reflect.TypeOf(m)]
}

// outcome is an outcome without what goes beside it as it is.
type (
	executed struct {
		*api.Executed
		Outcome *engine.Outcome `json:"Outcome"`
	}
	polled struct {
		*api.Polled
		Executed *executed `json:"Executed"`
	}
)

// Encode writes a message: version, kind, and its parts, each with its length in
// front. The first part is JSON; sources and results follow as the bytes they
// are.
func Encode(m any) ([]byte, error) {
	var k kind
	var head any = m
	var parts [][]byte
	switch m := m.(type) {
	case *ForwardedExecute:
		copied := *m
		copied.Execute.Task, copied.Source = nil, nil
		k, head, parts = kindExecute, &copied, [][]byte{m.Source}
	case *api.Executed:
		k, head, parts = kindExecuted, strip(m), results(m)
	case *api.Polled:
		k, head, parts = kindPolled, &polled{m, strip(m.Executed)}, results(m.Executed)
	case *ViewFrame:
		copied := *m
		copied.Picture = nil
		k, head, parts = kindFrame, &copied, [][]byte{m.Picture}
	case *ClientMessages:
		k, parts = kindClient, [][]byte{m.Bytes}
	default:
		if k = kindOf(m); k == 0 {
			return nil, fmt.Errorf("encode a message: %T is none", m)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false) // actions are reported as the client sent them
	if err := enc.Encode(head); err != nil {
		return nil, fmt.Errorf("encode %T: %w", m, err)
	}
	parts = append([][]byte{b.Bytes()}, parts...)
	size := 2
	for _, p := range parts {
		size += binary.MaxVarintLen64 + len(p)
	}
	out := append(make([]byte, 0, size), codecVersion, k)
	for _, p := range parts {
		out = append(binary.AppendUvarint(out, uint64(len(p))), p...)
	}
	return out, nil
}

// strip takes what is sent beside the JSON out of it.
func strip(x *api.Executed) *executed {
	if x == nil {
		return nil
	}
	short := &executed{Executed: x}
	if x.Outcome != nil {
		copied := *x.Outcome
		copied.Data, copied.Last = nil, nil
		short.Outcome = &copied
	}
	return short
}

func results(x *api.Executed) [][]byte {
	if x == nil || x.Outcome == nil {
		return nil
	}
	return [][]byte{x.Outcome.Data, x.Outcome.Last}
}

// Decode reads a message. The result has its own bytes.
func Decode(b []byte) (any, error) {
	if len(b) < 2 {
		return nil, fmt.Errorf("decode a message: it has %d bytes", len(b))
	}
	if b[0] != codecVersion {
		return nil, fmt.Errorf("decode a message: %w: %d, and this node writes %d", ErrVersion, b[0], codecVersion)
	}
	k, parts := kind(b[1]), [][]byte(nil)
	m, want := empty(k)
	if m == nil {
		return nil, fmt.Errorf("decode a message: %w: its kind %d is unknown", ErrVersion, k)
	}
	for rest := b[2:]; len(rest) > 0 && len(parts) < want+2; {
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) {
			return nil, fmt.Errorf("decode a message of kind %d: it is cut off", k)
		}
		parts = append(parts, bytes.Clone(rest[w:w+int(n)]))
		rest = rest[w+int(n):]
	}
	if len(parts) < 1 || len(parts) > 1+want {
		return nil, fmt.Errorf("decode a message of kind %d: it has %d parts or more, and may have %d", k, len(parts), 1+want)
	}
	err := checkMemory(parts[0], reflect.TypeOf(m))
	if err == nil {
		err = json.Unmarshal(parts[0], m)
	}
	if err != nil {
		return nil, fmt.Errorf("decode a message of kind %d: %w", k, err)
	}
	parts = parts[1:]
	switch m := m.(type) {
	case *ForwardedExecute:
		if len(parts) == 1 {
			m.Source = parts[0]
		}
		return m, nil
	case *ViewFrame:
		if len(parts) == 1 {
			m.Picture = parts[0]
		}
		return m, nil
	case *ClientMessages:
		if len(parts) == 1 {
			m.Bytes = parts[0]
		}
		return m, nil
	case *executed:
		x := m.whole(parts)
		return x, answers(x)
	case *polled:
		if m.Polled == nil {
			m.Polled = new(api.Polled)
		}
		m.Polled.Executed = m.Executed.whole(parts)
		if m.Polled.Refusal == nil && m.Polled.Node == "" && m.Polled.Status != api.TaskPending && !m.Polled.Bare {
			return m.Polled, answers(m.Polled.Executed)
		}
		return m.Polled, nil
	}
	return m, nil
}

// answers refuses an answer to a task that has no outcome and no refusal: its readers
// rely on one of them.
func answers(x *api.Executed) error {
	if x == nil || x.Outcome == nil && x.Refusal == nil {
		return errors.New("decode a message: it has no outcome and no refusal")
	}
	return nil
}

// empty is a message of a kind to decode into, and how many parts it may have
// beside its JSON; nil for a kind that there is not.
func empty(k kind) (m any, parts int) {
	switch k {
	case kindExecute:
		return new(ForwardedExecute), 1
	case kindExecuted:
		return new(executed), 2
	case kindPolled:
		return new(polled), 2
	case kindFrame:
		return new(ViewFrame), 1
	case kindClient:
		return new(ClientMessages), 1
	}
	if fresh := plainly[k]; fresh != nil {
		return fresh(), 0
	}
	return api.New(k), 0
}

// whole puts together what strip took apart.
func (x *executed) whole(parts [][]byte) *api.Executed {
	if x == nil {
		return nil
	}
	if x.Executed == nil {
		x.Executed = new(api.Executed)
	}
	x.Executed.Outcome = x.Outcome
	for i, p := range parts {
		switch {
		case x.Outcome == nil || len(p) == 0:
		case i == 0:
			x.Outcome.Data = p
		default:
			x.Outcome.Last = p
		}
	}
	return x.Executed
}
