package api

import (
	"errors"
	"time"
)

// RemoveAccount ends what an account has: its tasks, sessions and workers. Its
// requests are refused from then on. The reply comes when nothing of it goes on.
//
// A node that is down ends its part at its next start, before it accepts tasks. A node
// that was only out of reach gets the message when it is back.
type RemoveAccount struct {
	Account string `json:"Account"`
}

func (*RemoveAccount) reply(*AccountRemoved) {}

// AccountRemoved answers [RemoveAccount] with how many of each were ended.
type AccountRemoved struct {
	Tasks    int    `json:"Tasks"` // running or waiting
	Sessions int    `json:"Sessions"`
	Workers  int    `json:"Workers"`
	Fault    string `json:"Fault"` // it could not be done
}

// Err returns why the account could not be removed.
func (r *AccountRemoved) Err() error {
	if r.Fault != "" {
		return errors.New(r.Fault)
	}
	return nil
}

// maxAccountRemoval bounds the end of everything that an account has on a node.
const maxAccountRemoval = 2 * time.Minute

var _ = define(definition[RemoveAccount, AccountRemoved]{
	number: 17, reply: 18,
	takes:  func(*RemoveAccount) time.Duration { return maxAccountRemoval },
	failed: func(*RemoveAccount, *Refusal) *AccountRemoved { return &AccountRemoved{Fault: FailedInside} },
	all: &allDefinition[RemoveAccount, AccountRemoved]{
		later: true,
		merge: func(_ *RemoveAccount, parts []part[AccountRemoved]) *AccountRemoved {
			sum := &AccountRemoved{}
			for _, p := range parts {
				sum.Tasks, sum.Sessions, sum.Workers = sum.Tasks+p.reply.Tasks, sum.Sessions+p.reply.Sessions, sum.Workers+p.reply.Workers
			}
			return sum
		},
	},
})
