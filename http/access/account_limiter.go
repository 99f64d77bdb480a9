package access

import (
	"sync"

	"troupe/engine"
	"troupe/http/answer"
)

// AccountLimiter counts how much each account has open at once.
type AccountLimiter struct {
	most int
	code engine.Code
	text string
	mu   sync.Mutex
	by   map[string]int
	all  int
}

// NewAccountLimiter lets each account have so many, and refuses more with a code
// and a text.
func NewAccountLimiter(most int, code engine.Code, text string) *AccountLimiter {
	return &AccountLimiter{most: most, code: code, text: text}
}

// Take takes one, if the account has one left. The returned function gives it back.
func (s *AccountLimiter) Take(account string) (leave func(), no *answer.Refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[account] >= s.most {
		return nil, answer.RefuseText(s.code, s.text)
	}
	if s.by == nil {
		s.by = map[string]int{}
	}
	s.by[account]++
	s.all++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.all--
		if s.by[account]--; s.by[account] == 0 {
			delete(s.by, account)
		}
	}), nil
}

// Taken is how many all accounts have together.
func (s *AccountLimiter) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}
