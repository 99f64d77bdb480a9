package enginetest

import (
	"context"
	"strings"
	"sync"
	"time"

	"troupe/engine"
)

var background = context.Background()

func answers(p *probe) {
	in := p.launch()
	p.lives(in)
	if first := in.Gone(); in.Gone() != first {
		p.Error("Gone is another channel each time")
	}
}

func checks(p *probe) {
	in := p.launch()
	check := func() error {
		ctx, cancel := context.WithTimeout(background, slow)
		defer cancel()
		return in.Check(ctx)
	}
	if memory := in.Memory(); memory < 0 {
		p.Errorf("it takes %d bytes", memory)
	}
	if err := check(); err != nil {
		p.Errorf("a browser that lives: %v", err)
	}
	ctx, cancel := context.WithCancel(background)
	ended := make(chan *engine.Outcome, 1)
	go func() { ended <- in.Play(ctx, p.o.Long(p.T), engine.TaskEnv{}) }()
	if err := check(); err != nil {
		p.Errorf("while a task is played: %v", err)
	}
	cancel()
	p.soon("a task that was cancelled", func() { <-ended })
	in.Close()
	if err := check(); err == nil {
		p.Error("a browser that was closed answers")
	}
}

func launchEnds(p *probe) {
	ctx, cancel := context.WithCancel(background)
	cancel()
	p.soon("a launch that is not wanted", func() {
		if in, err := p.engine.Launch(ctx, "w1"); err == nil {
			in.Close() // fast enough to have succeeded
		}
	})
	// The context bounds the start, not the browser.
	ctx, cancel = context.WithCancel(background)
	in, err := p.engine.Launch(ctx, "w1")
	if err != nil {
		p.Fatalf("launch: %v", err)
	}
	defer in.Close()
	cancel()
	p.wantEnd(p.play(background, in, p.o.Short(p.T)), engine.EndCompleted)
}

func completes(p *probe) {
	in := p.launch()
	for range 3 {
		out := p.play(background, in, p.o.Short(p.T))
		p.wantEnd(out, engine.EndCompleted)
		if len(out.Failures) > 0 || out.Duration < 0 || out.Restored {
			p.Errorf("%+v", out)
		}
		p.reset(in)
	}
}

func endsOfContexts(p *probe) {
	in := p.launch()
	for _, c := range []struct {
		cause error
		end   engine.End
	}{
		{context.DeadlineExceeded, engine.EndTimeout},
		{engine.ErrClientGone, engine.EndCancelled},
		{engine.ErrCancelled, engine.EndCancelled},
		{engine.ErrDraining, engine.EndInterrupted},
	} {
		ctx, cancel := context.WithCancelCause(background)
		stop := time.AfterFunc(50*time.Millisecond, func() { cancel(c.cause) })
		p.soon("a task whose context has ended", func() {
			if out := in.Play(ctx, p.o.Long(p.T), engine.TaskEnv{TaskID: "task_1"}); out == nil || out.End != c.end {
				p.Errorf("after %q the outcome is %+v, want it %s", c.cause, out, c.end)
			}
		})
		stop.Stop()
		cancel(nil)
	}
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	p.soon("a task whose deadline has passed", func() {
		if out := in.Play(ctx, p.o.Long(p.T), engine.TaskEnv{TaskID: "task_1"}); out == nil || out.End != engine.EndTimeout {
			p.Errorf("after a deadline the outcome is %+v", out)
		}
	})
}

func endedContext(p *probe) {
	in := p.launch()
	ctx, cancel := context.WithCancelCause(background)
	cancel(engine.ErrClientGone)
	p.soon("a task that nobody wants", func() {
		if out := in.Play(ctx, p.o.Long(p.T), engine.TaskEnv{TaskID: "task_1"}); out == nil || out.End != engine.EndCancelled {
			p.Errorf("%+v", out)
		}
	})
}

func outlives(p *probe) {
	in := p.launch()
	ctx, cancel := context.WithTimeout(background, 50*time.Millisecond)
	defer cancel()
	p.wantEnd(p.play(ctx, in, p.o.Long(p.T)), engine.EndTimeout)
	p.lives(in)
	p.wantEnd(p.play(background, in, p.o.Short(p.T)), engine.EndCompleted)
}

func dies(p *probe) {
	if p.o.Kill == nil {
		p.Skip("there is no way to kill a browser")
	}
	in := p.launch()
	stop := time.AfterFunc(50*time.Millisecond, func() { p.o.Kill(p.T, in) })
	defer stop.Stop()
	p.soon("a task whose browser is dead", func() {
		if out := in.Play(background, p.o.Long(p.T), engine.TaskEnv{TaskID: "task_1"}); out == nil || out.End != engine.EndCrashed {
			p.Errorf("%+v", out)
		}
	})
	p.soon("the news of a death", func() { <-in.Gone() })
	p.soon("a task on a dead browser", func() {
		if out := in.Play(background, p.o.Short(p.T), engine.TaskEnv{TaskID: "task_2"}); out == nil || out.End != engine.EndCrashed {
			p.Errorf("on a dead browser: %+v", out)
		}
	})
}

func closedUnder(p *probe) {
	in := p.launch()
	stop := time.AfterFunc(50*time.Millisecond, in.Close)
	defer stop.Stop()
	p.soon("a task whose browser is closed", func() {
		if out := in.Play(background, p.o.Long(p.T), engine.TaskEnv{TaskID: "task_1"}); out == nil || out.End == engine.EndCompleted {
			p.Errorf("%+v", out)
		}
	})
}

func closes(p *probe) {
	in := p.launch()
	p.soon("closing a browser", func() {
		var all sync.WaitGroup
		for range 4 {
			all.Go(in.Close)
		}
		all.Wait()
		in.Close()
		<-in.Gone()
	})
}

// marked plays a task that looks for marks and leaves one, and returns whether
// there was one.
func (p *probe) marked(in engine.Instance) bool {
	p.Helper()
	if p.o.Mark == nil {
		p.wantEnd(p.play(background, in, p.o.Short(p.T)), engine.EndCompleted)
		return false
	}
	out := p.play(background, in, p.o.Mark(p.T))
	p.wantEnd(out, engine.EndCompleted)
	return p.o.Marked(p.T, out)
}

func apart(p *probe) {
	one, other := p.launch(), p.launch()
	if p.marked(one) || p.marked(other) {
		p.Error("a new browser has marks of another")
	}
}

func resets(p *probe) {
	in := p.launch()
	first, second := p.marked(in), p.marked(in)
	if first || !second && p.o.Mark != nil {
		p.Errorf("marks: %v in a new browser, %v in a used one", first, second)
	}
	p.reset(in)
	if p.marked(in) {
		p.Error("a mark is left after a reset")
	}
}

func warms(p *probe) {
	in := p.launch()
	for n := range 4 {
		p.marked(in)
		p.reset(in)
		in.Warm()
		if n%2 == 0 { // whether it is still at it or not
			in.Warm()
			if err := in.Check(background); err != nil {
				p.Errorf("while it makes ready: %v", err)
			}
		}
		if p.marked(in) {
			p.Error("a mark is left after a reset")
		}
		p.reset(in)
	}
	in.Warm()
	in.Close()
	in.Warm()
}

func restores(p *probe) {
	// Each has its own time: between them browsers start.
	save := func(in engine.Instance) []byte {
		p.Helper()
		ctx, cancel := context.WithTimeout(background, 2*slow)
		defer cancel()
		state, err := in.Save(ctx)
		if err != nil || len(state) == 0 {
			p.Fatalf("save: %q, %v", state, err)
		}
		return state
	}
	restored := func(state []byte) engine.Instance {
		p.Helper()
		in := p.launch()
		ctx, cancel := context.WithTimeout(background, 2*slow)
		defer cancel()
		if err := in.Restore(ctx, state, nil); err != nil {
			p.Fatalf("restore: %v", err)
		}
		return in
	}
	in := p.launch()
	p.marked(in)
	state := save(in)
	p.lives(in)
	in.Close()
	again := save(restored(state)) // before any task: nothing must get lost
	last := restored(again)
	task := p.o.Short
	if p.o.Mark != nil {
		task = p.o.Mark
	}
	out := p.play(background, last, task(p.T))
	p.wantEnd(out, engine.EndCompleted)
	if !out.Restored {
		p.Error("the first outcome after a restore does not say so")
	}
	if p.o.Mark != nil && !p.o.Marked(p.T, out) {
		p.Error("the mark did not come back")
	}
	if out := p.play(background, last, task(p.T)); out.Restored {
		p.Error("the second outcome says so, too")
	}
	p.reset(last)
	if p.marked(last) {
		p.Error("a mark is left after a reset")
	}
}

func refuses(p *probe) {
	in := p.launch()
	ctx, cancel := context.WithTimeout(background, slow)
	defer cancel()
	if err := in.Restore(ctx, []byte(strings.Repeat("?", 3)), nil); err == nil {
		p.Error("what is no state was put back")
	}
}

func steps(p *probe) {
	in := p.launch()
	var told, measured []engine.StepReport
	out := in.Play(background, p.o.Short(p.T), engine.TaskEnv{
		TaskID: "task_1", OnStep: func(s engine.StepReport) { told = append(told, s) }, Measure: func(s engine.StepReport) { measured = append(measured, s) },
	})
	p.wantEnd(out, engine.EndCompleted)
	if len(measured) != len(told) {
		p.Errorf("%d steps were told of, %d measured", len(told), len(measured))
	}
	if len(told) == 0 {
		p.Fatal("nobody is told of a step")
	}
	for _, s := range told {
		if s.Path == "" || s.Action == "" || !s.Success {
			p.Errorf("%+v", s)
		}
	}
}
