package link

import (
	"context"
	"encoding/binary"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"troupe/actors/api"
)

// assemble is the reverse of pieces.
func assemble(all [][]byte) []byte {
	b := all[0]
	for _, p := range all[1:] {
		b = append(binary.AppendUvarint(b[:len(b):len(b)], uint64(len(p))), p...)
	}
	return b
}

// TestLaterFieldsAreIgnored: a message of the next release, which has one more field,
// is read as it would be without it, whatever kind it is.
func TestLaterFieldsAreIgnored(t *testing.T) {
	t.Parallel()
	everyKind(func(k kind, m any) {
		b, err := Encode(filled(t, m))
		if err != nil {
			t.Fatal(err)
		}
		all, err := pieces(b)
		if err != nil {
			t.Fatal(err)
		}
		more := []byte(`{"OfTheNextRelease":[{"Field":1}]`)
		if all[1][1] != '}' {
			more = append(more, ',')
		}
		all[1] = append(more, all[1][1:]...)
		got, err := Decode(assemble(all))
		if err != nil {
			t.Errorf("kind %d: %v", k, err)
		} else if !reflect.DeepEqual(got, m) {
			t.Errorf("kind %d: want\n%#v\ngot\n%#v", k, m, got)
		}
	})
}

// TestLaterKindsAreAnswered: a node that is asked for something that only the next
// release knows says so, and has begun nothing. It goes on answering.
func TestLaterKindsAreAnswered(t *testing.T) {
	t.Parallel()
	a, b := twoWires(t)
	var heard atomic.Int64
	stop, err := b.Serve(func(any) Reply {
		heard.Add(1)
		return Reply{Make: func() any { return &SessionLocated{Here: true} }}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer stop()
	if err := b.nc.Flush(); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	later := append([]byte{codecVersion, 200}, 2, '{', '}')
	r, err := a.nc.RequestWithContext(ctx, Subject("n2", "ask"), later)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(r.Data)
	if f, ok := m.(*Fault); err != nil || !ok || !f.Unstarted || !strings.Contains(f.Text, "its kind 200 is unknown") {
		t.Errorf("it is answered by %+v, %v", m, err)
	}
	if heard.Load() > 0 {
		t.Error("a message of an unknown kind was handed on")
	}
	if x, err := AskFor[SessionLocated](ctx, a, "n2", &LocateSession{}); err != nil || !x.Here {
		t.Errorf("the next question: %+v, %v", x, err)
	}
}

// TestLaterWordsPromiseNothing: a word of the next release is read as it is, and
// taken for no more than a node knows: a worker in such a state is not free, and a
// cancellation for such a cause is one.
func TestLaterWordsPromiseNothing(t *testing.T) {
	t.Parallel()
	i := &Inventory{Node: "n2", Workers: []api.WorkerInfo{{ID: "w", State: "resting"}}}
	b, err := Encode(i)
	if err != nil {
		t.Fatal(err)
	}
	m, err := Decode(b)
	if err != nil {
		t.Fatal(err)
	}
	if o := m.(*Inventory).Capacity(); o.Free != 0 {
		t.Errorf("%d workers in a state that nobody knows are free", o.Free)
	}
	if err := api.Cause("later").Err(); err == nil {
		t.Error("a cancellation for an unknown cause ends with no error")
	}
}
