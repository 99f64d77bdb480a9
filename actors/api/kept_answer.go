package api

// KeptAnswer asks whether a request with a key would be answered with what an earlier one
// was, and how much that is: nothing of it is loaded. The node that is asked looks itself.
type KeptAnswer struct {
	Account Account
	Key     string
}

// AnswerKept answers [KeptAnswer].
type AnswerKept struct {
	Bytes   int64 // about, as they are kept; zero: nothing is kept of the key
	Refusal *Refusal
}

func (*KeptAnswer) reply(*AnswerKept) {}

var _ = define(definition[KeptAnswer, AnswerKept]{failed: func(_ *KeptAnswer, no *Refusal) *AnswerKept { return &AnswerKept{Refusal: no} }})

func (a *AnswerKept) Refused() *Refusal { return a.Refusal }
