package actors_test

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"troupe/actors/api"
	"troupe/engine"
	"troupe/testkit"
)

// TestHistories lets accounts send tasks to real actors, give up, go away,
// cancel and lose browsers at random, while the operator adds, drains, resumes
// and removes workers and removes accounts, and checks what must hold whatever
// happens: everybody has one answer, nobody is served who is gone, or by whom who
// is drained or gone, who came first in an account begins first, and no worker is
// lost.
func TestHistories(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		h := &history{staff: staff{workers: rapid.IntRange(1, 3).Draw(rt, "workers")}}
		for range rapid.IntRange(1, 40).Draw(rt, "moves") {
			h.moves = append(h.moves, drawMove(rt))
		}
		testkit.Run(t, testkit.Options{Workers: h.workers, Engine: slowEngine(50 * time.Millisecond)}, h.play)
		if h.wrong != "" {
			rt.Fatal(h.wrong)
		}
	})
}

// move is one thing that happens.
type move struct {
	what    string
	account string
	worker  int
	which   int // of the requests sent so far
	takes   time.Duration
	waits   time.Duration
	crash   bool
	named   bool
	owned   bool
}

func drawMove(rt *rapid.T) move {
	ms := func(most int, what string) time.Duration {
		return time.Duration(rapid.IntRange(0, most).Draw(rt, what)) * time.Millisecond
	}
	m := move{what: rapid.SampledFrom([]string{
		"send", "send", "send", "send", "send", "leave", "cancel", "kill", "pass", "pass", "pass",
		"add", "drain", "resume", "remove", "erase",
	}).Draw(rt, "what")}
	switch m.what {
	case "send":
		m.account = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "account")
		m.takes, m.waits = ms(400, "takes"), ms(1500, "waits")
		m.crash = rapid.IntRange(0, 5).Draw(rt, "crash") == 0
		if m.named = rapid.IntRange(0, 4).Draw(rt, "named") == 0; m.named {
			m.worker = rapid.IntRange(0, 5).Draw(rt, "worker")
		}
	case "add":
		m.account = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "account")
		m.owned = rapid.Bool().Draw(rt, "owned")
	case "erase":
		m.account = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "account")
	case "drain", "resume":
		m.worker = rapid.IntRange(0, 5).Draw(rt, "worker")
	case "remove":
		m.worker, m.takes = rapid.IntRange(0, 5).Draw(rt, "worker"), ms(600, "grace")
	case "leave", "cancel":
		m.which = rapid.IntRange(0, 100).Draw(rt, "which")
	case "kill":
		m.worker = rapid.IntRange(0, 5).Draw(rt, "worker")
	case "pass":
		m.takes = ms(600, "time")
	}
	return m
}

type history struct {
	staff
	moves []move
	sent  []*sent
	wrong string
}

// sent is a request with what the client knows of it.
type sent struct {
	*testkit.Request
	move     move
	target   *member // that it names; nil: none
	at       time.Time
	answered time.Time // when the client was seen to have the answer
}

func (h *history) fail(format string, args ...any) {
	if h.wrong == "" {
		h.wrong = fmt.Sprintf(format, args...)
	}
}

func (h *history) play(_ *testing.T, k *testkit.Kit) {
	h.begin()
	for i, m := range h.moves {
		switch m.what {
		case "send":
			opts := []testkit.Option{testkit.Waiting(m.waits)}
			var target *member
			if m.named {
				target = h.worker(m)
				opts = append(opts, testkit.On(target.id))
			}
			// No two ends at the same moment: then their order is known.
			script := testkit.Script{Takes: m.takes + time.Duration(i+1)*time.Microsecond, Crash: m.crash}
			h.sent = append(h.sent, &sent{Request: k.Start(testkit.Pro(m.account), testkit.Task(opts...), script), move: m, target: target, at: time.Now()})
		case "leave":
			if len(h.sent) > 0 {
				h.sent[m.which%len(h.sent)].Leave()
			}
		case "cancel":
			if len(h.sent) > 0 {
				h.sent[m.which%len(h.sent)].Cancel()
			}
		case "kill":
			k.Engine.Kill(h.worker(m).id)
		case "pass":
			time.Sleep(m.takes)
		default:
			if err := h.operate(k, m); err != nil {
				h.fail("%+v: %v", m, err)
			}
		}
		k.AwaitIdle()
		h.look(k)
	}
	for _, s := range h.sent {
		s.Answer() // fails the test if there never is one
	}
	h.look(k)
	h.check(k)
	if err := h.end(k); err != nil {
		h.fail("%v", err)
	}
}

// look notes who has an answer by now, and that nobody waits for what is free.
func (h *history) look(k *testkit.Kit) {
	for _, s := range h.sent {
		if s.answered.IsZero() && s.Answered() {
			s.answered = time.Now()
		}
	}
	if s := k.Node.Status(); s.Waiting > 0 && s.Online > 0 {
		free := map[string]bool{}
		for _, w := range h.all {
			if now := k.Worker(w.id); now.State == api.Online && !now.Draining {
				free[w.id] = true
			}
		}
		for _, s := range h.sent {
			for w := range free {
				if !s.Answered() && !h.began(k, s) && h.serves(w, s) {
					h.fail("%s waits and %v are free", s.ID, free)
				}
			}
		}
	}
}

func (h *history) began(k *testkit.Kit, s *sent) bool {
	for _, w := range h.all {
		if k.Worker(w.id).TaskID == s.ID {
			return true
		}
	}
	return false
}

// check compares the answers with what was played.
func (h *history) check(k *testkit.Kit) {
	played := map[string]testkit.Played{}
	for _, p := range k.Engine.Plays() {
		if _, ok := played[p.Task]; ok {
			h.fail("%s was played twice", p.Task)
		}
		played[p.Task] = p
		if w := h.by(p.Worker); w.away(p.Began) {
			h.fail("%s began on %s, which takes no tasks: %+v", p.Task, p.Worker, w)
		}
	}
	for _, s := range h.sent {
		x := s.Answer()
		p, ok := played[s.ID]
		switch {
		case x.Refusal != nil && ok:
			h.fail("%s was refused (%s) and played", s.ID, x.Refusal.Code)
		case x.Refusal == nil && !ok && x.Outcome.End != engine.EndCancelled:
			h.fail("%s ended %s and was never played", s.ID, x.Outcome.End)
		case x.Refusal == nil && x.Outcome.End == engine.EndCompleted:
			if r, err := testkit.ResultOf(x.Outcome); err != nil || r.Task != s.ID || len(r.Before) > 0 {
				h.fail("%s got the result %+v, %v", s.ID, r, err)
			}
		case x.Refusal != nil && !h.mayRefuse(s, x.Refusal.Code):
			h.fail("%s was refused: %v", s.ID, x.Refusal)
		case ok && p.Began.After(s.answered):
			h.fail("%s began at %v, after its answer", s.ID, p.Began)
		}
		if waited := s.answered.Sub(s.at); x.Refusal != nil && x.Refusal.Position > 0 && waited < s.move.waits {
			h.fail("%s gave up after %v of %v", s.ID, waited, s.move.waits)
		}
	}
	for i, s := range h.sent {
		for _, later := range h.sent[i+1:] {
			if s.move.named || later.move.named || s.Account != later.Account {
				continue
			}
			p, ok := played[later.ID]
			switch mine, mineToo := played[s.ID]; {
			case !ok:
			case mineToo && p.Began.Before(mine.Began):
				h.fail("%s began before %s of the same account", later.ID, s.ID)
			case !mineToo && s.answered.After(p.Began) && s.at.Add(s.move.waits).After(p.Began):
				h.fail("%s began while %s, which came first, still waited", later.ID, s.ID)
			}
		}
	}
}
