package browser

import (
	"fmt"
	"os"

	"github.com/chromedp/cdproto/browser"
)

// What one task may have in the browser's folder.
const (
	MaxDownloads  = 100       // begun
	MaxDownloaded = 200 << 20 // bytes of all of them
	MaxUploads    = 1000      // copies of files, for pages to take
	MaxUploaded   = 200 << 20 // bytes of all of them
)

// ErrUploads: the task has as many copies of files in the browser's folder as it
// may.
var ErrUploads = fmt.Errorf("one task uploads at most %d files and %d MiB", MaxUploads, MaxUploaded>>20)

// transfers counts the files that go into and come out of a context.
type transfers struct {
	task    int // number of the task that runs
	uploads []upload

	begun      int                  // downloads of the task
	downloaded int64                // bytes of those that have arrived
	refused    map[string]*Download // cancelled, and not ended yet
}

// upload is a copy of a file that a page may take.
type upload struct {
	folder string // below the browser's own
	bytes  int64
	task   int
}

// BeginTask gives the next task a budget of its own. Copies that earlier tasks of
// the session have made stay for their pages, as long as there is room for them.
func (c *Context) BeginTask() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.transfers
	t.task, t.begun, t.downloaded = t.task+1, 0, 0
}

// uploadRoom is how many bytes the task may still copy.
func (c *Context) uploadRoom() (int64, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room, n := int64(MaxUploaded), 0
	for _, u := range c.transfers.uploads {
		if u.task == c.transfers.task {
			room -= u.bytes
			n++
		}
	}
	if n >= MaxUploads || room <= 0 {
		return 0, ErrUploads
	}
	return room, nil
}

// uploaded counts a copy, and removes the oldest of earlier tasks where all
// together are too many.
func (c *Context) uploaded(root *os.Root, folder string, bytes int64) {
	c.mu.Lock()
	t := &c.transfers
	t.uploads = append(t.uploads, upload{folder, bytes, t.task})
	all := int64(0)
	for _, u := range t.uploads {
		all += u.bytes
	}
	var old []string
	for len(t.uploads) > 0 && t.uploads[0].task != t.task && (all > MaxUploaded || len(t.uploads) > MaxUploads) {
		all -= t.uploads[0].bytes
		old, t.uploads = append(old, t.uploads[0].folder), t.uploads[1:]
	}
	c.mu.Unlock()
	for _, folder := range old {
		_ = root.RemoveAll(folder) // what stays goes with the browser
	}
}

// admit begins a download within the task's budget. c.mu is held.
func (c *Context) admit(id string, d *Download) {
	t := &c.transfers
	if t.begun++; t.begun > MaxDownloads {
		c.refuse(id, d, fmt.Sprintf("one task gets at most %d downloads", MaxDownloads))
		return
	}
	c.downloads[id] = d
}

// refuse cancels a download, and says why. The browser may have it whole before it
// hears of that. c.mu is held.
func (c *Context) refuse(id string, d *Download, why string) {
	c.b.root.send(browser.CommandCancelDownload, browser.CancelDownloadParams{GUID: id, BrowserContextID: c.id})
	c.note("download of %s cancelled: %s", d.Name, why)
	delete(c.downloads, id)
	if c.transfers.refused == nil {
		c.transfers.refused = map[string]*Download{}
	}
	c.transfers.refused[id] = d
}

// refusedEnds removes what there is of a download that was cancelled.
func (c *Context) refusedEnds(id string) {
	if d := c.transfers.refused[id]; d != nil {
		d.Remove()
		delete(c.transfers.refused, id)
	}
}

// tooMuch says why a download cannot go on. c.mu is held.
func (c *Context) tooMuch(d *Download) string {
	all := c.transfers.downloaded
	for _, other := range c.downloads {
		all += other.bytes
	}
	switch {
	case d.bytes > maxDownload:
		return fmt.Sprintf("it is larger than %d MiB", maxDownload>>20)
	case all > MaxDownloaded:
		return fmt.Sprintf("one task downloads at most %d MiB", MaxDownloaded>>20)
	}
	return ""
}

// removeFiles removes what came down and what was to go up.
func (c *Context) removeFiles() error {
	root, err := os.OpenRoot(c.b.dir)
	if err != nil {
		return err
	}
	defer root.Close()
	c.mu.Lock()
	folders := []string{c.downloadDir()}
	for _, u := range c.transfers.uploads {
		folders = append(folders, u.folder)
	}
	c.mu.Unlock()
	for _, f := range folders {
		if e := root.RemoveAll(f); err == nil {
			err = e
		}
	}
	return err
}
