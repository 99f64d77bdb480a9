package engine

import (
	"time"

	"troupe/engine/lately"
)

const (
	// leastResistance is how long a page may always take to let itself be left. On a machine
	// with nothing else to do, one that takes longer is still running something.
	leastResistance = 100 * time.Millisecond
	// mostResistance leaves time to replace the context after all.
	mostResistance = 500 * time.Millisecond
	// manyLeaves is how many times as long as others a page may take.
	manyLeaves = 4
)

// pace is how long it takes at the moment to replace a context, and to leave a page.
type pace struct {
	replaced, left lately.Mean
}

// resistance is how long a page may take to let itself be left: as long as a new context
// would take. To wait costs no more than not to wait then.
func (p *pace) resistance() time.Duration {
	return min(max(p.replaced.Value(), manyLeaves*p.left.Value(), leastResistance), mostResistance)
}
