package api

import (
	"fmt"
	"reflect"
	"time"
)

// definition is a [Verb] in the types of its message and its reply.
type definition[M, R any] struct {
	number, reply byte
	takes         func(m *M) time.Duration
	failed        func(m *M, no *Refusal) *R
	worker, node  func(m *M) *string
	check         func(m *M, all []WorkerInfo) error
	from          func(r *R, node string)
	queue         bool
	again         func(m *M) bool
	task          *taskDefinition[M, R]
	all           *allDefinition[M, R]
}

type taskDefinition[M, R any] struct {
	id    func(m *M) string
	found func(r *R) bool
	at    func(r *R) string
	// record is nil where the reply about a lost task does not depend on its record.
	record func(m *M) *Poll
	lost   func(p *Polled) *R
}

type allDefinition[M, R any] struct {
	merge  func(m *M, parts []part[R]) *R
	absent func(m *M, last []WorkerInfo) *R
	later  bool
}

// part is a [Part].
type part[R any] struct {
	node  string
	reply *R
}

var (
	verbs  = map[reflect.Type]*Verb{}
	kinds  = map[reflect.Type]byte{}
	shapes [256]func() any
)

// VerbOf returns the verb of a message; nil: it is the message of none.
func VerbOf(m any) *Verb { return verbs[reflect.TypeOf(m)] }

// Kind returns the number of a message or a reply between nodes; 0: it has none.
func Kind(m any) byte { return kinds[reflect.TypeOf(m)] }

// New returns an empty message or reply of a number; nil: there is none.
func New(kind byte) any {
	if shapes[kind] == nil {
		return nil
	}
	return shapes[kind]()
}

// number gives a message or a reply its number between nodes. None is used again.
func number[T any](n byte) struct{} {
	t := reflect.TypeFor[*T]()
	if had := kinds[t]; n == 0 || had != 0 && had != n || had == 0 && shapes[n] != nil {
		panic(fmt.Sprintf("define %s: its number %d is another's, or it has the number %d", t, n, had))
	}
	kinds[t], shapes[n] = n, func() any { return new(T) }
	return struct{}{}
}

// define makes a verb known.
func define[M, R any, P interface {
	*M
	Request[R]
}](d definition[M, R]) struct{} {
	in := func(m any) *M { return m.(*M) }
	v := &Verb{
		IsReply: func(r any) bool { _, ok := r.(*R); return ok },
		Copy:    func(m any) any { c := *in(m); return &c },
		Takes:   func(any) time.Duration { return 0 },
		Queue:   d.queue,
	}
	if d.number != 0 {
		number[M](d.number)
		number[R](d.reply)
	}
	if d.takes != nil {
		v.Takes = func(m any) time.Duration { return d.takes(in(m)) }
	}
	if d.failed != nil {
		v.Failed = func(m any, no *Refusal) any { return d.failed(in(m), no) }
	}
	if d.worker != nil {
		v.Worker = func(m any) *string { return d.worker(in(m)) }
	}
	if d.node != nil {
		v.Node = func(m any) *string { return d.node(in(m)) }
	}
	if d.check != nil {
		v.Check = func(m any, all []WorkerInfo) error { return d.check(in(m), all) }
	}
	if d.from != nil {
		v.From = func(reply any, node string) { d.from(reply.(*R), node) }
	}
	if d.again != nil {
		v.Again = func(m any) bool { return d.again(in(m)) }
	}
	if t := d.task; t != nil {
		v.Task = &TaskVerb{
			ID:    func(m any) string { return t.id(in(m)) },
			Found: func(reply any) bool { return t.found(reply.(*R)) },
			At:    func(reply any) string { return t.at(reply.(*R)) },
			Lost:  func(p *Polled) any { return t.lost(p) },
		}
		if t.record != nil {
			v.Task.Record = func(m any) *Poll { return t.record(in(m)) }
		}
	}
	if a := d.all; a != nil {
		v.All = &AllVerb{Later: a.later, Merge: func(m any, parts []Part) any { return a.merge(in(m), typed[R](parts)) }}
		if a.absent != nil {
			v.All.Absent = func(m any, last []WorkerInfo) any { return a.absent(in(m), last) }
		}
	}
	verbs[reflect.TypeFor[*M]()] = v
	return struct{}{}
}

func typed[R any](parts []Part) []part[R] {
	all := make([]part[R], len(parts))
	for i, p := range parts {
		all[i] = part[R]{p.Node, p.Reply.(*R)}
	}
	return all
}
