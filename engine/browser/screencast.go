package browser

import (
	"bytes"
	"context"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/page"
)

// Cast says how a screencast is taken.
type Cast struct {
	Width, Height int           // the most that a picture has; the page's own proportions stay
	Quality       int           // of the JPEG, 1 to 100
	Every         time.Duration // from asking for a picture until the next is asked for
}

// Screencast sends pictures of the context's current tab, as JPEG, whenever its
// content has changed. The channel holds only the newest picture: slow readers
// skip pictures and delay nothing. It is closed when ctx ends or the context is
// gone.
//
// A context has one screencast at a time. The next one begins when the last has
// ended.
func (c *Context) Screencast(ctx context.Context, how Cast) <-chan []byte {
	k := &cast{context: c, how: how, shown: make(chan []byte, 1), frames: make(chan page.EventScreencastFrame, 4)}
	go k.run(ctx)
	return k.shown
}

// cast is a screencast of whichever tab is the current one.
//
// The browser reads every picture back that a page paints, sixty a second where
// something moves, whether or not it was asked for the last one. So it is told to
// stop after each picture, and to begin again when it is time for the next: it
// then gives one at once. When that is the same as the last, nothing moves: the
// browser is left to itself, says nothing and does nothing until it paints.
type cast struct {
	context *Context
	how     Cast
	shown   chan []byte
	frames  chan page.EventScreencastFrame
}

func (k *cast) run(ctx context.Context) {
	defer close(k.shown)
	c := k.context
	select {
	case c.casting <- struct{}{}:
		defer func() { <-c.casting }()
	case <-ctx.Done():
		return
	case <-c.gone:
		return
	}
	for {
		t, changed := c.shown()
		if t == nil {
			select {
			case <-changed:
			case <-ctx.Done():
				return
			case <-c.gone:
				return
			}
		} else if !k.follow(ctx, t, changed) {
			return
		}
	}
}

// shown is the current tab, if there is one, and what is closed when that may
// have changed.
func (c *Context) shown() (*Tab, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.top(), c.changed
}

// follow shows one tab for as long as it is the current one. It reports whether
// there may be another.
func (k *cast) follow(ctx context.Context, t *Tab, changed <-chan struct{}) bool {
	t.cast.Store(k)
	asked := time.Now()
	k.begin(t)
	defer func() {
		t.cast.Store(nil)
		t.s.send(page.CommandStopScreencast, nil)
		for len(k.frames) > 0 { // of a tab that is not the current one any more
			<-k.frames
		}
	}()
	pace := time.NewTimer(k.how.Every)
	pace.Stop()
	defer pace.Stop()
	var last []byte
	runs, same := true, false // since it was told to begin: it goes on; there was one that is the same
	unseen := 0               // how often in a row it painted what cannot be seen
	rest := func() {
		// What the picture took is a part of the pause, or there would be fewer of
		// them than were asked for; a browser that takes long gets its rest.
		took := min(time.Since(asked), k.how.Every/4)
		if same { // it came by itself
			took = 0
		}
		runs = false
		t.s.send(page.CommandStopScreencast, nil)
		pace.Reset(k.how.Every*time.Duration(1+min(unseen, mostPatience)) - took)
	}
	for {
		select {
		case f := <-k.frames:
			switch {
			case !runs: // it was on its way when the browser was told to stop
			case len(f.Data) == 0: // it is too large
				rest()
			case !bytes.Equal(f.Data, last):
				last, unseen = f.Data, 0
				k.show(last)
				rest()
			case same: // it paints what cannot be seen
				unseen++
				rest()
			default:
				same = true
				t.s.send(page.CommandScreencastFrameAck, page.ScreencastFrameAckParams{SessionID: f.SessionID})
			}
		case <-pace.C:
			runs, same, asked = true, false, time.Now()
			k.begin(t)
		case <-changed:
			var now *Tab
			if now, changed = k.context.shown(); now != t {
				return true
			}
		case <-t.fallen:
			return false // with its page, the context is over
		case <-ctx.Done():
			return false
		case <-k.context.gone:
			return false
		}
	}
}

// mostPatience bounds how much longer a tab is left alone that paints all the
// time what cannot be seen, as one does with something that moves below what is
// shown: each look costs two pictures that nobody gets. What can be seen again
// shows with at most so many times [Cast.Every] more delay.
const mostPatience = 3

// begin asks for a picture now, and for more when the tab paints.
func (k *cast) begin(t *Tab) {
	// With two on their way, one that differs from the first is always sent; a
	// third would be made for nothing.
	quality, two := int64(k.how.Quality), int64(2)
	t.s.send(page.CommandStartScreencast, page.StartScreencastParams{
		Format: page.StartScreencastFormatJpeg, Quality: &quality, MaxWidth: int64(k.how.Width), MaxHeight: int64(k.how.Height), EveryNthFrame: 1, MaxFramesInFlight: two,
	})
}

// show puts a picture where its reader finds it, in the place of an older one.
func (k *cast) show(picture []byte) {
	select {
	case <-k.shown:
	default:
	}
	k.shown <- picture // there is room: nobody else writes
}

// frame handles a picture, on the reader's goroutine.
func (k *cast) frame(params jsonv2.Value) {
	var f page.EventScreencastFrame
	if !decode(params, &f) || len(f.Data) >= cutPicture {
		f.Data = nil // it is waited for all the same
	}
	select {
	case k.frames <- f:
	default: // the next picture is the same or newer
	}
}
