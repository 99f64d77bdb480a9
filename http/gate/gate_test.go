package gate

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// TestRoom: an account has its part, strangers have theirs, and nobody takes more than
// there is. What is given back is there for who waits.
func TestRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Account: 100, Strangers: 50, All: 220})
		a, b, c, s := g.Weigh("a"), g.Weigh("b"), g.Weigh("c"), g.Weigh(Stranger)
		for _, step := range []struct {
			w    *Weight
			n    int64
			want error
		}{{a, 60, nil}, {a, 41, ErrAccount}, {a, 40, nil}, {b, 100, nil}, {s, 51, ErrAccount}, {s, 20, nil}, {c, 1, ErrAll}, {s, 1, ErrAll}} {
			if err := step.w.Add(step.n); !errors.Is(err, step.want) {
				t.Errorf("%d of %q: %v, want %v", step.n, step.w.account, err, step.want)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		begun := time.Now()
		go func() {
			time.Sleep(10 * time.Second)
			b.Is(40)
		}()
		if err := c.Wait(ctx, 60); err != nil || time.Since(begun) != 10*time.Second {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		if err := g.Weigh("d").Wait(ctx, 1000); !errors.Is(err, ErrAll) || time.Since(begun) != time.Minute {
			t.Errorf("after %v: %v", time.Since(begun), err)
		}
		for _, w := range []*Weight{a, b, c, s, nil} {
			w.Release()
			w.Release()
		}
		if g.All() != 0 || len(g.by) != 0 {
			t.Errorf("%d are left, of %v", g.All(), g.by)
		}
		if err := a.Wait(t.Context(), 1000); err != nil || g.Of("a") != 100 { // all that it may have
			t.Errorf("%v, %d", err, g.Of("a"))
		}
	})
}

// TestNobodyWaitsForEachOther: requests that have something while they wait for more have a
// quarter of what there may be, each account and all. So who waits gets it in the end, however
// many others have something and wait.
func TestNobodyWaitsForEachOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := New(Limits{Account: 100, Strangers: 50, All: 220})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		served, refused, over := 0, 0, make(chan error)
		for i := range 40 { // without a bound of what waits, twenty of an account have all of it
			go func() {
				w := g.Weigh([]string{"a", "b"}[i%2])
				defer w.Release()
				err := w.Add(5)
				if err == nil {
					err = w.Hold()
				}
				if err == nil {
					more := g.Weigh(w.account)
					defer more.Release()
					if err = more.Wait(ctx, 75); err == nil {
						time.Sleep(time.Second)
					}
				}
				over <- err
			}()
		}
		for range 40 {
			switch err := <-over; {
			case err == nil:
				served++
			case ctx.Err() != nil:
				t.Fatalf("somebody waited until the end: %v", err)
			default:
				refused++
			}
		}
		if served != 10 || refused != 30 {
			t.Errorf("%d were served, and %d refused", served, refused)
		}
		synctest.Wait() // who is over gives back after it has said so
		s := g.Weigh(Stranger)
		if err := errors.Join(s.Add(12), s.Hold(), s.Hold()); err != nil || s.Add(1) != nil {
			t.Errorf("a stranger: %v", err)
		}
		if err := g.Weigh("a").Hold(); err != nil {
			t.Errorf("nothing: %v", err)
		}
		s.Release()
		if g.All() != 0 || g.holds != 0 || len(g.held) != 0 {
			t.Errorf("%d are left, and %d that are held: %v", g.All(), g.holds, g.held)
		}
	})
}
