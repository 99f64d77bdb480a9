package browser

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/cdproto/fetch"
)

// State is what a session needs to continue in another browser: cookies, web
// storage, and the addresses of its tabs.
type State struct {
	Cookies []Cookie           `json:"cookies"`
	Local   map[string][]Entry `json:"local"` // by origin
	Tabs    []TabState         `json:"tabs"`  // the current one last
	Width   int                `json:"width"`
	Height  int                `json:"height"`
	Sites   [][]string         `json:"sites,omitempty"` // lists that each page's site must be in
	Left    int                `json:"left,omitempty"`  // storages that are not there, because there was too much
	// References is the last number that a snapshot has given to an element.
	References int `json:"references,omitempty"`
	// Secrets are the names of those that tasks of the session have used.
	Secrets []string `json:"secrets,omitempty"`
	// Around is what pages find around them; nil: what the browser has by itself.
	Around *Surroundings `json:"around,omitempty"`
	// Requests are the rules for requests, as their owner writes them.
	Requests json.RawMessage `json:"requests,omitempty"`
	// Proxy is the name of the operator's proxy that pages are reached through.
	Proxy string `json:"proxy,omitempty"`
	// Databases are those of IndexedDB by origin, only in a profile.
	Databases map[string]json.RawMessage `json:"databases,omitempty"`
}

// maxState bounds the storages of a state, in characters of JSON: pages fill them,
// those of each site on its own, and a session's state stays in memory while it lives.
const maxState = 8 << 20

// TabState is one tab: its last committed address and its session storage.
type TabState struct {
	URL     string             `json:"url"`
	Session map[string][]Entry `json:"session,omitempty"` // by origin
}

// Entry is a key of a storage with its value.
type Entry [2]string

// siteStorage is what a tab's own document can read.
type siteStorage struct {
	Origin  string  `json:"origin"`
	URL     string  `json:"url"`
	Local   []Entry `json:"local"`
	Session []Entry `json:"session"`
	Size    int     `json:"size"`
	Left    int     `json:"left"`
}

// room is how many characters of JSON still go into the state.
type room int

// takes makes room for entries, where there is enough of it.
func (r *room) takes(entries []Entry) bool {
	b, err := json.Marshal(entries)
	if err != nil || len(b) > int(*r) {
		return false
	}
	*r -= room(len(b))
	return true
}

// Snapshots saves and restores the state of a context.
type Snapshots struct {
	context *Context

	mu      sync.Mutex
	visited map[string]bool    // sites of main documents since the last Save
	local   map[string][]Entry // what that Save found
	// databases are those that were put back, or found by the last SaveAll.
	databases map[string]json.RawMessage
	used      map[string]bool // sites of main documents since that
}

// Save reads the context's state. Storage of sites that a tab has left since
// the last Save is read from a tab of its own, without any request to the
// site.
func (sn *Snapshots) Save(ctx context.Context) (*State, error) {
	s := &State{Local: map[string][]Entry{}}
	s.Width, s.Height = sn.context.Size()
	var err error
	if s.Cookies, err = sn.context.Cookies.All(ctx); err != nil {
		return nil, err
	}
	open, left := map[string]bool{}, room(maxState)
	for _, t := range sn.context.Tabs() {
		st, err := t.storage(ctx, &left)
		if err != nil {
			if ctx.Err() != nil {
				return nil, err
			}
			continue // a tab that is closing, or that runs a script without end
		}
		tab := TabState{URL: st.URL}
		if WebOrigin(st.Origin) != "" {
			open[st.Origin] = true
			s.Left += st.Left
			s.Local[st.Origin] = st.Local
			if len(st.Session) > 0 {
				tab.Session = map[string][]Entry{st.Origin: st.Session}
			}
		}
		s.Tabs = append(s.Tabs, tab)
	}
	sn.mu.Lock()
	closed := []string{}
	for o := range sn.visited {
		if !open[o] {
			closed = append(closed, o)
		}
	}
	for o, entries := range sn.local {
		switch {
		case open[o] || slices.Contains(closed, o):
		case left.takes(entries):
			s.Local[o] = entries
		default:
			s.Left++
		}
	}
	sn.mu.Unlock()
	if err := sn.readLeft(ctx, closed, s, &left); err != nil {
		return nil, err
	}
	for o, entries := range s.Local {
		if len(entries) == 0 {
			delete(s.Local, o)
		}
	}
	sn.mu.Lock()
	sn.local, sn.visited = s.Local, map[string]bool{}
	sn.mu.Unlock()
	return s, nil
}

// readLeft reads the storage of sites that no tab shows any more.
func (sn *Snapshots) readLeft(ctx context.Context, origins []string, s *State, left *room) error {
	if len(origins) == 0 {
		return nil
	}
	return sn.offstage(ctx, func(t *Tab) error {
		for _, o := range origins {
			if err := t.pretend(ctx, o); err != nil {
				return err
			}
			st, err := t.storage(ctx, left)
			if err != nil {
				return err
			}
			s.Local[o] = st.Local
			s.Left += st.Left
		}
		return nil
	})
}

// Restore puts cookies and local storage back. Nothing is loaded from any site;
// the tabs are for Reopen.
func (sn *Snapshots) Restore(ctx context.Context, s *State) error {
	sn.mu.Lock()
	sn.local = s.Local
	sn.mu.Unlock()
	sn.context.Touch()
	if s.Width > 0 && s.Height > 0 {
		if err := sn.context.SetSize(ctx, s.Width, s.Height); err != nil {
			return err
		}
	}
	if len(s.Cookies) > 0 {
		if err := sn.context.Cookies.set(ctx, s.Cookies); err != nil {
			return fmt.Errorf("putting the cookies back: %w", err)
		}
	}
	if err := sn.restoreDatabases(ctx, s); err != nil || len(s.Local) == 0 {
		return err
	}
	return sn.offstage(ctx, func(t *Tab) error {
		for o, entries := range s.Local {
			if err := t.pretend(ctx, o); err != nil {
				return err
			}
			if _, err := t.Script.Call(ctx, "store", map[string]any{"local": entries}); err != nil {
				return fmt.Errorf("putting the storage of %s back: %w", o, err)
			}
		}
		return nil
	})
}

// reopenTime is how long the current tab of a session may take to load again.
const reopenTime = 10 * time.Second

// Reopen opens the tabs of a state, each with its session storage. It returns
// when their documents have begun and the current one has loaded, or the reason
// why one could not.
func (sn *Snapshots) Reopen(ctx context.Context, tabs []TabState) error {
	var failed error
	for i, ts := range tabs {
		var t *Tab
		var err error
		if i == 0 {
			t, err = sn.context.Tab(ctx) // the blank one
		} else {
			t, err = sn.context.NewTab(ctx)
		}
		if err != nil {
			return err
		}
		for origin, entries := range ts.Session {
			err = t.stub(ctx, func() error {
				if err := t.pretend(ctx, origin); err != nil {
					return err
				}
				_, err := t.Script.Call(ctx, "store", map[string]any{"session": entries})
				return err
			})
			if err != nil {
				return fmt.Errorf("putting the session storage of %s back: %w", origin, err)
			}
		}
		if WebOrigin(ts.URL) == "" {
			continue
		}
		if err := t.Navigation.Open(ctx, ts.URL); err != nil {
			failed = errors.Join(failed, fmt.Errorf("opening %s again: %w", ts.URL, err))
			continue
		}
		if i == len(tabs)-1 { // the current tab: the client's list goes on in it
			if _, err := t.Script.Call(ctx, "load", map[string]any{"ms": reopenTime.Milliseconds()}); err != nil {
				failed = errors.Join(failed, fmt.Errorf("loading %s again: %w", ts.URL, err))
			}
		}
	}
	return failed
}

// storage reads what the tab's own document can see, as far as there is room.
func (t *Tab) storage(ctx context.Context, left *room) (*siteStorage, error) {
	r, err := t.Script.Call(ctx, "storage", map[string]any{"room": *left})
	if err != nil {
		return nil, fmt.Errorf("reading the storage: %w", err)
	}
	st := new(siteStorage)
	if err := json.Unmarshal(r.Value, st); err != nil {
		return nil, fmt.Errorf("reading the storage: %w", err)
	}
	*left -= room(st.Size)
	return st, nil
}

// offstage runs f with a tab that no request leaves.
func (sn *Snapshots) offstage(ctx context.Context, f func(*Tab) error) error {
	current := sn.context.Tabs()
	t, err := sn.context.NewTab(ctx)
	if err != nil {
		return err
	}
	defer func() {
		sn.context.b.closeTab(t.id)
		sn.context.lost(t)
		sn.context.mu.Lock()
		if len(current) > 0 {
			sn.context.raise(current[len(current)-1])
		}
		sn.context.mu.Unlock()
	}()
	return t.stub(ctx, func() error { return f(t) })
}

// stub answers every request of the tab with an empty page while f runs.
func (t *Tab) stub(ctx context.Context, f func() error) error {
	t.mu.Lock()
	t.stubbed = true
	t.mu.Unlock()
	if err := t.s.call(ctx, fetch.CommandEnable, fetch.EnableParams{}, nil); err != nil {
		return fmt.Errorf("holding the tab's requests: %w", err)
	}
	err := f()
	t.mu.Lock()
	t.stubbed = false
	t.mu.Unlock()
	if e := t.s.call(ctx, fetch.CommandDisable, nil, nil); err == nil && e != nil {
		err = fmt.Errorf("letting the tab's requests go: %w", e)
	}
	t.holdRequests()
	return err
}

var emptyPage = base64.StdEncoding.EncodeToString([]byte("<!doctype html><title></title>"))

// paused answers a request that was held.
func (t *Tab) paused(params jsonv2.Value) {
	t.mu.Lock()
	stubbed := t.stubbed
	t.mu.Unlock()
	if !stubbed {
		t.context.unread.paused(t.s, params, func(e *fetch.EventRequestPaused) { t.letGo(t.s, e) })
		return
	}
	t.s.send(fetch.CommandFulfillRequest, map[string]any{
		"requestId": unreadID(params), "responseCode": 200, "body": emptyPage,
		"responseHeaders": []map[string]string{{"name": "Content-Type", "value": "text/html"}},
	})
}

// pretend shows an empty page of a site, made up by us.
func (t *Tab) pretend(ctx context.Context, origin string) error {
	if err := t.Navigation.Open(ctx, origin+"/"); err != nil {
		return fmt.Errorf("showing an empty page of %s: %w", origin, err)
	}
	return nil
}

// WebOrigin is the origin of an address as the browser spells it, and empty for
// what is no web page. It is cut out by hand: browsers leave percent signs alone
// that url.Parse refuses.
func WebOrigin(address string) string {
	scheme, rest, _ := strings.Cut(address, "://")
	if scheme != "http" && scheme != "https" {
		return ""
	}
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end]
	}
	return scheme + "://" + rest[strings.LastIndexByte(rest, '@')+1:]
}

// visit notes the site of a main document, for the next Save.
func (sn *Snapshots) visit(address string) {
	origin := WebOrigin(address)
	if origin == "" {
		return
	}
	sn.mu.Lock()
	defer sn.mu.Unlock()
	for _, of := range []*map[string]bool{&sn.visited, &sn.used} {
		if *of == nil {
			*of = map[string]bool{}
		}
		if len(*of) < 100 {
			(*of)[origin] = true
		}
	}
}
