package actors

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/rs/zerolog"
)

// TestAskingWhoEnds: a question that is in the mailbox of an actor when it ends
// is answered, and so is one to an actor that is not there any more.
func TestAskingWhoEnds(t *testing.T) {
	for range 100 {
		synctest.Test(t, func(t *testing.T) {
			system := newSystem(zerolog.Nop())
			busy := make(chan struct{})
			who := system.Root.Spawn(actor.PropsFromFunc(func(ctx actor.Context) {
				if _, ok := ctx.Message().(chan struct{}); ok {
					<-busy
				}
			}))
			system.Root.Send(who, busy)
			system.Root.Poison(who)
			answers := make(chan error, 2)
			question := func() {
				_, err := ask[sessionRecalled](context.Background(), system, who, &sessionRecall{})
				answers <- err
			}
			go question()
			synctest.Wait()
			close(busy)
			synctest.Wait()
			go question()
			for range 2 {
				if err := <-answers; !errors.Is(err, errNoActor) {
					t.Error(err)
				}
			}
			system.Shutdown()
			time.Sleep(2 * time.Second)
		})
	}
}
