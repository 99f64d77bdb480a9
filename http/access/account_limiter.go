package access

import (
	"sync"
)

// AccountLimiter counts how much each account has open at once.
type AccountLimiter struct {
	most int
	mu   sync.Mutex
	by   map[string]int
	all  int
}

// NewAccountLimiter lets each account have so many.
func NewAccountLimiter(most int) *AccountLimiter { return &AccountLimiter{most: most} }

// Take takes one, if the account has one left. What it returns gives it back.
func (s *AccountLimiter) Take(account string) (leave func(), ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by[account] >= s.most {
		return nil, false
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
	}), true
}

// Taken is how many all accounts have together.
func (s *AccountLimiter) Taken() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all
}
