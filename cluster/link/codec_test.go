package link

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/persistence"
)

// value is any JSON value, as it goes between nodes: without needless blanks.
var value = rapid.Custom(func(t *rapid.T) json.RawMessage {
	if rapid.IntRange(0, 5).Draw(t, "none") == 0 {
		return nil
	}
	b, err := json.Marshal(rapid.MapOf(rapid.String(), rapid.SliceOf(rapid.Float64Range(-1e9, 1e9))).Draw(t, "value"))
	if err != nil {
		t.Fatal(err)
	}
	return b
})

// told is a value that has to be there: nothing is null.
var told = rapid.Map(value, func(v json.RawMessage) json.RawMessage {
	if v == nil {
		return json.RawMessage(`{"fill":["<b>&\u2028"]}`)
	}
	return v
})

var someTime = rapid.Custom(func(t *rapid.T) time.Time {
	return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 1e9-1).Draw(t, "ns")).UTC()
})

var code = rapid.Map(rapid.String(), func(s string) engine.Code { return engine.Code(s) })

var anOutcome = rapid.Custom(func(t *rapid.T) *engine.Outcome {
	o := &engine.Outcome{
		End: engine.EndStopped, Data: value.Draw(t, "data"), Last: value.Draw(t, "last"),
		Duration: time.Duration(rapid.Int64().Draw(t, "duration")), Restored: rapid.Bool().Draw(t, "restored"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "failures") {
		n := rapid.IntRange(0, 9).Draw(t, "iteration")
		o.Failures = append(o.Failures, engine.Failure{
			Code: code.Draw(t, "code"), Text: rapid.String().Draw(t, "text"), Path: "3/loop/do/1", Iteration: &n, Action: told.Draw(t, "action"),
		})
	}
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		o.Steps = append(o.Steps, engine.StepReport{Path: "0", Action: rapid.String().Draw(t, "action"), Millis: 1.5, Result: value.Draw(t, "result")})
	}
	return o
})

var aRefusal = rapid.Custom(func(t *rapid.T) *api.Refusal {
	return &api.Refusal{Code: code.Draw(t, "code"), Text: rapid.String().Draw(t, "text"), RetryAfter: time.Duration(rapid.Int64().Draw(t, "after"))}
})

var anExecuted = rapid.Custom(func(t *rapid.T) *api.Executed {
	x := &api.Executed{
		TaskID: rapid.String().Draw(t, "task"), WorkerName: rapid.String().Draw(t, "worker"), SessionID: rapid.String().Draw(t, "session"),
		Timeout: time.Duration(rapid.Int64().Draw(t, "timeout")),
	}
	if rapid.Bool().Draw(t, "refused") {
		x.Refusal = aRefusal.Draw(t, "refusal")
	} else {
		x.Outcome = anOutcome.Draw(t, "outcome")
	}
	return x
})

var anOrder = rapid.Custom(func(t *rapid.T) *ForwardedExecute {
	o := &ForwardedExecute{
		Execute: api.Execute{
			TaskID: rapid.String().Draw(t, "task"), Account: api.Account{ID: rapid.String().Draw(t, "account"), Plan: "pro"},
			Asked: someTime.Draw(t, "asked"), Trace: rapid.String().Draw(t, "trace"), Forwarded: rapid.Bool().Draw(t, "forwarded"),
			Idempotency: api.Idempotency{Key: rapid.String().Draw(t, "key"), Digest: rapid.SliceOfN(rapid.Byte(), 1, 32).Draw(t, "digest")},
		},
		Origin: "n1", Boot: "b", Sent: someTime.Draw(t, "sent"), Source: rapid.SliceOfN(rapid.Byte(), 0, 500).Draw(t, "source"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "files") {
		o.Files = append(o.Files, File{rapid.String().Draw(t, "name"), "text/plain", PayloadRef{"n1", "id", rapid.Int64().Draw(t, "size")}})
	}
	return o
})

// anyMessage is one of those that have something to lose on the way.
var anyMessage = rapid.OneOf(
	rapid.Map(anOrder, func(o *ForwardedExecute) any { return o }),
	rapid.Map(anExecuted, func(x *api.Executed) any { return x }),
	rapid.Map(anExecuted, func(x *api.Executed) any { return &api.Polled{Status: api.TaskFailed, Executed: x} }),
	rapid.Map(aRefusal, func(r *api.Refusal) any { return &api.Polled{Refusal: r} }),
	rapid.Map(aRefusal, func(r *api.Refusal) any { return &api.Started{TaskID: "t", Refusal: r} }),
	rapid.Map(anOutcome, func(o *engine.Outcome) any {
		f := &api.Followed{Status: api.TaskPending}
		for i, s := range o.Steps {
			f.Steps = append(f.Steps, api.TaskStep{Seq: i, Step: s})
		}
		return f
	}),
	rapid.Map(someTime, func(at time.Time) any {
		return &Inventory{Node: "n1", Boot: "b", Sent: at, Workers: []api.WorkerInfo{{ID: "w", State: api.Busy, Since: at, Account: "a"}}}
	}),
	rapid.Map(rapid.String(), func(s string) any {
		return &api.Cancel{TaskID: s, Account: api.Account{ID: s}, Cause: api.CauseAsked}
	}),
)

// TestMessagesArriveAsTheyWere: what a node sends is what another one gets.
func TestMessagesArriveAsTheyWere(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		m := anyMessage.Draw(t, "message")
		b, err := Encode(m)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := m.(*ForwardedExecute); ok && len(o.Source) == 0 {
			o.Source = got.(*ForwardedExecute).Source // none is none
		}
		if !reflect.DeepEqual(got, m) {
			t.Fatalf("sent\n%#v\ngot\n%#v", m, got)
		}
	})
}

// TestEveryMessageHasItsKind: what can be sent can be read, and nothing else is
// sent.
func TestEveryMessageHasItsKind(t *testing.T) {
	t.Parallel()
	everyKind(func(k kind, m any) {
		b, err := Encode(m)
		if err != nil || kind(b[1]) != k {
			t.Errorf("%T is written as kind %v: %v", m, b, err)
		}
	})
	if _, err := Encode("a word"); err == nil {
		t.Error("a string was encoded")
	}
}

// TestForeignMessagesAreRefused: a message of another version, or one that is
// damaged, is an error that says so.
func TestForeignMessagesAreRefused(t *testing.T) {
	t.Parallel()
	good, err := Encode(&api.Cancel{TaskID: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		b    []byte
		want string
		is   error
	}{
		"nothing":         {nil, "0 bytes", nil},
		"another version": {append([]byte{9}, good[1:]...), "9, and this node writes 1", ErrVersion},
		"unknown kind":    {append([]byte{codecVersion, 200}, good[2:]...), "kind 200", ErrVersion},
		"cut off":         {good[:len(good)-1], "cut off", nil},
		"a part too many": {append(append([]byte{}, good...), 1, 'x'), "parts", nil},
		"no JSON":         {[]byte{codecVersion, kindOf(&api.Cancel{}), 1, '{'}, "kind 8", nil},
		"a huge length":   {[]byte{codecVersion, kindOf(&api.Cancel{}), 255, 255, 255, 255, 255, 255, 255, 255, 255, 1}, "cut off", nil},
	} {
		_, err := Decode(c.b)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWhyAWorkerWasNotChanged: that the nodes have no majority is said by each as it is.
func TestWhyAWorkerWasNotChanged(t *testing.T) {
	for _, fault := range []error{nil, errors.New("there is no such worker"), fmt.Errorf("keep worker w9: %w", persistence.ErrNoQuorum)} {
		b, err := Encode(api.Changed(api.WorkerInfo{ID: "w9"}, fault))
		if err != nil {
			t.Fatal(err)
		}
		m, err := Decode(b)
		if err != nil {
			t.Fatal(err)
		}
		w := m.(*api.WorkerChanged)
		err = w.Err()
		if (err == nil) != (fault == nil) || errors.Is(err, persistence.ErrNoQuorum) != errors.Is(fault, persistence.ErrNoQuorum) || (err == nil) != (w.Worker.ID == "w9") {
			t.Errorf("of %v the other node is told %+v, %v", fault, w, err)
		}
		if err != nil && !strings.Contains(err.Error(), fault.Error()) {
			t.Errorf("%q does not say %q", err, fault)
		}
	}
}
