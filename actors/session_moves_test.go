package actors_test

import (
	"time"

	"pgregory.net/rapid"
)

// sessionMove is one thing that happens.
type sessionMove struct {
	what    string
	account string
	id      int // of the sessions there ever were
	worker  int // 0: none is named
	timeout time.Duration
	empty   bool
	crash   bool
	pass    time.Duration
}

func drawSessionMove(rt *rapid.T) sessionMove {
	draw := func(most int, what string) int { return rapid.IntRange(0, most).Draw(rt, what) }
	m := sessionMove{what: rapid.SampledFrom([]string{
		"preserve", "preserve", "continue", "continue", "continue", "close", "override", "plain",
		"pass", "pass", "kill", "restart", "die", "die in a task",
	}).Draw(rt, "what")}
	switch m.what {
	case "pass", "restart", "die", "die in a task":
		m.pass = time.Duration(draw(150, "seconds")) * time.Second
	}
	if m.what != "pass" && m.what != "restart" && m.what != "die" {
		m.account = rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "account")
		m.id, m.worker = draw(20, "id"), max(0, draw(6, "worker")-2)
		m.timeout = time.Duration(draw(3, "minutes")) * time.Minute
		m.empty, m.crash = draw(3, "empty") == 0, draw(4, "crash") == 0
	}
	return m
}
