package link

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/rs/zerolog"
)

// maxInline is how many bytes a message between nodes may have. Receivers fetch larger
// ones in pieces: two nodes have one connection, and a large message would delay the
// small ones behind it, first of all pings.
const maxInline = 1<<20 + 64<<10 // a request's JSON and its description

const (
	// maxRequests bounds what a node does for others at the same time.
	maxRequests = 8192
	// maxRequestBytes bounds the bytes of all messages that it does so for.
	maxRequestBytes = 256 << 20
	// fetchTimeout bounds the time of one piece.
	fetchTimeout = 10 * time.Second
)

var (
	// ErrUndelivered: the message has certainly not reached anybody.
	ErrUndelivered = errors.New("no node received the message")
	// ErrUnstarted: the node that has the message has begun nothing of it, nor will.
	ErrUnstarted = errors.New("the node did not start the request")
	ErrBusy      = errors.New("the node already handles too many requests of other nodes")
)

// Transport sends messages to other nodes and answers theirs.
type Transport struct {
	nc    *nats.Conn
	node  string
	log   zerolog.Logger
	out   *payloadStore
	slots chan struct{}
	bytes atomic.Int64 // of the messages that have a slot
}

func NewTransport(nc *nats.Conn, node string, log zerolog.Logger) *Transport {
	return &Transport{nc: nc, node: node, log: log, out: newPayloadStore(node), slots: make(chan struct{}, maxRequests)}
}

// Subject is where a node takes one sort of messages.
func Subject(node, what string) string { return "troupe.node." + node + "." + what }

// The headers of pings: what an answer says of its node's lease, and the one of an earlier
// answer for which the node that pings promises something.
const (
	StampHeader    = "Troupe-Stamp"
	PromisedHeader = "Troupe-Promised"
	KeeperHeader   = "Troupe-Keeper"
)

const InventorySubject = "troupe.inventory"

// Ask sends a message to a node and waits for its answer until ctx ends.
func (w *Transport) Ask(ctx context.Context, node string, m any) (any, error) {
	return w.ask(ctx, node, m, func() {})
}

// AskWithin is Ask for what a node answers at once: the answer has to begin within so long,
// and may then take its time to be fetched.
func (w *Transport) AskWithin(ctx context.Context, node string, m any, most time.Duration) (any, error) {
	asking, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(most, func() { cancel(context.DeadlineExceeded) })
	return w.ask(asking, node, m, func() { late.Stop() })
}

// ask is Ask, with heard as in [AskHeard].
func (w *Transport) ask(ctx context.Context, node string, m any, heard func()) (any, error) {
	b, err := Encode(m)
	if err != nil {
		return nil, err
	}
	if len(b) > maxInline {
		return nil, fmt.Errorf("ask %s: the message has %d bytes, more than %d", node, len(b), maxInline)
	}
	r, err := w.nc.RequestWithContext(ctx, Subject(node, "ask"), b)
	switch {
	case errors.Is(err, nats.ErrNoResponders), errors.Is(err, nats.ErrReconnectBufExceeded): // or there is no connection
		return nil, fmt.Errorf("ask %s: %w", node, ErrUndelivered)
	case err != nil && ctx.Err() != nil:
		return nil, fmt.Errorf("ask %s: %w", node, context.Cause(ctx))
	case err != nil:
		return nil, fmt.Errorf("ask %s: %w", node, err)
	}
	heard()
	got, err := Decode(r.Data)
	if p, ok := got.(*PayloadRef); ok && p.Node != node {
		err = fmt.Errorf("it answers with a payload of %q", p.Node)
	} else if ok {
		if b, err = w.fetch(ctx, *p); err == nil {
			got, err = Decode(b)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("ask %s: %w", node, err)
	}
	switch f, ok := got.(*Fault); {
	case ok && f.Unstarted:
		return nil, fmt.Errorf("ask %s: it answers: %s: %w", node, f.Text, ErrUnstarted)
	case ok:
		return nil, fmt.Errorf("ask %s: it answers: %s", node, f.Text)
	}
	return got, nil
}

// AskFor is Ask for an answer of one type.
func AskFor[T any](ctx context.Context, w *Transport, node string, m any) (*T, error) {
	return AskHeard[T](ctx, w, node, m, func() {})
}

// AskHeard is AskFor. It calls heard when the node has answered, which may be long before
// a large answer is fetched.
func AskHeard[T any](ctx context.Context, w *Transport, node string, m any, heard func()) (*T, error) {
	got, err := w.ask(ctx, node, m, heard)
	if err != nil {
		return nil, err
	}
	x, ok := got.(*T)
	if !ok {
		return nil, fmt.Errorf("ask %s: it answers %T with %T", node, m, got)
	}
	return x, nil
}

// Tell sends a message that has no answer that matters.
func (w *Transport) Tell(node string, m any) {
	b, err := Encode(m)
	if err == nil {
		err = w.nc.Publish(Subject(node, "ask"), b)
	}
	if err != nil {
		w.log.Warn().Err(err).Str("to", node).Msg("another node could not be told")
	}
}

// Reply is how a message is answered.
type Reply struct {
	Make func() any // the answer, which may take its time
	Sent func()     // called once that is on its way; nil: nobody needs to know
}

// Serve answers what other nodes ask. Receive sees each message in the order in which they
// came. After stop it sees none any more, and other nodes can still fetch large answers.
func (w *Transport) Serve(receive func(m any) Reply) (stop func(), err error) {
	pieces, err := w.nc.Subscribe(Subject(w.node, "piece"), w.onPiece)
	if err != nil {
		return nil, fmt.Errorf("listen to other nodes: %w", err)
	}
	asks, err := w.nc.Subscribe(Subject(w.node, "ask"), func(m *nats.Msg) { w.onAsk(m, receive) })
	if err != nil {
		_ = pieces.Unsubscribe()
		return nil, fmt.Errorf("listen to other nodes: %w", err)
	}
	return func() { _ = asks.Unsubscribe() }, nil
}

// Finish waits until other nodes have fetched the large answers, or until ctx ends.
func (w *Transport) Finish(ctx context.Context) {
	for ctx.Err() == nil && w.out.waiting() {
		time.Sleep(5 * time.Millisecond)
	}
}

func (w *Transport) onAsk(msg *nats.Msg, receive func(m any) Reply) {
	size := int64(len(msg.Data))
	if w.bytes.Add(size) > maxRequestBytes {
		w.bytes.Add(-size)
		w.respond(msg, &Fault{Text: ErrBusy.Error(), Unstarted: true})
		return
	}
	select {
	case w.slots <- struct{}{}:
	default:
		w.bytes.Add(-size)
		w.respond(msg, &Fault{Text: ErrBusy.Error(), Unstarted: true})
		return
	}
	end := func() {
		w.bytes.Add(-size)
		<-w.slots
	}
	m, err := ReadMessage(msg)
	if err != nil {
		w.respond(msg, &Fault{Text: err.Error(), Unstarted: true})
		end()
		return
	}
	answer := receive(m)
	msg.Data = nil // decoded, and waiting for an answer it is not to be kept twice
	go func() {
		defer end()
		w.respond(msg, answer.Make())
		if answer.Sent != nil {
			answer.Sent()
		}
	}()
}

// Answering is how many messages of other nodes are not answered yet.
func (w *Transport) Answering() int { return len(w.slots) }

// Occupy takes all slots, as if so many messages were being answered: until
// release, the node slots away what others ask.
func (w *Transport) Occupy() (release func()) {
	for range maxRequests {
		w.slots <- struct{}{}
	}
	return func() {
		for range maxRequests {
			<-w.slots
		}
	}
}

// received reads a message of another node. None sends a larger one.
func ReadMessage(msg *nats.Msg) (any, error) {
	if len(msg.Data) > maxInline {
		return nil, fmt.Errorf("decode a message: it has %d bytes, more than %d", len(msg.Data), maxInline)
	}
	return Decode(msg.Data)
}

// respond answers a message. An answer that is large waits to be fetched.
func (w *Transport) respond(msg *nats.Msg, m any) {
	if msg.Reply == "" {
		return
	}
	b, err := Encode(m)
	if err == nil && len(b) > maxInline {
		var p PayloadRef
		if p, err = w.out.answer(b); err == nil {
			b, err = Encode(&p)
		}
	}
	if err != nil {
		w.log.Error().Err(err).Msg("answer to another node not written")
		b, _ = Encode(&Fault{Text: "the answer could not be written"})
	}
	if err := msg.Respond(b); err != nil {
		w.log.Error().Err(err).Msg("answer to another node not sent")
	}
}
