package browser

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/chromedp/cdproto/page"
)

// ErrNoHistory says that there is no page to go to in the tab's history.
var ErrNoHistory = errors.New("the tab has no such page in its history")

// ErrStays says that a tab was to go to another page of its history, and has not.
var ErrStays = errors.New("the tab stays where it is")

func (nav *Navigation) history(ctx context.Context) (res page.GetNavigationHistoryResult, err error) {
	if err := nav.tab.s.call(ctx, page.CommandGetNavigationHistory, nil, &res); err != nil {
		return res, fmt.Errorf("reading the history of the tab: %w", err)
	}
	return res, nil
}

// Go goes so many pages forward in the tab's history, or back if negative, and returns
// the address when the tab is there. The document may be one that was kept, a new one,
// or the same with another address.
func (nav *Navigation) Go(ctx context.Context, by int64) (address string, err error) {
	from, err := nav.history(ctx)
	if err != nil {
		return "", err
	}
	to := from.CurrentIndex + by
	if to < 0 || int(to) >= len(from.Entries) || from.Entries[to].URL == blank {
		return "", ErrNoHistory
	}
	nav.tab.Script.forget()
	if err := nav.tab.s.call(ctx, page.CommandNavigateToHistoryEntry, page.NavigateToHistoryEntryParams{EntryID: from.Entries[to].ID}, nil); err != nil {
		return "", fmt.Errorf("going to a page of the history: %w", err)
	}
	for {
		now, err := nav.history(ctx)
		switch {
		case err != nil && ctx.Err() != nil:
			return "", ErrStays
		case err != nil:
			return "", err
		case now.CurrentIndex == to:
			nav.tab.Script.forget()
			return now.Entries[to].URL, nil
		}
		nav.mu.Lock()
		navigated := nav.navigated
		nav.mu.Unlock()
		select { // no event reports an address that changes within a document
		case <-navigated:
		case <-time.After(historyPoll):
		case <-ctx.Done():
			nav.tab.s.send(page.CommandStopLoading, nil)
			return "", ErrStays
		}
	}
}

// historyPoll is how often the history is looked at while a tab goes to a page of it.
const historyPoll = 10 * time.Millisecond

// Reload loads the page anew and returns when the new document has begun.
func (nav *Navigation) Reload(ctx context.Context, past bool) error {
	nav.mu.Lock()
	navigated := nav.navigated
	nav.mu.Unlock()
	nav.tab.Script.forget()
	if err := nav.tab.s.call(ctx, page.CommandReload, page.ReloadParams{IgnoreCache: &past}, nil); err != nil && ctx.Err() == nil {
		return fmt.Errorf("loading the page anew: %w", err)
	}
	select {
	case <-navigated:
		nav.tab.Script.forget()
		return nil
	case <-nav.tab.closed:
		return fmt.Errorf("loading the page anew: %w", ErrDetached)
	case <-ctx.Done():
		nav.tab.s.send(page.CommandStopLoading, nil)
		return ErrStays
	}
}
