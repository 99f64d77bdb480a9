package schedule

import (
	"fmt"
	"strings"

	"troupe/actors/api"
)

// WhyNoneFree says why an account gets no worker: what all of them do. shared
// tells whether workers without an owner are open to the task.
func (r *Roster) WhyNoneFree(shared bool) string {
	all := len(r.All)
	if all == 0 {
		return "there are no workers"
	}
	rest := all
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			rest -= n
			parts = append(parts, fmt.Sprintf("%d %s %s", n, isOrAre(n), what))
		}
	}
	add(r.States[api.Busy], "busy")
	add(r.States[api.Reserved], "reserved")
	add(r.States[api.Offline], "offline")
	why := "not open to this account now (claimed a moment ago, another account's, drained, or in a browser that is kept for another account)"
	if !shared {
		why = "not open to a new session of this account, whose sessions hold their share of the shared workers"
	}
	add(rest, why)
	workers := "workers"
	if all == 1 {
		workers = "worker"
	}
	return fmt.Sprintf("of %d %s %s", all, workers, strings.Join(parts, ", "))
}

func isOrAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}
