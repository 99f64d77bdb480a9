package schedule

import (
	"testing"

	"troupe/actors/api"
)

// TestNoneFreeSumsUp: where the workers are adds up to all of them.
func TestNoneFreeSumsUp(t *testing.T) {
	seats := func(n int) []*Slot { return make([]*Slot, n) }
	for want, c := range map[string]struct {
		r      Roster
		shared bool
	}{
		"there are no workers":                                  {Roster{}, true},
		"of 1 worker 1 is busy":                                 {Roster{All: seats(1), States: map[api.State]int{api.Busy: 1}}, true},
		"of 5 workers 2 are busy, 1 is reserved, 2 are offline": {Roster{All: seats(5), States: map[api.State]int{api.Busy: 2, api.Reserved: 1, api.Offline: 2}}, true},
		"of 3 workers 1 is busy, 2 are not open to this account now (claimed a moment ago, another account's, drained, or in a browser that is kept for another account)": {Roster{All: seats(3), States: map[api.State]int{api.Busy: 1, api.Online: 2}}, true},
		"of 2 workers 1 is reserved, 1 is not open to a new session of this account, whose sessions hold their share of the shared workers":                               {Roster{All: seats(2), States: map[api.State]int{api.Reserved: 1, api.Online: 1}}, false},
	} {
		if got := c.r.WhyNoneFree(c.shared); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
