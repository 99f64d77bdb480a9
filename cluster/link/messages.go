package link

import (
	"time"

	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/engine"
)

// Messages about a task that another node runs.
type (
	// ForwardedExecute is an Execute for another node, or a start if the task is
	// asynchronous. The receiver parses the task when it has the files.
	ForwardedExecute struct {
		api.Execute
		Origin  string    `json:"Origin"` // the node that asks
		Boot    string    `json:"Boot"`   // its process
		StartID uint64    `json:"Turn"`   // if not zero, the task starts when the origin allows it: see StartQuery
		Try     uint64    `json:"Try"`    // counts how often the origin has sent the task: see ReceiptQuery; zero: it does not ask
		To      string    `json:"To"`     // the process that it is sent to: another one does not take it; empty: any
		Sent    time.Time `json:"Sent"`
		Source  []byte    `json:"Source"` // what the task was parsed from
		Files   []File    `json:"Files"`
		// Flows are the stored flows that the task runs.
		Flows engine.FlowList `json:"Flows,omitempty"`
		// Sites bound the task's pages, whatever its source says: see [engine.Task.Within].
		Sites []string `json:"Sites,omitempty"`
		// Carried is the client that plays the task in the place of its list; nil: none does.
		Carried *Carried `json:"Carried,omitempty"`
	}
	// File is an upload of a task. The receiver fetches its payload.
	File struct {
		Name    string     `json:"Name"`
		Type    string     `json:"Type"`
		Payload PayloadRef `json:"Parcel"`
	}
	// StartQuery asks the origin whether a forwarded task may start. Reply: StartReply.
	StartQuery struct {
		TaskID  string `json:"TaskID"`
		StartID uint64 `json:"Turn"` // of the ForwardedExecute
	}
	// StartReply answers a StartQuery.
	StartReply struct {
		OK bool `json:"OK"`
	}
	// ReceiptQuery asks whether a ForwardedExecute has arrived. Where it has not, it is
	// withdrawn: the node does not take it any more. Reply: Receipt, or the answer to
	// the task where that was given and may have been lost.
	ReceiptQuery struct {
		TaskID string `json:"TaskID"`
		Origin string `json:"Origin"`
		Try    uint64 `json:"Try"`  // of the ForwardedExecute
		Boot   string `json:"Boot"` // of the process that it was sent to
	}
	// Receipt answers a ReceiptQuery.
	Receipt struct {
		Boot     string `json:"Boot"`     // of the process that answers: another one knows nothing of the task
		Received bool   `json:"Received"` // else it is withdrawn
		Answered bool   `json:"Answered"` // and its answer is not kept any more
	}
	// LocateSession asks whether a node has a session. Reply: SessionLocated.
	LocateSession struct {
		Account string `json:"Account"`
		Session string `json:"Session"`
	}
	// SessionLocated answers a LocateSession.
	SessionLocated struct {
		Here bool `json:"Here"`
	}
)

// PayloadRef stands for bytes that are too many for one message. The receiver fetches them
// from the node that has them.
type PayloadRef struct {
	Node string `json:"Node"`
	ID   string `json:"ID"`
	Size int64  `json:"Size"`
}

// Fault is the reply to a message that the node could not answer.
type Fault struct {
	Text      string `json:"Text"`
	Unstarted bool   `json:"Unbegun,omitempty"` // the task has not started there and never will
}

// Messages about views: what one node shows of its browsers and tasks to clients of
// another. The reader asks for each piece, so a slow connection delays only itself.
type (
	// OpenView opens a view of an account's tasks and workers, as [actors.Node.Subscribe]
	// does. Reply: ViewOpened. A [view.ScreencastRequest] opens the view of a browser, with the
	// same reply.
	OpenView struct {
		Account string `json:"Account"`
		All     bool   `json:"All"`
		Tasks   int    `json:"Tasks"`
	}
	// ViewOpened answers an OpenView or a [view.ScreencastRequest].
	ViewOpened struct {
		ID      string              `json:"ID"`
		Refusal *api.Refusal        `json:"Refusal"`  // of a ScreencastRequest
		Object  view.ViewedObject   `json:"Watching"` // of a ScreencastRequest
		Workers []api.WorkerInfo    `json:"Workers"`  // of an OpenView
		Tasks   []view.TaskProgress `json:"Tasks"`    // of an OpenView
	}
	// NextInView asks for the next piece of a view. Reply: ViewFrame or ViewEvents.
	NextInView struct {
		ID string `json:"ID"`
	}
	// ViewFrame is a picture, or the reason why there are no more. It has neither if
	// there is no new picture yet.
	ViewFrame struct {
		Picture   []byte `json:"-"`
		EndReason string `json:"Over"`
	}
	// ViewEvents are changes of tasks and workers.
	ViewEvents struct {
		Events []view.Event `json:"News"`
		Behind bool         `json:"Behind"` // the reader was too slow and must open the view again
	}
	// CloseView closes a view.
	CloseView struct {
		ID string `json:"ID"`
	}
	// RecentTasks asks for the last tasks of an account, or for one task. Reply:
	// RecentTasksReply.
	RecentTasks struct {
		Account string `json:"Account"`
		All     bool   `json:"All"`
		Most    int    `json:"Most"`
		ID      string `json:"ID"` // of the one task
	}
	// RecentTasksReply answers RecentTasks.
	RecentTasksReply struct {
		Tasks []view.TaskProgress `json:"Tasks"`
	}
)

// Messages of the operator's commands.
type (
	// PauseNode makes a node refuse new tasks, or accept them again; nil changes
	// nothing. Reply: [api.Status].
	PauseNode struct {
		On *bool `json:"On"`
	}
	// LinkViewers asks how many clients use each link of an account. Reply:
	// LinkViewersReply.
	LinkViewers struct {
		Account string `json:"Account"`
	}
	// LinkViewersReply answers LinkViewers.
	LinkViewersReply struct {
		By map[string]int `json:"By"`
	}
)
