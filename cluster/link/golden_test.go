package link

import (
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"troupe/actors/api"
	"troupe/cluster/store"
	"troupe/engine"
	"troupe/testkit/golden"
)

var _ = flag.Bool("update", false, "add golden files of messages and records whose shape has none; none is changed")

// everyKind calls f with a message of each kind that the codec has, as it is
// outside the codec: there is no other list of them.
func everyKind(f func(k kind, m any)) {
	for k := range 256 {
		m, _ := empty(kind(k))
		switch m.(type) {
		case nil:
			continue
		case *executed:
			m = new(api.Executed)
		case *polled:
			m = new(api.Polled)
		}
		f(kind(k), m)
	}
}

// makers: a task goes beside the JSON of its message, as its source.
var makers = golden.Makers{reflect.TypeFor[*engine.Task](): func() any { return (*engine.Task)(nil) }}

// filled fills a message, also with what goes beside its JSON.
func filled(t *testing.T, m any) any {
	t.Helper()
	golden.Fill(t, m, makers)
	switch m := m.(type) {
	case *ForwardedExecute:
		m.Source = []byte(`{"actions":[{"open":"about:blank"}]}`)
	case *ViewFrame:
		m.Picture = []byte{0xff, 0xd8, 0, 1}
	case *ClientMessages:
		m.Bytes = []byte(`{"id":1,"method":"Browser.getVersion"}`)
	}
	return m
}

// messageName is what the golden file of a message is called: its number, which is
// on the wire, and its name in Go when the first file was written.
func messageName(t *testing.T, k kind, m any) string {
	t.Helper()
	number := fmt.Sprintf("%02d-", k)
	there, err := filepath.Glob(golden.Folder + "/" + number + "*.msg")
	if err != nil {
		t.Fatal(err)
	}
	if len(there) > 0 {
		name, _, _ := strings.Cut(filepath.Base(there[0]), ".")
		return name
	}
	return number + strings.ToLower(reflect.TypeOf(m).Elem().Name())
}

// pieces takes a message apart: version and kind, then its parts.
func pieces(b []byte) ([][]byte, error) {
	if len(b) < 2 {
		return nil, errors.New("it is too short")
	}
	all := [][]byte{b[:2]}
	for rest := b[2:]; len(rest) > 0; {
		n, w := binary.Uvarint(rest)
		if w <= 0 || n > uint64(len(rest)-w) {
			return nil, errors.New("it is cut off")
		}
		all, rest = append(all, rest[w:w+int(n)]), rest[w+int(n):]
	}
	return all, nil
}

// again reads a message and writes what it has read.
func again(old []byte) ([]byte, error) {
	m, err := Decode(old)
	if err != nil {
		return nil, err
	}
	return Encode(m)
}

// keptMessages are all messages and records of nodes.
func keptMessages(t *testing.T) []golden.Case {
	var all []golden.Case
	everyKind(func(k kind, m any) {
		today, err := Encode(filled(t, m))
		if err != nil {
			t.Fatal(err)
		}
		inside, _ := empty(k)
		all = append(all, golden.Case{
			Name: messageName(t, k, m), Ext: "msg", Today: today, Again: again, Parts: pieces,
			Types: []reflect.Type{reflect.TypeOf(m), reflect.TypeOf(inside)},
		})
	})
	return append(all,
		golden.Record[wantPiece](t, "want-piece", nil),
		golden.Places(t, map[string]string{
			"ask": Subject("n1", "ask"), "inventory": InventorySubject, "piece": Subject("n1", "piece"), "ping": Subject("n1", "ping"),
			"stamp": StampHeader, "promised stamp": PromisedHeader, "keeper": KeeperHeader,
			"description of a file": store.FilePrefix + "id", "part of a file": store.PartSubject("id", 3), "stream of files": store.FileStream,
			"record": store.RecordSubject("task/t1"), "record with odd signs": store.RecordSubject("account/a.b c*>~ü"), "stream of records": store.RecordStream,
			"expiry": store.ExpiresHeader, "deletion": store.DeletedHeader, "write": store.WriteHeader,
		}),
	)
}

// TestGolden: what nodes of earlier releases send is understood, and each message
// that nodes send today has a golden file for later ones.
func TestGolden(t *testing.T) { golden.Test(t, "cluster/link", keptMessages(t)) }

// TestEveryMessageArrivesWhole: nothing of a filled message is lost on the way,
// whatever kind it is.
func TestEveryMessageArrivesWhole(t *testing.T) {
	t.Parallel()
	everyKind(func(k kind, m any) {
		b, err := Encode(filled(t, m))
		if err != nil {
			t.Fatal(err)
		}
		if kind(b[1]) != k {
			t.Errorf("%T is written as kind %d, and read as kind %d", m, b[1], k)
		}
		got, err := Decode(b)
		if err != nil {
			t.Errorf("kind %d, %T: %v", k, m, err)
		} else if !reflect.DeepEqual(got, m) {
			t.Errorf("kind %d: sent\n%#v\ngot\n%#v", k, m, got)
		}
	})
}

// TestEveryFieldHasAName: a field that is renamed in Go keeps its name in what is
// written.
func TestEveryFieldHasAName(t *testing.T) { golden.Named(t, keptMessages(t)) }
