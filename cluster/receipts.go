package cluster

import (
	"context"
	"errors"
	"fmt"
	"time"

	"troupe/actors/api"
	"troupe/cluster/link"
	"troupe/cluster/member"
)

// A message to another node can be lost while both are there: the connection
// between them broke. So the sender of a task asks soon, and then again and again,
// whether the task has arrived. A node that has it says so, and gives the answer
// again if it has answered. A node that has not will not take it any more: the task
// is withdrawn, and may be sent again. A node of the release before does not know
// the question; then the sender waits as long as the task may take.

const (
	// receiptAfter is when a sender asks for the first time: short tasks have ended.
	// It asks again after receiptRetry while it learns nothing, and after
	// receiptAgain while the task goes on: answers can be lost, too.
	receiptAfter = 200 * time.Millisecond
	receiptRetry = 500 * time.Millisecond
	receiptAgain = 2 * time.Second
	// receiptTimeout bounds one question: it can be lost as the task was.
	receiptTimeout = 700 * time.Millisecond
	// maxFetchTries is how often a given answer is asked for where no answer begins.
	maxFetchTries = 3
	// maxTries bounds how often a task is sent to one node that does not get it.
	maxTries = 2

	// answersFor and maxAnswerBytes bound what is kept of answers, to be given
	// again.
	answersFor     = 30 * time.Second
	maxAnswerBytes = 32 << 20
)

var (
	// errUnreceived: the task has not arrived, and is withdrawn. Nothing of it has
	// begun.
	errUnreceived = fmt.Errorf("the task did not arrive: %w", link.ErrUnstarted)
	// errAnswerGone: the node has answered, and the answer was lost.
	errAnswerGone = errors.New("the answer of the node was lost")
	// errWithdrawn: the task comes after the node has said that it does not have it.
	errWithdrawn = errors.New("the task was withdrawn before it arrived")
)

// sentOrder is a task on its way to another node.
type sentOrder struct {
	c     *Router
	node  string
	order *link.ForwardedExecute
	// over ends the wait for the answer, with an answer or with the reason why there
	// is none.
	over func(answer any, err error)
}

func (s *sentOrder) question() *link.ReceiptQuery {
	return &link.ReceiptQuery{TaskID: s.order.TaskID, Origin: s.order.Origin, Try: s.order.Try, Boot: s.order.To}
}

// ask asks what became of the task.
func (s *sentOrder) ask(ctx context.Context) (any, error) {
	return s.c.transport.AskWithin(ctx, s.node, s.question(), receiptTimeout)
}

// fetchAgain asks for an answer that the node has given, and again where nobody answers.
func (s *sentOrder) fetchAgain(ctx context.Context) (any, error) {
	x, err := s.ask(ctx)
	for tries := 1; tries < maxFetchTries && errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil; tries++ {
		x, err = s.ask(ctx)
	}
	if _, isReceipt := x.(*link.Receipt); err == nil && isReceipt {
		err = errAnswerGone
	}
	return x, err
}

// watch asks for the receipt of a task until its answer comes, or the wait for it ends.
func (s *sentOrder) watch(ctx context.Context) {
	wait, answered := receiptAfter, false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		x, err := s.ask(ctx)
		r, isReceipt := x.(*link.Receipt)
		switch {
		case ctx.Err() != nil:
			return
		case err != nil: // nothing is known: a fault of the task itself says so, too
			wait = receiptRetry
		case !isReceipt:
			s.over(x, nil)
			return
		case r.Boot != s.order.To:
			s.over(nil, errDown)
			return
		case !r.Received:
			s.over(nil, errUnreceived)
			return
		case r.Answered && answered: // it had time to arrive
			s.over(nil, errAnswerGone)
			return
		default:
			wait, answered = receiptAgain, r.Answered
		}
	}
}

// keptAnswer is the answer to a task of another node, for a sender that has not got
// it.
type keptAnswer struct {
	task, origin string
	try          uint64
	answer       any
	size         int
	given        time.Time
}

// sizeOf is about how much an answer takes.
func sizeOf(answer any) int {
	size := 1 << 10
	if x, ok := answer.(*api.Executed); ok && x.Outcome != nil {
		size += len(x.Outcome.Data) + len(x.Outcome.Last)
	}
	return size
}

// keep keeps an answer for a while. The caller holds the lock.
func (g *hostedTasks) keep(one *hostedTask, answer any) {
	switch answer.(type) {
	case *api.Executed, *api.Started:
	default: // a fault says that nothing has begun: so does that nothing is kept
		return
	}
	if one.try == 0 {
		return
	}
	a := keptAnswer{task: one.id, origin: one.origin, try: one.try, answer: answer, size: sizeOf(answer), given: time.Now()}
	g.answers, g.answerBytes = append(g.answers, a), g.answerBytes+a.size
	g.dropAnswers()
}

func (g *hostedTasks) dropAnswers() {
	n := 0
	for n < len(g.answers) && (g.answerBytes > maxAnswerBytes || time.Since(g.answers[n].given) > answersFor) {
		g.answerBytes -= g.answers[n].size
		n++
	}
	clear(g.answers[:n]) // they hold results
	if g.answers = g.answers[n:]; len(g.answers) == 0 {
		g.answers = nil
	}
}

// receipt says whether the node has a task. A task that it does not have it will not
// take, should it still arrive.
func (g *hostedTasks) receipt(q *link.ReceiptQuery) any {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := &link.Receipt{Boot: g.boot}
	if q.Boot != g.boot || q.Try == 0 || len(q.TaskID) > maxTaskID || !member.ValidName.MatchString(q.Origin) {
		return r
	}
	for _, a := range g.answers {
		if a.task == q.TaskID && a.origin == q.Origin && a.try == q.Try && g.unsent[a.task] == nil {
			return a.answer
		}
	}
	one := g.running[q.TaskID]
	switch {
	case one != nil:
		r.Received = one.try == q.Try
	case g.unsent[q.TaskID] != nil:
		r.Received = g.unsent[q.TaskID].try == q.Try
	case g.seen[q.TaskID]:
		r.Received, r.Answered = true, true
	}
	if !r.Received {
		g.withdraw(q.Origin, q.TaskID, q.Try)
	}
	return r
}

// withdraw turns away what is still on its way of a task: this try and earlier ones.
// The caller holds the lock.
func (g *hostedTasks) withdraw(origin, task string, try uint64) {
	if g.withdrawn == nil {
		g.withdrawn = map[string]uint64{}
	}
	from := origin + "/" + task
	if _, known := g.withdrawn[from]; !known {
		g.withdrawals = append(g.withdrawals, from)
	}
	g.withdrawn[from] = max(g.withdrawn[from], try)
	for len(g.withdrawals) > maxSeenTasks {
		delete(g.withdrawn, g.withdrawals[0])
		g.withdrawals = g.withdrawals[1:]
	}
}
