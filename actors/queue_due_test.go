package actors_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"troupe/actors"
	"troupe/engine"
	"troupe/persistence/clock"
	"troupe/testkit"
)

// TestStartAfterBesideALaterOne: a task begins at its time, also where another one begins
// later and a third one runs.
func TestStartAfterBesideALaterOne(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 4, Engine: each(func(c testkit.Call) testkit.Script {
		if c.Task.Queue.Priority == 9 {
			return testkit.Script{Takes: 10 * time.Minute}
		}
		return testkit.Script{Takes: time.Second}
	})}, func(t *testing.T, k *testkit.Kit) {
		enqueue(k, anna, `{"startAfter":7200000}`) // in two hours
		enqueue(k, anna, `{"priority":9}`)         // runs for ten minutes
		time.Sleep(time.Second)
		began := time.Now()
		id := enqueue(k, anna, `{"startAfter":5000}`).TaskID
		time.Sleep(30 * time.Minute) // nobody asks
		for _, p := range k.Engine.Plays() {
			if p.Task == id {
				if late := p.Began.Sub(began) - 5*time.Second; late > time.Second {
					t.Errorf("three workers were free, and it began %v late", late)
				}
				return
			}
		}
		t.Error("it has not begun within 30 minutes")
	})
}

// TestBackoffBesideALaterOne: the next attempt comes after its pause.
func TestBackoffBesideALaterOne(t *testing.T) {
	testkit.Run(t, testkit.Options{Workers: 4, Engine: each(func(c testkit.Call) testkit.Script {
		if c.Task.Queue.Priority == 9 {
			return testkit.Script{Takes: 10 * time.Minute}
		}
		return testkit.Script{Takes: time.Second, Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: engine.CodeTimeout, Text: "it failed"}}}}
	})}, func(t *testing.T, k *testkit.Kit) {
		enqueue(k, anna, `{"startAfter":7200000}`)
		enqueue(k, anna, `{"priority":9}`)
		time.Sleep(time.Second)
		id := enqueue(k, anna, `{"attempts":2,"backoff":1000}`).TaskID
		time.Sleep(30 * time.Minute)
		var ends []time.Time
		for _, p := range k.Engine.Plays() {
			if p.Task == id {
				ends = append(ends, p.Began, p.Ended)
			}
		}
		if len(ends) != 4 {
			t.Fatalf("%d plays", len(ends)/2)
		}
		if pause := ends[2].Sub(ends[1]); pause > 2*time.Second {
			t.Errorf("the pause of 1 s took %v", pause)
		}
	})
}

// TestQueueClockSteps: whatever is done to the wall clock, a task that waits for no time
// begins at once, one that waits for so long begins then, and one that names a time when the
// clock shows it.
func TestQueueClockSteps(t *testing.T) {
	for name, one := range map[string]struct {
		ahead    time.Duration // from the second second on
		at       bool          // the task names a time
		from, to time.Duration // between which it begins
	}{
		"none":                    {0, false, time.Hour, time.Hour + time.Second},
		"it sleeps":               {24 * time.Hour, false, 2 * time.Second, 8 * time.Second},
		"a little forward":        {30 * time.Minute, false, 30 * time.Minute, 30*time.Minute + time.Second},
		"back":                    {-12 * time.Hour, false, time.Hour, time.Hour + time.Second},
		"days back":               {-72 * time.Hour, false, time.Hour, time.Hour + time.Second},
		"a time":                  {0, true, time.Hour, time.Hour + time.Second},
		"a time, it sleeps":       {24 * time.Hour, true, 2 * time.Second, 8 * time.Second},
		"a time, and it was back": {-30 * time.Minute, true, 90 * time.Minute, 90*time.Minute + time.Second},
	} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", restart ", restart), func(t *testing.T) {
				if restart && one.ahead < 0 && !one.at { // the pause begins again
					one.from, one.to = one.from+2*time.Second, one.to+2*time.Second
				}
				wall := &clock.Clock{}
				testkit.Run(t, testkit.Options{Workers: 4, Config: func(c *actors.Config) { c.Clock = wall }, Engine: takes(time.Second)}, func(t *testing.T, k *testkit.Kit) {
					began := time.Now()
					after := `3600000`
					if one.at {
						after = strconv.Quote(began.Add(time.Hour).Format(time.RFC3339))
					}
					id := enqueue(k, anna, `{"startAfter":`+after+`}`).TaskID
					time.Sleep(2 * time.Second)
					wall.Set(one.ahead)
					if restart {
						k.Crash()
						k.Boot()
					}
					plain := enqueue(k, anna, `{"priority":9}`).TaskID
					time.Sleep(2 * time.Second)
					if plays := k.Engine.Plays(); !slices.ContainsFunc(plays, func(p testkit.Played) bool { return p.Task == plain }) {
						t.Errorf("a task without a wait has not begun after two seconds")
					}
					time.Sleep(one.to + time.Hour)
					for _, p := range k.Engine.Plays() {
						if took := p.Began.Sub(began); p.Task == id && (took < one.from || took > one.to) {
							t.Errorf("it began after %s, want %s to %s", took, one.from, one.to)
						} else if p.Task == id {
							return
						}
					}
					t.Error("it has not begun")
				})
			})
		}
	}
}

// TestQueueClockBeforeTheStep: tasks that wait for a worker while the clock is set back begin
// when there is one, also after a restart.
func TestQueueClockBeforeTheStep(t *testing.T) {
	for _, restart := range []bool{false, true} {
		wall := &clock.Clock{}
		testkit.Run(t, testkit.Options{Workers: 1, Config: func(c *actors.Config) { c.Clock = wall }, Engine: takes(10 * time.Second)}, func(t *testing.T, k *testkit.Kit) {
			for range 5 {
				enqueue(k, anna, `{"attempts":3}`)
			}
			time.Sleep(time.Second)
			wall.Set(-12 * time.Hour)
			if restart {
				k.Crash()
				k.Boot()
			}
			enqueue(k, anna, `true`)
			time.Sleep(5 * time.Minute)
			tasks := map[string]bool{}
			for _, p := range k.Engine.Plays() {
				tasks[p.Task] = true
			}
			if len(tasks) != 6 {
				t.Errorf("restart %v: %d of 6 tasks have begun", restart, len(tasks))
			}
		})
	}
}

// TestBackoffClockSteps: the pause before another attempt is over by the first of the clocks.
func TestBackoffClockSteps(t *testing.T) {
	for _, one := range []struct{ ahead, from, to time.Duration }{
		{-12 * time.Hour, 10 * time.Minute, 10*time.Minute + time.Second}, {12 * time.Hour, 5 * time.Second, 15 * time.Second},
	} {
		wall := &clock.Clock{}
		testkit.Run(t, testkit.Options{Workers: 2, Config: func(c *actors.Config) { c.Clock = wall }, Engine: each(func(testkit.Call) testkit.Script {
			return testkit.Script{Takes: time.Second, Outcome: &engine.Outcome{End: engine.EndStopped, Failures: []engine.Failure{{Code: engine.CodeTimeout, Text: "it failed"}}}}
		})}, func(t *testing.T, k *testkit.Kit) {
			enqueue(k, anna, `{"attempts":2,"backoff":600000}`)
			time.Sleep(10 * time.Second)
			wall.Set(one.ahead)
			time.Sleep(time.Hour)
			plays := k.Engine.Plays()
			if len(plays) != 2 {
				t.Fatalf("%v: %d attempts", one.ahead, len(plays))
			}
			if pause := plays[1].Began.Sub(plays[0].Ended); pause < one.from || pause > one.to {
				t.Errorf("%v: the pause took %v, want %v to %v", one.ahead, pause, one.from, one.to)
			}
		})
	}
}
