// Package actors decides which account may run a task, which worker runs it, what
// a session keeps, when a request waits, and what happens when a browser dies. Its
// messages are plain data, so that they can cross to another process: a function
// that belongs to a task stays in the node, and the message has its number. Only
// messages that an actor sends to itself hold more.
//
// # The actors
//
//	node                 the root: its end is the end of all actors
//	├── keys             requests that may be repeated: each runs once
//	├── tasks            the asynchronous tasks that run or have just ended
//	│   └── task/<id>    one of them: on disk before it begins
//	├── admission        the rules of the account's plan, and its daily count
//	├── pool             selects workers for tasks; requests wait here
//	└── worker/<id>      the supervisor of a worker: it delays restarts of browsers.
//	    │                Workers can be added and removed while the node runs
//	    └── browser      the worker: one browser, one task at a time
//	session/<id>         the timer, the data cache and the saved state of one session
//
// A request goes from the edge to admission, to pool, to a worker. Its answer goes
// straight to the edge: from the worker, or from the actor that refuses it.
// [Node.Execute] is that round trip. An actor that must write a task to disk before
// it begins is asked by the worker first: the asynchronous task's own actor, or keys
// for a request with a key.
//
// Reads need no actor: polls use the status cache, and clients that follow an
// account use the feed and the screencasts of the workers.
//
// # The packages below
//
//	actors/api       what can be asked of the actors: messages, replies, refusals
//	actors/fsm       what a worker decides, as one pure function
//	actors/schedule  the workers, the queue, and the selection of a worker for a task
//	actors/lease     until when the node's sessions are its own
//	actors/records   what is kept on disk
//	actors/view      what is seen without a message: status cache, feed, screencasts
//
// [fsm.Step] takes a worker's condition and an event, and returns the next
// condition and what has to be done. The scripts in fsm/testdata/state show each
// transition. Everything that takes time (a launch, a task, a cleaning) runs outside
// of the mailbox and comes back as a message. Messages of something that is over are
// recognised by their address and dropped. So a worker answers at once whatever its
// browser does.
//
// # What a worker is
//
//	             up              claim, preserve
//	┌─────────┐ ───▶ ┌────────┐ ─────────────────▶ ┌──────┐
//	│ offline │      │ online │                    │ busy │
//	└─────────┘ ◀─── └────────┘ ◀───────────────── └──────┘
//	 ▲  │  ▲     dies     ▲        end, no session  │    ▲
//	 │  │  │              │ closed, time over       │    │
//	 │  │  │ dies    ┌──────────┐ ◀─────────────────┘    │
//	 │  │  └──────── │ reserved │   end, session held    │
//	 │  └──────────▶ └──────────┘ ───────────────────────┘
//	 │   up again,                  claim of the session,
//	 │   session held               override
//	 └── dies while busy (from busy), drain (from any)
//
// Online: a browser is there, no session holds the worker, and a claim is
// taken. That includes the time in which the browser is made clean after a task
// or replaced because it is due: a claim then waits until it is clean. A worker
// leaves this state by a claim (busy), when its browser dies (offline) or by a
// drain (offline).
//
// Busy: a task has been claimed. It runs, or it waits for the end of the
// cleaning. The worker stays busy until the task has really stopped, even when
// its client was answered before because the task did not stop in time; at the
// latest BrowserConfig.StopMargin after the deadline its browser is closed under
// it. Then the worker is online, or reserved if a session holds it, or offline if
// the browser died or a drain was waiting for the task's end.
//
// Reserved: a session holds the worker, and only requests that name the session,
// or an override by the same account, are taken. The session's timer runs. A
// worker leaves this state by such a request (busy), when the session is closed
// or its time is over (online, after a cleaning), when the browser dies or by a
// drain (offline; the session remains).
//
// Offline: there is no browser. One is being started, or the supervisor lets some
// time pass first: longer after each failure in a row, and a minute at a time
// when there were many. A session that holds the worker goes on, with its timer,
// and its state is put back into the next browser, after which the worker is
// reserved; otherwise it is online. A drained worker stays offline until it is
// resumed.
//
// # What an operator can change
//
// Workers are added to a node that runs, and start again with it: see
// [api.AddWorker]. Any worker can be drained and resumed. One that was added can be
// removed, which is a drain that ends its session: from its first moment requests
// are answered as if there were no such worker, also those that wait for it.
// An account is removed with its tasks, sessions, workers and records: see
// [api.RemoveAccount]. [OfflineNode] does what of this is possible while no node runs.
//
// # What is promised
//
//   - Every request is answered once: with an outcome, or with a refusal.
//   - A task that does not stop at its deadline is answered
//     BrowserConfig.AnswerMargin after it, without its result; one that is to
//     leave evidence of how it went, that much later (Task.Aftermath).
//   - A panic in the handling of a message costs no more than that message:
//     the sender is answered with an error, and the actor goes on with its
//     state. A worker gets another browser, and keeps its session.
//   - A crash is answered at once, and the worker is back after one launch and
//     the shortest wait.
//   - A browser that does not answer within BrowserConfig.CheckTimeout, which it
//     is asked to every BrowserConfig.CheckEvery, is treated as one that died.
//   - A claim on a worker that turns out to be gone goes to the next one; its
//     client does not notice.
//   - A request that was cancelled or refused never gets a worker. Within an
//     account the first comes first; accounts take turns.
//   - The daily count is taken before the claim, and given back without a claim.
//     It is in the store before the answer. Without a limit in the plan, it is
//     written while the task runs. In a cluster, most of it is taken from the
//     node's share of the account's day, which the store counts as used already.
//   - An asynchronous task is on disk before it begins and before it is
//     acknowledged; its end is on disk before it is reported. One that ran
//     when the process died has failed, as interrupted, and stays so.
//   - A request with a key runs once, whatever happens to the process or to
//     the client, and answered the same for a day.
//   - What a session has become is on disk, sealed, before the answer of the
//     request that changed it, or the answer warns that it is not. A session goes
//     on after the end of its browser and of the process, for as long as its
//     timer says, which does not stop for that.
//   - With a lease, a session goes on elsewhere when its node is lost, and two
//     nodes never use it at once: see [api.Restore].
//   - A task that has no session, is not asynchronous and carries no key touches
//     the disk for its daily count only.
package actors
