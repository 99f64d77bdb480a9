package cluster

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"troupe/actors/api"
	"troupe/cluster/link"
)

// receiptModel is a sender and a receiver of one task, with what is on its way between
// them: it can be lost, delayed, delivered twice, and overtaken.
type receiptModel struct {
	g       *hostedTasks
	boots   int
	running *hostedTask
	unsent  []unsentAnswer
	plays   int

	onWay []*link.ForwardedExecute
	last  *link.ForwardedExecute // whose answer the sender waits for; nil: none
	tries uint64
	never map[string]bool // what was said not to have arrived, by boot and try
	free  bool            // what was sent last has not begun
	over  bool            // the sender knows its end, or has given it up
	log   []string
}

func (m *receiptModel) note(format string, args ...any) {
	m.log = append(m.log, fmt.Sprintf(format, args...))
}

func (m *receiptModel) restart() {
	m.boots++
	m.g, m.running, m.unsent = &hostedTasks{boot: fmt.Sprint("b", m.boots)}, nil, nil
	m.note("start %s", m.g.boot)
}

// send is what forward does: a task is sent again only when it did not arrive.
func (m *receiptModel) send() {
	if m.over || m.last != nil {
		return
	}
	m.tries++
	m.free = false
	o := &link.ForwardedExecute{Origin: "n1", Try: m.tries, To: m.g.boot}
	o.TaskID = "task"
	m.last, m.onWay = o, append(m.onWay, o)
	m.note("send %d", o.Try)
}

// playElsewhere plays the task on another node, which may be done where it was not taken.
func (m *receiptModel) playElsewhere() {
	if m.free && m.last == nil && !m.over {
		m.plays, m.over = m.plays+1, true
		m.note("played elsewhere")
	}
}

func (m *receiptModel) deliver(i int, keeps bool) error {
	o := m.onWay[i]
	if !keeps {
		m.onWay = append(m.onWay[:i:i], m.onWay[i+1:]...)
	}
	one, err := m.g.begin(o)
	m.note("deliver %d: %v", o.Try, err)
	if err != nil {
		return nil
	}
	m.running = one
	if m.never[fmt.Sprint(m.g.boot, o.Try)] {
		return fmt.Errorf("try %d is taken after it was said not to have arrived", o.Try)
	}
	return nil
}

// unsentAnswer is an answer that is still being written.
type unsentAnswer struct {
	one *hostedTask
	x   *api.Executed
}

func (m *receiptModel) end(refused bool) {
	one := m.running
	if one == nil {
		return
	}
	m.running = nil
	x := &api.Executed{TaskID: "task"}
	if refused {
		x.Refusal = &api.Refusal{}
	} else {
		m.plays++
	}
	m.g.end(one, refused, x)
	m.unsent = append(m.unsent, unsentAnswer{one, x})
	m.note("end %d: refused %v", one.try, refused)
}

// sendAnswers sends what has ended.
func (m *receiptModel) sendAnswers(lost bool) {
	for _, a := range m.unsent {
		m.g.answered(a.one)
		m.note("answer %d: lost %v", a.one.try, lost)
		if !lost && m.last != nil && m.last.Try == a.one.try {
			m.answered(a.x)
		}
	}
	m.unsent = nil
}

// answered: what was refused may be sent again.
func (m *receiptModel) answered(x *api.Executed) {
	m.last, m.over = nil, x.Refusal == nil
}

func (m *receiptModel) ask() {
	if m.last == nil {
		return
	}
	switch x := m.g.receipt(&link.ReceiptQuery{TaskID: "task", Origin: "n1", Try: m.last.Try, Boot: m.last.To}).(type) {
	case *api.Executed:
		m.note("receipt %d: its answer", m.last.Try)
		m.answered(x)
	case *link.Receipt:
		m.note("receipt %d: %+v", m.last.Try, *x)
		switch {
		case x.Boot != m.last.To:
			m.last, m.over = nil, true // it is lost
		case !x.Received:
			m.never[fmt.Sprint(m.last.To, m.last.Try)] = true
			m.last, m.free = nil, true
		}
	}
}

// TestReceipts: whatever is lost, delayed or delivered twice, a task is played once at
// most, and what was said not to have arrived is not taken. A sender that goes on asking
// learns what became of the task.
func TestReceipts(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 1))
		m := &receiptModel{never: map[string]bool{}}
		m.restart()
		fail := func(err error) {
			t.Fatalf("seed %d: %v\n%q", seed, err, m.log)
		}
		for range 40 {
			var err error
			switch n := r.IntN(20); {
			case n < 5:
				m.send()
			case n < 11 && len(m.onWay) > 0:
				err = m.deliver(r.IntN(len(m.onWay)), r.IntN(4) == 0)
			case n < 12 && len(m.onWay) > 0: // lost
				m.onWay = m.onWay[1:]
			case n < 15:
				m.end(r.IntN(3) == 0)
				if r.IntN(2) == 0 {
					m.sendAnswers(r.IntN(2) == 0)
				}
			case n < 18:
				m.ask()
			case n < 19:
				m.playElsewhere()
			default:
				if r.IntN(5) == 0 {
					m.restart()
				}
			}
			if err != nil {
				fail(err)
			}
			if m.plays > 1 {
				fail(fmt.Errorf("it was played %d times", m.plays))
			}
		}
		// Now nothing is lost any more.
		for range 10 {
			m.end(false)
			m.sendAnswers(true)
			m.ask()
			m.send()
			for len(m.onWay) > 0 {
				if err := m.deliver(0, false); err != nil {
					fail(err)
				}
			}
		}
		if !m.over || m.plays > 1 {
			fail(fmt.Errorf("in the end the sender knows: %v, played %d times", m.over, m.plays))
		}
	}
}
