package actors

import (
	"troupe/actors/api"
	"troupe/engine"
)

// An event is something that happens to a worker.
type event interface{ event() }

type (
	evLaunch  struct{}             // the supervisor says that a browser may be started
	evUp      struct{ Lost bool }  // the browser answers; Lost: its session could not be put back
	evFailed  struct{}             // the browser could not be started
	evGone    struct{}             // the browser died or was closed
	evClaim   struct{ order }      // pool sends a task
	evEnded   struct{ How ending } // the run has really stopped
	evOverdue struct{}             // the run goes on although its time, and the margin for its answer, are over
	evStuck   struct{}             // the run goes on although the margin for stopping is over too
	evCancel  struct {             // somebody wants a task to end
		Task  string
		Cause api.Cause
	}
	evReset   struct{ OK bool }        // cleaning is over
	evExpired struct{ Session string } // the time of a session is over
	evUnheld  struct{ Session string } // another node may have it
	evTaken   struct{ Session string } // another node has it
	evAdopt   struct {                 // a session comes from another worker
		Session string
		Account string
	}
	evRenew     struct{}                 // the browser is due to be replaced
	evDrain     struct{}                 // the worker is to stop when it can
	evDismiss   struct{}                 // the same for good: it will not come back
	evDisown    struct{ Account string } // an account was removed
	evInterrupt struct{}                 // the worker is to stop now
	evSuspended struct{}                 // the session's state is saved
	evResume    struct{}                 // a drained worker is to come back
)

// ending is how a run stopped, as far as the worker cares.
type ending string

const (
	fine    ending = "fine"    // the browser can go on
	broken  ending = "broken"  // the browser must be replaced
	crashed ending = "crashed" // the browser is dead
	unbegun ending = "unbegun" // nothing was played, and the client is refused
)

func (evLaunch) event()    {}
func (evUp) event()        {}
func (evFailed) event()    {}
func (evGone) event()      {}
func (evClaim) event()     {}
func (evEnded) event()     {}
func (evOverdue) event()   {}
func (evStuck) event()     {}
func (evCancel) event()    {}
func (evReset) event()     {}
func (evExpired) event()   {}
func (evUnheld) event()    {}
func (evTaken) event()     {}
func (evAdopt) event()     {}
func (evRenew) event()     {}
func (evDrain) event()     {}
func (evInterrupt) event() {}
func (evDismiss) event()   {}
func (evDisown) event()    {}
func (evSuspended) event() {}
func (evResume) event()    {}

// An effect is something that a worker has to do. Effects are carried out in
// their order.
type effect interface{ effect() }

type (
	// efRefuse sends the claim of the event back to pool, efGiveUp the claim
	// that the worker had taken already.
	efRefuse struct{ Code engine.Code }
	efGiveUp struct{ Code engine.Code }
	// efRun begins to play the claim.
	efRun struct{}
	// efAnswer answers the claim's client. Played: with the outcome of the
	// run, else with one that says End.
	efAnswer struct {
		End     engine.End
		Played  bool
		Session string // left reserved
	}
	efStop     struct{ Cause api.Cause } // end the run soon
	efHurry    struct{}                  // the run has to end by itself at once
	efKill     struct{}                  // close the browser, or what becomes one
	efLaunch   struct{}                  // start a browser now
	efRelaunch struct{}                  // ask the supervisor for a new browser
	efReset    struct{}                  // clean the browser
	efOpen     struct{ Session string }  // a session begins
	efAdopt    struct{ Session string }  // one goes on here that another worker had
	efRename   struct{ From, To string } // it gets another id, and an empty cache
	efRest     struct{ Session string }  // its timer starts anew
	efForget   struct{ Session string }  // it ends
	efSuspend  struct{ Session string }  // save what it needs elsewhere
)

func (efRefuse) effect()   {}
func (efGiveUp) effect()   {}
func (efRun) effect()      {}
func (efAnswer) effect()   {}
func (efStop) effect()     {}
func (efHurry) effect()    {}
func (efKill) effect()     {}
func (efLaunch) effect()   {}
func (efRelaunch) effect() {}
func (efReset) effect()    {}
func (efOpen) effect()     {}
func (efAdopt) effect()    {}
func (efRename) effect()   {}
func (efRest) effect()     {}
func (efForget) effect()   {}
func (efSuspend) effect()  {}
