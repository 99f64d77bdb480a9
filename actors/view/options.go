package view

import (
	"time"

	"troupe/engine"
)

// Options are those of the pictures that watchers get: large enough to follow
// what a page does, and a little more than five a second, which is cheap. See
// docs/performance.md.
func Options() engine.ScreencastOptions {
	return engine.ScreencastOptions{Width: 640, Height: 480, Quality: 60, Every: 190 * time.Millisecond}
}
