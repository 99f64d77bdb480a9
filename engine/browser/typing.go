package browser

import (
	"context"
	"time"

	"github.com/chromedp/cdproto/input"
)

// How many characters are on their way at once: enough to keep a quick page busy,
// few enough that typing into a slow one stops soon after its task is cancelled.
const (
	leastAhead, mostAhead = 16, 1024
	firstAhead            = 64
	aheadTime             = 250 * time.Millisecond // for as long as this, at most
)

// Where keys may not go everywhere, it is asked before each of the first characters, and then
// before some.
const eachLooked, someLooked = 256, 32

// Type types a text into whatever has the focus, each character with the events
// of its key, and says how many characters it has typed. Where there is a pause it
// comes between two characters. It stops where the document has gone that they are for.
func (in *Input) Type(ctx context.Context, text string, pause func(context.Context) error) (typed int, err error) {
	var sent []*pending
	var ends []int // of each character on its way: how many events there are up to its last
	ahead := firstAhead
	// arrive waits until so many characters are over.
	arrive := func(n int) error {
		events := ends[n-1]
		done, err := in.awaitEach(ctx, "typing", sent[:events]...)
		over := 0
		for over < n && ends[over] <= done {
			over++
		}
		typed += over
		sent, ends = sent[events:], ends[n:]
		for i := range ends {
			ends[i] -= events
		}
		return err
	}
	defer func() { in.mu.Lock(); in.watched = false; in.mu.Unlock() }()
	bounded := in.tab.context.Sites.bounded()
	for i, r := range text {
		if in.goneUnder() {
			break
		}
		// The focus may move with each key, or be taken by a frame.
		if bounded && (i < eachLooked || i%someLooked == 0) {
			if i > 0 && len(ends) > 0 {
				if err := arrive(len(ends)); err != nil {
					return typed, err
				}
			}
			if err := in.KeysMayGo(ctx); err != nil {
				return typed, err
			}
		}
		if pause != nil && i > 0 && len(ends) > 0 {
			if err := arrive(len(ends)); err != nil {
				return typed, err
			}
			if err := pause(ctx); err != nil {
				return typed, err
			}
		}
		keys := keysFor(r)
		for _, e := range keys {
			sent = append(sent, in.tab.s.send(input.CommandDispatchKeyEvent, e))
		}
		if keys == nil {
			sent = append(sent, in.tab.s.send(input.CommandInsertText, input.InsertTextParams{Text: string(r)}))
		}
		if ends = append(ends, len(sent)); len(ends) < ahead {
			continue
		}
		// Half of them stay on their way, so that the page never waits for more.
		began := time.Now()
		if err := arrive(ahead / 2); err != nil {
			return typed, err
		}
		switch took := 2 * time.Since(began); {
		case took > aheadTime:
			ahead = max(leastAhead, ahead/2)
		case took < aheadTime/2:
			ahead = min(mostAhead, ahead*2)
		}
	}
	if len(ends) == 0 {
		return typed, nil
	}
	return typed, arrive(len(ends))
}

// Insert puts a text into whatever has the focus at once, without keys.
func (in *Input) Insert(ctx context.Context, text string) error {
	if err := in.KeysMayGo(ctx); err != nil {
		return err
	}
	return in.await(ctx, "inserting a text", in.tab.s.send(input.CommandInsertText, input.InsertTextParams{Text: text}))
}
