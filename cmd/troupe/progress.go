package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"troupe/engine"
)

// progress shows each step of a task to somebody who waits for its end.
type progress struct {
	out   io.Writer
	began time.Time

	mu sync.Mutex
}

// longest is how much of an error one line shows; the result has all of it.
const longest = 160

func (p *progress) step(s engine.StepReport) {
	p.mu.Lock()
	defer p.mu.Unlock()
	colours := paintFor(p.out)
	mark, colour, what := "✓", colours.green, ""
	if !s.Success {
		mark, colour, what = "✗", colours.red, "  "+plain(s.Error)
	}
	at := s.Path
	if s.Iterations != nil {
		at += " " + fmt.Sprint(s.Iterations)
	} else if s.Iteration != nil {
		at += fmt.Sprintf(" [%d]", *s.Iteration)
	}
	// A step that cannot be shown does not end the task.
	_, _ = fmt.Fprintf(p.out, "%7.2fs %s %-16s %8.0f ms%s\n", time.Since(p.began).Seconds(), colour(fmt.Sprintf("%s %-20s", mark, at)), s.Action, s.Millis, colour(what))
}

// plain makes one line of what a page may have had a hand in: nothing in it may
// move the cursor or colour the screen.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r >= 0x7f && r < 0xa0 {
			return ' '
		}
		return r
	}, text)
	if all := []rune(text); len(all) > longest {
		text = string(all[:longest]) + "…"
	}
	return text
}

// shown plays tasks with their progress shown.
type shown struct {
	engine.Engine
	progress *progress
}

func (e *shown) Launch(ctx context.Context, worker string) (engine.Instance, error) {
	in, err := e.Engine.Launch(ctx, worker)
	if err != nil {
		return nil, err
	}
	return &shownInstance{in, e.progress}, nil
}

type shownInstance struct {
	engine.Instance
	progress *progress
}

func (in *shownInstance) Play(ctx context.Context, t *engine.Task, st engine.TaskEnv) *engine.Outcome {
	in.progress.began = time.Now()
	st.Measure = in.progress.step
	return in.Instance.Play(ctx, t, st)
}
