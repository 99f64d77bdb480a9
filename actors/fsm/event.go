package fsm

import (
	"troupe/actors/api"
	"troupe/engine"
)

// Event is something that happens to a worker.
type Event interface{ event() }

// The events.
type (
	EvLaunch  struct{}             // the supervisor says that a browser may be started
	EvUp      struct{ Lost bool }  // the browser answers; Lost: its session could not be put back
	EvFailed  struct{}             // the browser could not be started
	EvGone    struct{}             // the browser died or was closed
	EvClaim   struct{ Claim }      // pool sends a task
	EvEnded   struct{ How Ending } // the run has really stopped
	EvOverdue struct{}             // the run goes on although its time, and the margin for its answer, are over
	EvStuck   struct{}             // the run goes on although the margin for stopping is over too
	EvCancel  struct {             // somebody wants a task to end
		Task  string
		Cause api.Cause
	}
	EvReset   struct{ OK bool }        // cleaning is over
	EvExpired struct{ Session string } // the time of a session is over
	EvUnheld  struct{ Session string } // another node may have it
	EvTaken   struct{ Session string } // another node has it
	EvAdopt   struct {                 // a session comes from another worker
		Session string
		Account string
	}
	EvRenew     struct{}                 // the browser is due to be replaced
	EvDrain     struct{}                 // the worker is to stop when it can
	EvDismiss   struct{}                 // the same for good: it will not come back
	EvDisown    struct{ Account string } // an account was removed
	EvInterrupt struct{}                 // the worker is to stop now
	EvSuspended struct{}                 // the session's state is saved
	EvResume    struct{}                 // a drained worker is to come back
)

// Ending is how a run stopped, as far as the worker cares.
type Ending string

// The endings.
const (
	OK         Ending = "fine"    // the browser can go on
	Broken     Ending = "broken"  // the browser must be replaced
	Crashed    Ending = "crashed" // the browser is dead
	NotStarted Ending = "unbegun" // nothing was played, and the client is refused
)

func (EvLaunch) event()    {}
func (EvUp) event()        {}
func (EvFailed) event()    {}
func (EvGone) event()      {}
func (EvClaim) event()     {}
func (EvEnded) event()     {}
func (EvOverdue) event()   {}
func (EvStuck) event()     {}
func (EvCancel) event()    {}
func (EvReset) event()     {}
func (EvExpired) event()   {}
func (EvUnheld) event()    {}
func (EvTaken) event()     {}
func (EvAdopt) event()     {}
func (EvRenew) event()     {}
func (EvDrain) event()     {}
func (EvInterrupt) event() {}
func (EvDismiss) event()   {}
func (EvDisown) event()    {}
func (EvSuspended) event() {}
func (EvResume) event()    {}

// Effect is something that a worker has to do. Effects are carried out in
// their order.
type Effect interface{ effect() }

// The effects.
type (
	// EfRefuse sends the claim of the event back to pool, EfGiveUp the claim
	// that the worker had taken already.
	EfRefuse struct{ Code engine.Code }
	EfGiveUp struct{ Code engine.Code }
	// EfRun begins to play the claim.
	EfRun struct{}
	// EfAnswer answers the claim's client. Played: with the outcome of the
	// run, else with one that says End.
	EfAnswer struct {
		End     engine.End
		Played  bool
		Session string // left reserved
	}
	EfStop     struct{ Cause api.Cause } // end the run soon
	EfHurry    struct{}                  // the run has to end by itself at once
	EfKill     struct{}                  // close the browser, or what becomes one
	EfLaunch   struct{}                  // start a browser now
	EfRelaunch struct{}                  // ask the supervisor for a new browser
	EfReset    struct{}                  // clean the browser
	EfOpen     struct{ Session string }  // a session begins
	EfAdopt    struct{ Session string }  // one goes on here that another worker had
	EfRename   struct{ From, To string } // it gets another id, and an empty cache
	EfRest     struct{ Session string }  // its timer starts anew
	EfForget   struct{ Session string }  // it ends
	EfSuspend  struct{ Session string }  // save what it needs elsewhere
)

func (EfRefuse) effect()   {}
func (EfGiveUp) effect()   {}
func (EfRun) effect()      {}
func (EfAnswer) effect()   {}
func (EfStop) effect()     {}
func (EfHurry) effect()    {}
func (EfKill) effect()     {}
func (EfLaunch) effect()   {}
func (EfRelaunch) effect() {}
func (EfReset) effect()    {}
func (EfOpen) effect()     {}
func (EfAdopt) effect()    {}
func (EfRename) effect()   {}
func (EfRest) effect()     {}
func (EfForget) effect()   {}
func (EfSuspend) effect()  {}
