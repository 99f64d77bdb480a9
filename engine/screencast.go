package engine

import (
	"context"
	"time"

	"troupe/engine/browser"
)

// ScreencastOptions says how a browser is watched.
type ScreencastOptions struct {
	Width, Height int           // the most pixels of a picture
	Quality       int           // of a JPEG, 1 to 100
	Every         time.Duration // from asking for a picture until the next is asked for
}

// Screencaster is an [Instance] that can show its current tab live.
type Screencaster interface {
	// Screencast sends pictures, as JPEG, whenever the tab's content has changed.
	// They show what is in the browser now; after a Reset there are no more. The
	// channel holds only the newest picture, so a slow reader delays nothing. It
	// is closed when ctx ends, at a Reset and with the browser. An instance has
	// one screencast at a time; a second one begins after the first.
	//
	// The pictures are not masked: they show what the page shows, as a screenshot
	// does.
	Screencast(ctx context.Context, v ScreencastOptions) <-chan []byte
}

// ScreencasterOf returns the Screencaster of an instance, looking through wrappers
// with a method Unwrap. It is nil if the engine has none.
func ScreencasterOf(in Instance) Screencaster {
	for in != nil {
		if w, ok := in.(Screencaster); ok {
			return w
		}
		wrapped, ok := in.(interface{ Unwrap() Instance })
		if !ok {
			return nil
		}
		in = wrapped.Unwrap()
	}
	return nil
}

// Screencast is part of [Screencaster].
func (in *instance) Screencast(ctx context.Context, v ScreencastOptions) <-chan []byte {
	return in.context().Screencast(ctx, browser.Cast{Width: v.Width, Height: v.Height, Quality: v.Quality, Every: v.Every})
}
