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

// Screencaster is an [Instance] that can show what its current tab looks like.
type Screencaster interface {
	// Screencast gives pictures, as JPEG, whenever what the tab shows has changed.
	// They are of what is in the browser now: after a Reset there are none any
	// more. The channel holds the newest one only, so that nothing waits for who
	// reads. It is closed when ctx ends, at a Reset and with the browser. An
	// instance is watched once at a time; a second Watch begins after the first.
	//
	// What the pictures show is not masked: it is what the page shows, as in a
	// screenshot.
	Screencast(ctx context.Context, v ScreencastOptions) <-chan []byte
}

// ScreencasterOf finds what an instance shows itself by, also behind others that
// stand before it and say so with a method Unwrap. It is nil where an engine has
// no such thing.
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
