package browser

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chromedp/cdproto/browser"

	"troupe/engine/mask"
)

// maxDownload bounds one download; a larger one is cancelled.
const maxDownload = 100 << 20

// Download is a file that a page sent.
type Download struct {
	URL  mask.Text
	Name mask.Text // as the page calls it: a label, never a path
	dir  string    // the browser's folder
	path string    // below it
	from string    // the address as it was asked for

	bytes int64 // what it has, or is to have
}

// Open gives the file's bytes. The browser's user might have put anything in
// its place, so nothing is followed out of the folder, and only a plain file
// is read.
func (d *Download) Open() (*os.File, error) {
	f, err := os.OpenInRoot(d.dir, d.path)
	if err != nil {
		return nil, err
	}
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		f.Close()
		return nil, errors.New("it is no plain file")
	}
	return f, nil
}

// Remove deletes the file.
func (d *Download) Remove() {
	if root, err := os.OpenRoot(d.dir); err == nil {
		root.Remove(d.path) // what stays goes with the context
		root.Close()
	}
}

// asksFor takes a download that one of the context's frames has asked for, and
// reports whether one has.
func (c *Context) asksFor(e browser.EventDownloadWillBegin) (mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, t := range c.tabs {
		if string(t.id) == string(e.FrameID) || t.hasFrame(string(e.FrameID)) {
			mine = true
		}
		if string(t.id) == string(e.FrameID) && t.empty() {
			// A tab that was opened for a file never shows anything: as in a browser
			// with a window it goes at once, and its opener is there again.
			c.b.closeTab(t.id)
			c.tabs = slices.Delete(c.tabs, i, i+1)
			break
		}
	}
	if mine {
		c.begins(e)
	}
	return mine
}

// adopt takes a download whose file is in the context's folder.
func (c *Context) adopt(e browser.EventDownloadWillBegin) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.begins(e)
}

// begins is asked with c.mu held.
func (c *Context) begins(e browser.EventDownloadWillBegin) {
	c.admit(e.GUID, &Download{URL: c.clean(e.URL), Name: c.clean(label(c.clean(e.SuggestedFilename).String())), dir: c.b.dir, path: filepath.Join(c.downloadDir(), filepath.Base(e.GUID)), from: e.URL})
	c.notify()
}

func (c *Context) downloadMoves(e browser.EventDownloadProgress) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d := c.downloads[e.GUID]
	if d == nil {
		if e.State != browser.DownloadProgressStateInProgress {
			c.refusedEnds(e.GUID)
		}
		return
	}
	// The length is told as soon as a server tells it.
	d.bytes = int64(max(e.ReceivedBytes, e.TotalBytes))
	switch why := c.tooMuch(d); {
	case e.State == browser.DownloadProgressStateCanceled:
		delete(c.downloads, e.GUID)
		c.broken = append(c.broken, d)
		c.note("download of %s broke off", d.Name)
		d.Remove()
	case why != "":
		c.refuse(e.GUID, d, why)
		if e.State == browser.DownloadProgressStateCompleted {
			c.refusedEnds(e.GUID)
		}
	case e.State == browser.DownloadProgressStateCompleted:
		c.transfers.downloaded += d.bytes
		c.done = append(c.done, d)
		c.happened.Store(true)
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

// BrokenDownloads returns why files did not arrive as a whole since the last call.
func (c *Context) BrokenDownloads() []*NavigationError {
	c.mu.Lock()
	broken := c.broken
	c.broken = nil
	c.mu.Unlock()
	var all []*NavigationError
	for _, d := range broken {
		name, text := c.explained(d.from, downloadFailed)
		if text == "" {
			text = "the download of " + d.Name.String() + " broke off"
		}
		all = append(all, &NavigationError{Text: name, Why: text})
	}
	return all
}

// Downloading reports how many files are on their way and how many have arrived
// since the last call of Downloads, and a channel that is closed when that may
// have changed.
func (c *Context) Downloading() (coming, arrived int, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.downloads), len(c.done), c.changed
}

// Arriving names the files that Downloads has not given: those on their way, and
// those that have arrived since its last call.
func (c *Context) Arriving() []mask.Text {
	c.mu.Lock()
	defer c.mu.Unlock()
	var names []mask.Text
	for _, d := range c.downloads {
		names = append(names, d.Name)
	}
	for _, d := range c.done {
		names = append(names, d.Name)
	}
	slices.SortFunc(names, func(a, b mask.Text) int { return strings.Compare(a.String(), b.String()) })
	return names
}

// label makes a name for a file harmless.
func label(s string) string {
	s = filepath.Base(strings.ReplaceAll(s, "\\", "/"))
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if s == "" || s == "." || s == ".." || s == "/" {
		return "download"
	}
	if len(s) > 200 {
		s = strings.ToValidUTF8(s[:200], "")
	}
	return s
}
