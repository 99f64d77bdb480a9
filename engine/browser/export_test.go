package browser

import "context"

// RehearseHands is rehearseHands, for the tests from outside.
func (t *Tab) RehearseHands(ctx context.Context) (well int, err error) { return t.rehearseHands(ctx) }

func ForgetHelp() { helped.Store(false) }
