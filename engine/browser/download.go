package browser

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/chromedp/cdproto/browser"
)

// maxDownload bounds one download; a larger one is cancelled.
const maxDownload = 100 << 20

// Download is a file that a page sent.
type Download struct {
	URL  string
	Name string // as the page calls it: a label, never a path
	path string
}

// Open gives the file's bytes.
func (d *Download) Open() (*os.File, error) { return os.Open(d.path) }

// Remove deletes the file.
func (d *Download) Remove() { os.Remove(d.path) }

func (c *Context) downloadBegins(e browser.EventDownloadWillBegin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	mine := false
	for _, t := range c.tabs {
		if string(t.id) == string(e.FrameID) || t.hasFrame(string(e.FrameID)) {
			mine = true
		}
	}
	if !mine && len(c.b.contexts) > 1 {
		return
	}
	c.downloads[e.GUID] = &Download{URL: e.URL, Name: label(e.SuggestedFilename), path: filepath.Join(c.downloadDir(), filepath.Base(e.GUID))}
	c.notify()
}

func (c *Context) downloadMoves(e browser.EventDownloadProgress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.downloads[e.GUID]
	if d == nil {
		return
	}
	switch {
	case e.State == browser.DownloadProgressStateCompleted:
		c.done = append(c.done, d)
		delete(c.downloads, e.GUID)
	case e.State == browser.DownloadProgressStateCanceled:
		delete(c.downloads, e.GUID)
		os.Remove(d.path)
	case e.ReceivedBytes > maxDownload || e.TotalBytes > maxDownload:
		c.b.root.send(browser.CommandCancelDownload, browser.CancelDownloadParams{GUID: e.GUID, BrowserContextID: c.id})
		c.notes = append(c.notes, "download of "+d.Name+" cancelled: it is larger than 100 MiB")
		delete(c.downloads, e.GUID)
	default:
		return
	}
	c.notify()
}

// Downloads returns the files that have arrived since the last call.
func (c *Context) Downloads() []*Download {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.done
	c.done = nil
	return d
}

// Downloading reports how many files are on their way, and a channel that is
// closed when that may have changed.
func (c *Context) Downloading() (int, <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.downloads), c.changed
}

// label makes a page's name for a file harmless.
func label(s string) string {
	s = filepath.Base(strings.ReplaceAll(s, "\\", "/"))
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if s == "" || s == "." || s == ".." {
		return "download"
	}
	if len(s) > 200 {
		s = s[:200]
	}
	return s
}
