package browser

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
)

// Navigation is where a tab is, and where it is on its way to.
type Navigation struct {
	moves // of the main frame; its lock is for everything here
	tab   *Tab

	document  cdp.LoaderID  // the navigation that led to the current document
	complete  bool          // its load event was
	address   string        // of the current document
	toward    string        // the document that was requested last, where requests are held
	failed    string        // the address that the browser's own error page stands for, which is the current document
	broken    string        // why the current document did not arrive as a whole; empty: it did, or nobody has asked
	navigated chan struct{} // closed, and made anew, with each document
	popup     bool          // a page has opened the tab, or uses it again, and nothing was asked of it yet
	reused    bool          // it uses it again
	opened    time.Time     // when
	byItself  bool          // a script in it has just sent it to another place
}

// NavigationError is a page that could not be reached.
type NavigationError struct {
	Text string // such as net::ERR_NAME_NOT_RESOLVED
	Why  string // in words, where the browser's name does not say it
}

func (e *NavigationError) Error() string { return e.Text }

// ErrDownload says that a navigation became a download.
var ErrDownload = errors.New("the address is a download")

// ErrNoAddress says that the browser does not take a text for an address.
var ErrNoAddress = errors.New("the browser does not take it for an address")

// Open goes to the URL and returns when the new document has begun. If ctx ends
// first, the navigation is stopped.
//
// If a script has just sent the page elsewhere, the browser may drop our
// navigation for the script's. Ours is the later one, so it is sent again.
func (nav *Navigation) Open(ctx context.Context, url string) error {
	for range 3 {
		res, err := nav.send(ctx, url)
		switch {
		case err != nil:
			return err
		case res.IsDownload && res.ErrorText == aborted:
			return ErrDownload
		case res.IsDownload:
			return &NavigationError{res.ErrorText, "the answer is a file to be kept, with a status that says that it is none"}
		case res.ErrorText == "":
			return nil
		case res.ErrorText != aborted:
			return nav.unreached(ctx, url, res.ErrorText, res.LoaderID)
		case !nav.overtaken(ctx, res.LoaderID):
			return &NavigationError{aborted, "the answer is no document, as with status 204, 205 or 304, or a script has stopped it; the tab stays where it was"}
		}
	}
	return &NavigationError{aborted, "the page went elsewhere each time"}
}

// aborted is the browser's word for a navigation that another one replaced,
// and for one whose answer has no content.
const aborted = "net::ERR_ABORTED"

// overtakenTime is how long the browser may take to report the navigation
// that replaced ours, once it has said that ours is gone.
const overtakenTime = 50 * time.Millisecond

func (nav *Navigation) overtaken(ctx context.Context, ours cdp.LoaderID) bool {
	timer := time.NewTimer(overtakenTime)
	defer timer.Stop()
	for {
		nav.mu.Lock()
		heading, started := nav.heading, nav.started
		nav.mu.Unlock()
		if heading != ours {
			return true
		}
		select {
		case <-started:
		case <-timer.C:
			return false
		case <-ctx.Done():
			return false
		}
	}
}

func (nav *Navigation) send(ctx context.Context, url string) (page.NavigateResult, error) {
	nav.tab.Script.forget()
	var res page.NavigateResult
	err := nav.tab.s.call(ctx, page.CommandNavigate, page.NavigateParams{URL: url}, &res)
	nav.tab.Script.forget()
	if err != nil {
		if refused := (*cdproto.Error)(nil); errors.As(err, &refused) && strings.Contains(refused.Message, "invalid URL") {
			return res, ErrNoAddress
		}
		if ctx.Err() != nil {
			nav.tab.s.send(page.CommandStopLoading, nil)
		}
		return res, fmt.Errorf("navigating: %w", err)
	}
	return res, nil
}

// Arrived returns when a popup has left the blank page that it begins with, or
// shows that it stays there, and when a tab that is used again shows another document. Tabs of our own are ready at once.
func (nav *Navigation) Arrived(ctx context.Context) error {
	nav.mu.Lock()
	waits, reused, stopped, since := nav.popup && !nav.rested, nav.reused, nav.stopped, nav.opened
	nav.popup, nav.reused = false, false
	nav.mu.Unlock()
	if !waits {
		return nil
	}
	if reused { // what it shows until then was asked for before
		nav.awaitOther(ctx)
		return context.Cause(ctx)
	}
	select {
	case <-stopped:
	case <-time.After(time.Until(since.Add(popupTime))):
	case <-nav.tab.closed:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	return nil
}

// popupTime is how long a popup may take to begin with its document.
const popupTime = 2 * time.Second

// Loading reports whether the page is on its way to a document or still loads
// one.
func (nav *Navigation) Loading() bool {
	loading, _ := nav.state()
	return loading
}

// Stop stops loading the page.
func (nav *Navigation) Stop() { nav.tab.s.send(page.CommandStopLoading, nil) }

// Address is the page's current address.
func (nav *Navigation) Address(ctx context.Context) (string, error) {
	res, err := nav.history(ctx)
	if err != nil {
		return "", err
	}
	if int(res.CurrentIndex) >= len(res.Entries) {
		return blank, nil
	}
	return res.Entries[res.CurrentIndex].URL, nil
}
