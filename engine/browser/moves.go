package browser

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// moves is how a frame goes from document to document, as the browser reports it.
type moves struct {
	asked atomic.Bool // something in the page has asked to go to another document

	mu      sync.Mutex
	loading bool          // a navigation of the frame is on its way, or its document still loads
	stopped chan struct{} // closed, and made anew, when that ends
	rested  bool          // it has ended once
	heading cdp.LoaderID  // the navigation that began last
	began   bool          // a navigation has, since the frame was last asked to leave
	started chan struct{} // closed, and made anew, when one begins
	since   time.Time     // when it was asked to leave, or began to; zero: it has gone or stays
	over    chan struct{} // closed, and made anew, when it has gone or stays
	again   bool          // its document says that another one comes once it is loaded
	fresh   bool          // nobody has waited for what it was sent to, nor has that loaded
}

// prepare makes the channels.
func (m *moves) prepare() {
	m.stopped, m.started, m.over = make(chan struct{}), make(chan struct{}), make(chan struct{})
}

func (m *moves) begins(e *page.EventFrameStartedNavigating) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.heading, m.began, m.again = e.LoaderID, true, false
	if e.NavigationType != page.FrameStartedNavigatingNavigationTypeSameDocument && e.NavigationType != page.FrameStartedNavigatingNavigationTypeHistorySameDocument {
		m.departs()
	}
	close(m.started)
	m.started = make(chan struct{})
}

// departs: the frame is about to show another document. The lock is held.
func (m *moves) departs() {
	m.fresh = true
	if m.since.IsZero() {
		m.since = time.Now()
	}
}

// refreshes: the document of the frame is about to be replaced, as it says itself.
func (m *moves) refreshes() {
	m.mu.Lock()
	m.began, m.again = false, true
	m.departs()
	m.mu.Unlock()
}

// awaitRest returns when the frame has loaded its document, or is about to show another one
// after all, or both take too long: what sends itself elsewhere mostly does so while it loads.
func (m *moves) awaitRest(ctx context.Context) {
	timer := time.NewTimer(restTime)
	defer timer.Stop()
	for {
		m.mu.Lock()
		rests, stopped, started, over := !m.loading || !m.since.IsZero(), m.stopped, m.started, m.over
		m.mu.Unlock()
		if rests {
			return
		}
		select {
		case <-stopped:
		case <-started:
		case <-over:
		case <-timer.C:
			m.mu.Lock()
			m.fresh = false
			m.mu.Unlock()
			return
		case <-ctx.Done():
			return
		}
	}
}

// restless reports whether the frame is about to show another document, or shows one that
// has only just come and may send itself elsewhere.
func (m *moves) restless() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.since.IsZero() || m.fresh && m.loading
}

// restTime is how long a frame that input has sent elsewhere may load before it is looked at.
const restTime = time.Second

// arrives: the frame shows another document, or stays where it is. The lock is held.
func (m *moves) arrives() {
	m.since = time.Time{}
	close(m.over)
	m.over = make(chan struct{})
}

// shows: the frame shows another document.
func (m *moves) shows() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.arrives()
}

// leaving reports whether the frame is about to show another document.
func (m *moves) leaving() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return !m.since.IsZero()
}

// awaitOther returns when the frame shows another document, or stays where it is. One
// that was asked in vain costs a little time, and once only: then it gives when that was.
func (m *moves) awaitOther(ctx context.Context) (vain time.Time) {
	for {
		m.mu.Lock()
		since, began, started, over := m.since, m.began || m.loading, m.started, m.over
		m.mu.Unlock()
		if since.IsZero() {
			return since
		}
		var late <-chan time.Time
		if !began {
			late = time.After(lateStart)
		}
		select {
		case <-over:
		case <-started:
		case <-late:
			m.mu.Lock()
			stays := !m.began && !m.loading && m.since.Equal(since)
			if stays {
				m.arrives()
			}
			m.mu.Unlock()
			if stays {
				return since
			}
		case <-ctx.Done():
			return time.Time{}
		}
	}
}

func (m *moves) loads() {
	m.mu.Lock()
	m.loading = true
	m.mu.Unlock()
}

func (m *moves) stops() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.loading, m.rested = false, true
	if !m.again && (m.began || m.since.IsZero()) { // else this is the end of what was there before
		m.arrives()
		m.fresh = false
	}
	m.again = false
	close(m.stopped)
	m.stopped = make(chan struct{})
}

// requested: something has asked the frame to go to another document.
func (m *moves) requested(e *page.EventFrameRequestedNavigation) {
	m.mu.Lock()
	m.began = false
	m.departs()
	m.mu.Unlock()
	m.asked.Store(true)
}

// hasRested reports whether the frame was loaded once.
func (m *moves) hasRested() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rested
}

// state reports whether the frame is loading, and a channel that is closed when it
// stops.
func (m *moves) state() (bool, <-chan struct{}) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.loading, m.stopped
}

// lateStart is how long the browser may take from telling that a page was asked to
// leave to the beginning of that. What comes between is up to its scheduler, which
// puts off tasks of pages that have much to draw after input.
const lateStart = 500 * time.Millisecond

// startsLate reports whether a frame that was asked to leave, and has not begun to, begins
// to after all. One that was asked in vain costs that time, and what drawn takes: that waits
// until the page is drawn.
func (m *moves) startsLate(ctx context.Context, closed <-chan struct{}, drawn func()) bool {
	m.mu.Lock()
	began, since, started := m.began, m.since, m.started
	m.mu.Unlock()
	if began || since.IsZero() {
		return false // it has gone, or come back from where it went, or stays
	}
	timer := time.NewTimer(lateStart)
	defer timer.Stop()
	select {
	case <-started:
		return true
	case <-timer.C:
		select {
		case <-started: // both, on a machine that stood still
			return true
		default:
		}
		drawn()
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.began || !m.since.Equal(since) {
			return true
		}
		m.arrives() // it stays
	case <-closed:
	case <-ctx.Done():
	}
	return false
}
