package actors_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"

	"troupe/actors"
	"troupe/testkit"
)

func TestStopRightAfterTheStart(t *testing.T) {
	for i := range 300 {
		synctest.Test(t, func(t *testing.T) {
			e := testkit.NewEngine()
			n, err := actors.Start(actors.Config{Engine: e, Workers: actors.SharedWorkers("", 1+i%8), Log: zerolog.Nop()})
			if err != nil {
				t.Fatal(err)
			}
			began := time.Now()
			n.Stop()
			if took := time.Since(began); took > 0 {
				t.Errorf("with %d workers the stop took %v", 1+i%8, took)
			}
			if open := e.Open(); open > 0 {
				t.Errorf("%d browsers are open", open)
			}
			time.Sleep(2 * time.Second)
		})
	}
}
