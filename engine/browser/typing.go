package browser

import (
	"context"
	"iter"
	"time"
	"unicode/utf8"

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

// Of a text of more than longText characters, only the first and the last edge of them are
// typed by keys where parts are asked for. What is between goes in by parts, as what is
// dictated does: a page needs a millisecond for a key, or several, and as long for a part.
const (
	longText = 2000
	edge     = 30
	partSize = 1000
)

// strokes are a text in the order in which it is typed: characters, and the parts of a long
// one, each within a line. Lines end by keys, for pages see by these that they do.
func strokes(text string, parts bool) iter.Seq[string] {
	return func(yield func(string) bool) {
		all := 0
		if parts {
			all = utf8.RuneCountInString(text)
		}
		for n := 0; text != ""; {
			_, size := utf8.DecodeRuneInString(text)
			runes := 1
			if all > longText && n >= edge && text[0] != '\n' {
				for most := min(partSize, all-edge-n); runes < most && text[size] != '\n'; runes++ {
					_, more := utf8.DecodeRuneInString(text[size:])
					size += more
				}
			}
			if !yield(text[:size]) {
				return
			}
			text, n = text[size:], n+runes
		}
	}
}

// Type types a text into whatever has the focus, each character with the events
// of its key, or a long one by parts, and says how many characters it has typed. Where there
// is a pause it comes between two characters. It stops where the document has gone that they
// are for.
func (in *Input) Type(ctx context.Context, text string, parts bool, pause func(context.Context) error) (typed int, err error) {
	var sent []*pending
	var ends []int  // of each stroke on its way: how many events there are up to its last
	var sizes []int // and its characters
	ahead := firstAhead
	// arrive waits until so many characters are over.
	arrive := func(n int) error {
		events := ends[n-1]
		done, err := in.awaitEach(ctx, "typing", sent[:events]...)
		over := 0
		for over < n && ends[over] <= done {
			over++
		}
		for _, size := range sizes[:over] {
			typed += size
		}
		sent, ends, sizes = sent[events:], ends[n:], sizes[n:]
		for i := range ends {
			ends[i] -= events
		}
		return err
	}
	defer func() { in.mu.Lock(); in.watched = false; in.mu.Unlock() }()
	bounded := in.tab.context.Sites.bounded()
	i := -1
	for stroke := range strokes(text, parts) {
		i++
		if in.goneUnder() {
			break
		}
		size := utf8.RuneCountInString(stroke)
		// The focus may move with each key, or be taken by a frame.
		if bounded && (i < eachLooked || i%someLooked == 0 || size > 1) {
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
		keys := keysOf(stroke)
		for _, e := range keys {
			sent = append(sent, in.tab.s.send(input.CommandDispatchKeyEvent, e))
		}
		if keys == nil {
			sent = append(sent, in.tab.s.send(input.CommandInsertText, input.InsertTextParams{Text: stroke}))
		}
		ends, sizes = append(ends, len(sent)), append(sizes, size)
		if size > 1 { // one at a time
			if err := arrive(len(ends)); err != nil {
				return typed, err
			}
		}
		if len(ends) < ahead {
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
