package link

import (
	"time"

	"troupe/actors/api"
	"troupe/actors/view"
)

// The messages that are only between nodes.
type (
	// order is an Execute on its way: its task is not read before its files are
	// there. It is a start when the task is asynchronous.
	ForwardedExecute struct {
		api.Execute
		Origin string    `json:"Origin"` // the node that asks
		Boot   string    `json:"Boot"`   // its process
		Turn   uint64    `json:"Turn"`   // not zero: it begins when the origin says so, see begins
		Sent   time.Time `json:"Sent"`
		Source []byte    `json:"Source"` // what the task was parsed from
		Files  []File    `json:"Files"`
	}
	// File is an upload of a task, which the owner fetches.
	File struct {
		Name   string `json:"Name"`
		Type   string `json:"Type"`
		Parcel Parcel `json:"Parcel"`
	}
	// Parcel stands for bytes that are too many for one message. Whoever gets it
	// fetches them from the node that has them.
	Parcel struct {
		Node string `json:"Node"`
		ID   string `json:"ID"`
		Size int64  `json:"Size"`
	}
	// locate asks whether a session is on a node. Reply: located.
	LocateSession struct {
		Account string `json:"Account"`
		Session string `json:"Session"`
	}
	SessionLocated struct {
		Here bool `json:"Here"`
	}
	// Fault answers what could not be done.
	Fault struct {
		Text      string `json:"Text"`
		Unstarted bool   `json:"Unbegun,omitempty"` // of a task: nothing of it has begun, nor will
	}
)

// The messages about that.
type (
	// begins asks whether a task may begin. Reply: mayBegin.
	StartQuery struct {
		TaskID string `json:"TaskID"`
		Turn   uint64 `json:"Turn"` // of the order
	}
	StartReply struct {
		OK bool `json:"OK"`
	}
)

// The messages of looking.
type (
	// read asks to hear of an account, as [actors.Node.Read] does. Reply: opened.
	// An [view.Watch] is answered by it, too.
	OpenView struct {
		Account string `json:"Account"`
		All     bool   `json:"All"`
		Tasks   int    `json:"Tasks"`
	}
	ViewOpened struct {
		ID       string           `json:"ID"`
		Refusal  *api.Refusal     `json:"Refusal"` // of a Watch
		Watching view.Watching    `json:"Watching"`
		Workers  []api.WorkerInfo `json:"Workers"` // of a read
		Tasks    []view.TaskNews  `json:"Tasks"`
	}
	// more asks for what comes next. Reply: seen, or news.
	NextInView struct {
		ID string `json:"ID"`
	}
	// seen is a picture, or why there will be none; neither: not yet.
	ViewFrame struct {
		Picture []byte `json:"-"`
		Over    string `json:"Over"`
	}
	ViewNews struct {
		News   []view.News `json:"News"`
		Behind bool        `json:"Behind"`
	}
	// leave says that nobody looks any more.
	CloseView struct {
		ID string `json:"ID"`
	}
)

// The messages about the last tasks.
type (
	// recent asks for the last tasks, or for one. Reply: recents.
	RecentTasks struct {
		Account string `json:"Account"`
		All     bool   `json:"All"`
		Most    int    `json:"Most"`
		ID      string `json:"ID"` // of the one
	}
	RecentTasksReply struct {
		Tasks []view.TaskNews `json:"Tasks"`
	}
)

// The messages of orders.
type (
	// pausing lets a node take no more tasks, or take them again; nil: neither.
	// Reply: [api.Status].
	PauseNode struct {
		On *bool `json:"On"`
	}
	// looking asks who looks through the links of an account. Reply: lookers.
	LinkViewers struct {
		Account string `json:"Account"`
	}
	LinkViewersReply struct {
		By map[string]int `json:"By"`
	}
)
