package api

// BeginCall asks whether a request with a key that runs no task is to be carried out. Who
// gets a Run carries it out and says so with [EndCall]; all others get its answer.
type BeginCall struct {
	Account     Account
	Idempotency Idempotency
}

// CallBegun answers [BeginCall]: one of its fields is set.
type CallBegun struct {
	Run     string // the request is to be carried out, under this name
	Answer  []byte // what an earlier request with the key was answered
	Refusal *Refusal
}

// EndCall tells what a request was answered.
type EndCall struct {
	Account Account
	Key     string
	Run     string // see [CallBegun]
	Answer  []byte // nil: it was refused, and nothing was done
}

// CallEnded answers [EndCall] when the answer is on the disk.
type CallEnded struct{}

func (*BeginCall) reply(*CallBegun) {}
func (*EndCall) reply(*CallEnded)   {}

var (
	_ = define(definition[BeginCall, CallBegun]{failed: func(_ *BeginCall, no *Refusal) *CallBegun { return &CallBegun{Refusal: no} }})
	_ = define(definition[EndCall, CallEnded]{failed: func(*EndCall, *Refusal) *CallEnded { return &CallEnded{} }})
)

func (c *CallBegun) Refused() *Refusal { return c.Refusal }
