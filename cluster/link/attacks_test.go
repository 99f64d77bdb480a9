package link

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// Attacks of one member, or faults of one, on the memory and the processor of
// another. Members know the secret and are trusted; a fault of one must still not
// take the others down.

// raw is a message as it is on the line.
func raw(k kind, parts ...[]byte) []byte {
	b := []byte{codecVersion, byte(k)}
	for _, p := range parts {
		b = append(binary.AppendUvarint(b, uint64(len(p))), p...)
	}
	return b
}

// allocated is how many bytes f has allocated, with all that ran beside it.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// TestAttackShortTextsLargeInMemory: a message of one megabyte takes a few of them,
// whatever is in it and whichever length it says. It measures what the process
// allocates, so nothing runs beside it.
func TestAttackShortTextsLargeInMemory(t *testing.T) {
	need.NoRace(t)
	const size, most = 1 << 20, 48 << 20
	list := func(field, element string) []byte {
		n := size / (len(element) + 1)
		return []byte(fmt.Sprintf(`{"%s":[%s]}`, field, strings.TrimSuffix(strings.Repeat(element+",", n), ",")))
	}
	long := func(n uint64) []byte {
		return append(binary.AppendUvarint([]byte{codecVersion, kindOf(&api.Cancel{})}, n), '{', '}')
	}
	for name, b := range map[string][]byte{
		"workers without fields":   raw(kindOf(&Inventory{}), list("Workers", "{}")),
		"workers that are null":    raw(kindOf(&Inventory{}), list("workers", "null")),
		"workers that are none":    raw(kindOf(&api.Workers{}), list("Workers", "0")),
		"a field with an escape":   raw(kindOf(&api.Workers{}), list(`\u0057orkers`, "{}")),
		"tasks":                    raw(kindOf(&RecentTasksReply{}), list("Tasks", "{}")),
		"news":                     raw(kindOf(&ViewEvents{}), list("News", `{"Task":{}}`)),
		"files":                    raw(kindExecute, list("Files", "{}"), []byte("{}")),
		"steps":                    raw(kindOf(&api.Followed{}), list("Steps", "{}")),
		"an outcome's steps":       raw(kindExecuted, []byte(`{"Outcome":`+string(list("Steps", "{}"))+`}`)),
		"parts without bytes":      append([]byte{codecVersion, kindOf(&api.Cancel{})}, make([]byte, 8<<20)...),
		"4 GiB that are not there": long(4 << 30),
		"all bytes that there are": long(math.MaxUint64),
		"lists within lists":       raw(kindOf(&api.Cancel{}), []byte(strings.Repeat("[", size))),
		"objects within objects":   raw(kindOf(&api.Cancel{}), []byte(strings.Repeat(`{"Account":`, size/11))),
	} {
		var err error
		if took := allocated(func() { _, err = Decode(b) }); took > most {
			t.Errorf("%s: %d KiB are decoded with %d KiB", name, len(b)>>10, took>>10)
		}
		if err == nil {
			t.Errorf("%s: it is a message", name)
		}
	}
	// A client's values have any shape: what they are is not decoded here.
	values := json.RawMessage(list("a", "[{}]"))
	b, err := Encode(&api.Executed{TaskID: "t", Outcome: &engine.Outcome{End: engine.EndCompleted, Steps: []engine.StepReport{{Path: "0", Result: values}}}})
	if err == nil {
		_, err = Decode(b)
	}
	if err != nil {
		t.Errorf("a result with many short lists: %v", err)
	}
}

// TestAttackAnnouncedSize: a payload takes memory as it comes, not as it is announced.
func TestAttackAnnouncedSize(t *testing.T) {
	a, b := twoWires(t)
	id := func(n int) string { return fmt.Sprintf("%032d", n) }
	sub, err := b.nc.Subscribe(Subject("n2", "piece"), func(m *nats.Msg) {
		_ = m.Respond([]byte{1, 'n', 'o'})
	})
	if err == nil {
		err = b.nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	took := allocated(func() {
		for i := range 8 {
			if _, err := a.fetch(t.Context(), PayloadRef{"n2", id(i), maxMessage}); err == nil {
				t.Error("a payload was fetched that is not there")
			}
		}
	})
	if took > 64<<20 {
		t.Errorf("%d MiB were taken for payloads of which nothing has come", took>>20)
	}
}

// TestAttackAnswersNeverFetched: large answers that nobody fetches, because the asker
// is gone or never wanted them, take no more memory than one budget; the last ones,
// and those that are being read, are there.
func TestAttackAnswersNeverFetched(t *testing.T) {
	need.NoRace(t)
	t.Parallel()
	a, b := twoWires(t)
	quoted := []byte(`"` + strings.Repeat("x", 4<<20) + `"`)
	stop, err := b.Serve(func(any) Reply {
		return Reply{Make: func() any {
			return &api.Executed{TaskID: "t", Outcome: &engine.Outcome{End: engine.EndCompleted, Data: quoted}}
		}}
	})
	if err == nil {
		err = b.nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	ask, err := Encode(&LocateSession{})
	if err != nil {
		t.Fatal(err)
	}
	announced := func() PayloadRef {
		r, err := a.nc.Request(Subject("n2", "ask"), ask, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(r.Data)
		p, ok := m.(*PayloadRef)
		if err != nil || !ok {
			t.Fatalf("the answer is %T, %v", m, err)
		}
		return *p
	}
	reading, last := announced(), PayloadRef{}
	for range 70 {
		last = announced()
		if _, err := b.out.read(wantPiece{ID: reading.ID, Size: pieceSize}); err != nil {
			t.Fatalf("one that is being read: %v", err)
		}
	}
	var kept int64
	b.out.mu.Lock()
	for _, p := range b.out.has {
		kept += p.size
	}
	b.out.mu.Unlock()
	if kept > maxMessage {
		t.Errorf("%d MiB wait to be fetched", kept>>20)
	}
	for name, p := range map[string]PayloadRef{"the last": last, "the one that was read": reading} {
		if got, err := a.fetch(t.Context(), p); err != nil || int64(len(got)) != p.Size {
			t.Errorf("%s: %d bytes, %v", name, len(got), err)
		}
	}
}

// TestAttackLargeMessages: what is larger than any node sends is not taken, and of the
// others no more at once than a budget; whoever asks is told, and nothing has begun.
func TestAttackLargeMessages(t *testing.T) {
	t.Parallel()
	a, b := twoWires(t)
	hold := make(chan struct{})
	var took atomic.Int64
	stop, err := b.Serve(func(m any) Reply {
		if o, ok := m.(*ForwardedExecute); ok {
			took.Add(int64(len(o.Source)))
		}
		return Reply{Make: func() any { <-hold; return &CloseView{} }}
	})
	if err == nil {
		err = b.nc.Flush()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	defer close(hold)
	var turned atomic.Int64
	inbox := a.nc.NewInbox()
	sub, err := a.nc.Subscribe(inbox, func(m *nats.Msg) {
		x, err := Decode(m.Data)
		if f, ok := x.(*Fault); err == nil && ok && f.Unstarted {
			turned.Add(1)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer sub.Unsubscribe()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%d bytes were taken, and %d messages turned away", took.Load(), turned.Load())
		}
	})
	large := raw(kindExecute, []byte("{}"), make([]byte, 7<<20))
	if err := a.nc.PublishRequest(Subject("n2", "ask"), inbox, large); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "one of 7 MiB is taken or turned away", func() bool { return turned.Load() == 1 || took.Load() > 0 })
	if took.Load() > 0 {
		t.Error("a message of 7 MiB was taken")
	}
	one := raw(kindExecute, []byte("{}"), make([]byte, 1<<20))
	const n = 280
	for i := range n {
		if err := a.nc.PublishRequest(Subject("n2", "ask"), inbox, one); err != nil {
			t.Fatal(err)
		}
		if i%20 == 0 { // or they would be dropped on the way
			wait.Until(t, "so are those so far", func() bool { return took.Load()>>20+turned.Load() >= int64(i) })
		}
	}
	wait.Until(t, "so are all", func() bool { return took.Load()>>20+turned.Load() >= n+1 })
	if got := took.Load(); got > 256<<20 || got < 200<<20 {
		t.Errorf("%d MiB are held at once", got>>20)
	}
}

// TestAttackPiecesOutside: a piece of which anything is outside is not read.
func TestAttackPiecesOutside(t *testing.T) {
	t.Parallel()
	o := newPayloadStore("n1")
	p := o.put(bytesIn(make([]byte, 1000)), 1000, 0)
	for _, m := range []wantPiece{
		{From: -1, Size: 10}, {From: 991, Size: 10}, {From: math.MaxInt64, Size: pieceSize}, {From: math.MinInt64, Size: 1},
		{From: 0, Size: 0}, {From: 0, Size: -1}, {From: 0, Size: pieceSize + 1}, {From: 0, Size: math.MaxInt},
	} {
		m.ID = p.ID
		if b, err := o.read(m); err == nil || !strings.Contains(err.Error(), "the payload has no") {
			t.Errorf("%+v: %d bytes, %v", m, len(b), err)
		}
	}
	if b, err := o.read(wantPiece{ID: p.ID, From: 990, Size: 10}); err != nil || len(b) != 11 {
		t.Errorf("the end of it: %d bytes, %v", len(b), err)
	}
}
