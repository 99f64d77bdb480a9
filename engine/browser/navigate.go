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

// Navigate goes to the URL and returns when the new document has begun. When
// ctx ends first, the navigation is stopped.
//
// A script that has just sent the page elsewhere may get its navigation in
// after ours, and the browser then drops ours. Who asked last is known here,
// so ours is sent again.
func (t *Tab) Navigate(ctx context.Context, url string) error {
	for range 3 {
		res, err := t.navigate(ctx, url)
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
			return t.unreached(ctx, url, res.ErrorText, res.LoaderID)
		case !t.overtaken(ctx, res.LoaderID):
			return &NavigationError{aborted, "the answer is no document, as with status 204, 205 or 304, or a script has stopped it; the tab stays where it was"}
		}
	}
	return &NavigationError{aborted, "the page went elsewhere each time"}
}

// aborted is the browser's word for a navigation that another one replaced,
// and for one whose answer has no content.
const aborted = "net::ERR_ABORTED"

// overtakenTime is how long the browser may take to tell of the navigation
// that replaced ours, once it has said that ours is gone.
const overtakenTime = 50 * time.Millisecond

func (t *Tab) overtaken(ctx context.Context, ours cdp.LoaderID) bool {
	timer := time.NewTimer(overtakenTime)
	defer timer.Stop()
	for {
		t.mu.Lock()
		heading, started := t.heading, t.started
		t.mu.Unlock()
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

func (t *Tab) navigate(ctx context.Context, url string) (page.NavigateResult, error) {
	t.forget()
	var res page.NavigateResult
	err := t.s.call(ctx, page.CommandNavigate, page.NavigateParams{URL: url}, &res)
	t.forget()
	if err != nil {
		if refused := (*cdproto.Error)(nil); errors.As(err, &refused) && strings.Contains(refused.Message, "invalid URL") {
			return res, ErrNoAddress
		}
		if ctx.Err() != nil {
			t.s.send(page.CommandStopLoading, nil)
		}
		return res, fmt.Errorf("navigating: %w", err)
	}
	t.mu.Lock()
	t.aim = res.LoaderID
	t.mu.Unlock()
	return res, nil
}

// Loaded waits for the load event of the document that Navigate went to, by what
// the browser tells of it: a document that only a task's own scripts see needs
// neither our world nor the page script. It reports false where ctx ends first,
// and as soon as there is more to say than that: the page has to be asked then.
func (t *Tab) Loaded(ctx context.Context) bool {
	for {
		t.mu.Lock()
		loading, stopped := t.loading, t.stopped
		loaded := t.complete && t.aim != "" && t.document == t.aim && t.heading == t.aim
		done := loaded && !loading && !t.asked.Load()
		if done {
			t.bare = true
		}
		t.mu.Unlock()
		if done || !loading {
			return done
		}
		select {
		case <-stopped:
		case <-t.closed:
			return false
		case <-t.fallen:
			return false
		case <-ctx.Done():
			return false
		}
	}
}
