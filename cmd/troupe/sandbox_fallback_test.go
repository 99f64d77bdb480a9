package main

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/rs/zerolog"

	"troupe/engine"
)

type launcher func() error

func (l launcher) Launch(context.Context, string) (engine.Instance, error) { return nil, l() }

// TestTheSandboxIsGivenUpOnlyWhereItNeverWorked starts browsers that end at
// their start, by turns.
func TestTheSandboxIsGivenUpOnlyWhereItNeverWorked(t *testing.T) {
	no := errors.New("ended at once")
	for _, c := range []struct {
		name      string
		sandboxed []error // of each start, the last ever after
		open      error
		want      []error // of each launch
		given     bool
	}{
		{"it works", []error{nil}, nil, []error{nil, nil}, false},
		{"it does not work", []error{no}, nil, []error{nil, nil}, true},
		{"no browser starts", []error{no}, no, []error{no, no}, false},
		{"one start failed", []error{no, nil}, nil, []error{nil, nil}, false},
		{"it worked once", []error{nil, no}, nil, []error{nil, no, no}, false},
		{"it worked at the second try", []error{no, nil, no}, nil, []error{nil, no}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := 0
			e := &sandboxFallback{log: zerolog.Nop(), unsandboxed: launcher(func() error { return c.open }), sandboxed: launcher(func() error {
				n++
				return c.sandboxed[min(n, len(c.sandboxed))-1]
			})}
			var got []error
			for range c.want {
				_, err := e.Launch(t.Context(), "w1")
				got = append(got, err)
			}
			if !slices.Equal(got, c.want) || e.gaveUp.Load() != c.given {
				t.Errorf("launches gave %v, want %v; the sandbox was given up: %v, want %v", got, c.want, e.gaveUp.Load(), c.given)
			}
		})
	}
}
