package browser

import (
	"os"
	"path/filepath"

	"github.com/chromedp/cdproto/browser"
)

// maxUnowned bounds the downloads whose context is not known yet, and unownedBytes
// what one of them may have by then.
const (
	maxUnowned   = 100
	unownedBytes = 8 << 20
)

// downloadBegins gives a download to the context whose page has asked for it. The
// browser names nothing but the frame, and that may be one that we hear nothing of,
// within a frame of another site, or gone already. Such a download is nobody's until
// its file is there: each context has a folder of its own.
func (b *Browser) downloadBegins(e browser.EventDownloadWillBegin) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.contexts {
		if c.Transfers.asksFor(e) {
			return
		}
	}
	if len(b.unowned) >= maxUnowned {
		b.cancelUnowned(e.GUID)
		return
	}
	if b.unowned == nil {
		b.unowned = map[string]browser.EventDownloadWillBegin{}
	}
	b.unowned[e.GUID] = e
}

func (b *Browser) downloadMoves(e browser.EventDownloadProgress) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if begun, ok := b.unowned[e.GUID]; ok {
		c := b.holder(e.GUID)
		if c != nil {
			c.Transfers.adopt(begun)
		}
		if c != nil || e.State != browser.DownloadProgressStateInProgress {
			delete(b.unowned, e.GUID)
		} else if e.ReceivedBytes > unownedBytes {
			b.cancelUnowned(e.GUID)
		}
	}
	for _, c := range b.contexts {
		c.Transfers.progress(e)
	}
}

// holder is the context in whose folder a download is. b.mu is held.
func (b *Browser) holder(id string) *Context {
	id = filepath.Base(id)
	for _, c := range b.contexts {
		for _, name := range []string{id, id + ".crdownload"} { // whole, and on its way
			if _, err := os.Lstat(filepath.Join(b.dir, c.Transfers.downloadDir(), name)); err == nil {
				return c
			}
		}
	}
	return nil
}

// cancelUnowned cancels a download in every context: all but its own do not know it.
// b.mu is held.
func (b *Browser) cancelUnowned(id string) {
	delete(b.unowned, id)
	for _, c := range b.contexts {
		b.root.send(browser.CommandCancelDownload, browser.CancelDownloadParams{GUID: id, BrowserContextID: c.id})
	}
}
