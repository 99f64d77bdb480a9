package fsm

import (
	"troupe/actors/api"
	"troupe/engine"
)

// Event is something that happens to a worker.
type Event interface{ event() }

// The events.
type (
	LaunchAllowed   struct{}             // the supervisor allows a launch
	BrowserUp       struct{ Lost bool }  // the browser answers; Lost: its session could not be put back
	LaunchFailed    struct{}             // the browser could not be started
	BrowserLost     struct{}             // the browser died or was closed
	ClaimReceived   struct{ Claim }      // pool sends a task
	RunEnded        struct{ How Ending } // the run has really stopped
	RunOverdue      struct{}             // the run continues past its timeout and the margin for its answer
	RunStuck        struct{}             // the run continues past the margin for stopping too
	CancelRequested struct {             // a task is to end
		Task  string
		Cause api.Cause
	}
	ResetDone       struct{ OK bool }        // cleaning is over
	SessionExpired  struct{ Session string } // a session has expired
	LeaseLost       struct{ Session string } // another node may have the session
	SessionTaken    struct{ Session string } // another node has the session
	SessionReceived struct {                 // a session moves here from another worker
		Session string
		Account string
	}
	RenewalDue         struct{}                 // the browser is due to be replaced
	DrainRequested     struct{}                 // the worker is to stop when its task has ended
	RemovalRequested   struct{}                 // the worker is to stop and not come back
	AccountRemoved     struct{ Account string } // an account was removed
	InterruptRequested struct{}                 // the worker is to stop now
	SessionSaved       struct{}                 // the session's state is saved
	ResumeRequested    struct{}                 // a drained worker is to come back
)

// Ending is how a run stopped, as far as the worker cares.
type Ending string

// The endings.
const (
	OK         Ending = "fine"    // the browser can go on
	Broken     Ending = "broken"  // the browser must be replaced
	Crashed    Ending = "crashed" // the browser is dead
	NotStarted Ending = "unbegun" // nothing was run, and the client gets a refusal
)

func (LaunchAllowed) event()      {}
func (BrowserUp) event()          {}
func (LaunchFailed) event()       {}
func (BrowserLost) event()        {}
func (ClaimReceived) event()      {}
func (RunEnded) event()           {}
func (RunOverdue) event()         {}
func (RunStuck) event()           {}
func (CancelRequested) event()    {}
func (ResetDone) event()          {}
func (SessionExpired) event()     {}
func (LeaseLost) event()          {}
func (SessionTaken) event()       {}
func (SessionReceived) event()    {}
func (RenewalDue) event()         {}
func (DrainRequested) event()     {}
func (InterruptRequested) event() {}
func (RemovalRequested) event()   {}
func (AccountRemoved) event()     {}
func (SessionSaved) event()       {}
func (ResumeRequested) event()    {}

// Effect is something that a worker has to do. A worker runs effects in
// order.
type Effect interface{ effect() }

// The effects.
type (
	// RefuseClaim sends the claim of the event back to pool, ReturnClaim the claim
	// that the worker had taken already.
	RefuseClaim struct{ Code engine.Code }
	ReturnClaim struct{ Code engine.Code }
	// StartRun begins to play the claim.
	StartRun struct{}
	// SendAnswer answers the claim's client. Played: with the outcome of the
	// run, else with one that says End.
	SendAnswer struct {
		End     engine.End
		Played  bool
		Session string // left reserved
	}
	StopRun             struct{ Cause api.Cause } // end the run soon
	BoundRun            struct{}                  // limit the time that the run has left
	CloseBrowser        struct{}                  // close the browser, also one that is starting
	LaunchBrowser       struct{}                  // start a browser now
	RequestLaunch       struct{}                  // ask the supervisor for a new browser
	ResetBrowser        struct{}                  // clean the browser
	OpenSession         struct{ Session string }  // start a session
	ReceiveSession      struct{ Session string }  // continue a session of another worker here
	RenameSession       struct{ From, To string } // give the session another id, and an empty cache
	RestartSessionTimer struct{ Session string }  // restart the timer of the session
	EndSession          struct{ Session string }  // end the session
	SaveSession         struct{ Session string }  // save the state of the session
)

func (RefuseClaim) effect()         {}
func (ReturnClaim) effect()         {}
func (StartRun) effect()            {}
func (SendAnswer) effect()          {}
func (StopRun) effect()             {}
func (BoundRun) effect()            {}
func (CloseBrowser) effect()        {}
func (LaunchBrowser) effect()       {}
func (RequestLaunch) effect()       {}
func (ResetBrowser) effect()        {}
func (OpenSession) effect()         {}
func (ReceiveSession) effect()      {}
func (RenameSession) effect()       {}
func (RestartSessionTimer) effect() {}
func (EndSession) effect()          {}
func (SaveSession) effect()         {}
