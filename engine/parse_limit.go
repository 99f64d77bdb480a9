package engine

import (
	"context"
	"fmt"
)

// SmallBody is the size up to which a request is parsed at once. Larger ones take
// turns, because their nodes take some twenty times as much memory as they do.
const SmallBody = 64 << 10

// parsedAtOnce is how many large requests are parsed at a time. More would not be
// parsed any sooner: it is the processor's work alone.
const parsedAtOnce = 4

var parsing = make(chan struct{}, parsedAtOnce)

// BeginParse waits until a request of this size may be parsed. The caller calls
// end afterwards. If ctx ends first, it returns ctx's error.
func BeginParse(ctx context.Context, size int) (end func(), err error) {
	if size <= SmallBody {
		return func() {}, nil
	}
	select {
	case parsing <- struct{}{}:
		return func() { <-parsing }, nil
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to parse a request: %w", context.Cause(ctx))
	}
}
