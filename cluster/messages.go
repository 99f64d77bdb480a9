package cluster

import (
	"time"

	"troupe/actors/api"
	"troupe/actors/view"
)

// The messages that are only between nodes.
type (
	// order is an Execute on its way: its task is not read before its files are
	// there. It is a start when the task is asynchronous.
	forwardedExecute struct {
		api.Execute
		Origin string    `json:"Origin"` // the node that asks
		Boot   string    `json:"Boot"`   // its process
		Turn   uint64    `json:"Turn"`   // not zero: it begins when the origin says so, see begins
		Sent   time.Time `json:"Sent"`
		Source []byte    `json:"Source"` // what the task was parsed from
		Files  []file    `json:"Files"`
	}
	// file is an upload of a task, which the owner fetches.
	file struct {
		Name   string `json:"Name"`
		Type   string `json:"Type"`
		Parcel parcel `json:"Parcel"`
	}
	// parcel stands for bytes that are too many for one message. Whoever gets it
	// fetches them from the node that has them.
	parcel struct {
		Node string `json:"Node"`
		ID   string `json:"ID"`
		Size int64  `json:"Size"`
	}
	// locate asks whether a session is on a node. Reply: located.
	locateSession struct {
		Account string `json:"Account"`
		Session string `json:"Session"`
	}
	sessionLocated struct {
		Here bool `json:"Here"`
	}
	// fault answers what could not be done.
	fault struct {
		Text      string `json:"Text"`
		Unstarted bool   `json:"Unbegun,omitempty"` // of a task: nothing of it has begun, nor will
	}
)

// The messages about that.
type (
	// begins asks whether a task may begin. Reply: mayBegin.
	startQuery struct {
		TaskID string `json:"TaskID"`
		Turn   uint64 `json:"Turn"` // of the order
	}
	startReply struct {
		OK bool `json:"OK"`
	}
)

// The messages of looking.
type (
	// read asks to hear of an account, as [actors.Node.Read] does. Reply: opened.
	// An [view.Watch] is answered by it, too.
	openView struct {
		Account string `json:"Account"`
		All     bool   `json:"All"`
		Tasks   int    `json:"Tasks"`
	}
	viewOpened struct {
		ID       string           `json:"ID"`
		Refusal  *api.Refusal     `json:"Refusal"` // of a Watch
		Watching view.Watching    `json:"Watching"`
		Workers  []api.WorkerInfo `json:"Workers"` // of a read
		Tasks    []view.TaskNews  `json:"Tasks"`
	}
	// more asks for what comes next. Reply: seen, or news.
	nextInView struct {
		ID string `json:"ID"`
	}
	// seen is a picture, or why there will be none; neither: not yet.
	viewFrame struct {
		Picture []byte `json:"-"`
		Over    string `json:"Over"`
	}
	viewNews struct {
		News   []view.News `json:"News"`
		Behind bool        `json:"Behind"`
	}
	// leave says that nobody looks any more.
	closeView struct {
		ID string `json:"ID"`
	}
)

// The messages about the last tasks.
type (
	// recent asks for the last tasks, or for one. Reply: recents.
	recentTasks struct {
		Account string `json:"Account"`
		All     bool   `json:"All"`
		Most    int    `json:"Most"`
		ID      string `json:"ID"` // of the one
	}
	recentTasksReply struct {
		Tasks []view.TaskNews `json:"Tasks"`
	}
)

// The messages of orders.
type (
	// pausing lets a node take no more tasks, or take them again; nil: neither.
	// Reply: [api.Status].
	pauseNode struct {
		On *bool `json:"On"`
	}
	// looking asks who looks through the links of an account. Reply: lookers.
	linkViewers struct {
		Account string `json:"Account"`
	}
	linkViewersReply struct {
		By map[string]int `json:"By"`
	}
)
