package api

// Restore asks a node to go on with a session whose own node is not there any
// more.
type Restore struct {
	Session string  `json:"Session"`
	Account Account `json:"Account"`
	Worker  string  `json:"Worker"` // that the request names; empty: none
	Lost    string  `json:"Lost"`   // the node that does not answer; empty: none is known to
	// RemoteOnly tells that the node takes no more tasks, and so no session.
	RemoteOnly bool `json:"-"`
}

// Restored answers [Restore]: a refusal, or the node that has the session now, by
// its record. That is the one that was asked, if it has restored it.
type Restored struct {
	Node    string   `json:"Node"`
	Refusal *Refusal `json:"Refusal"`
}

func (*Restore) reply(*Restored) {}

var _ = define(definition[Restore, Restored]{number: 38, reply: 39})

func (r *Restored) Refused() *Refusal { return r.Refusal }
