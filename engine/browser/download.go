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
	ID   string // that the browser's events have
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
func (tr *Transfers) asksFor(e browser.EventDownloadWillBegin) (mine bool) {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	for i, t := range tr.context.tabs {
		if string(t.id) == string(e.FrameID) || t.hasFrame(string(e.FrameID)) {
			mine = true
		}
		if string(t.id) == string(e.FrameID) && t.empty() {
			// A tab that was opened for a file never shows anything: as in a browser
			// with a window it goes at once, and its opener is there again.
			tr.context.b.closeTab(t.id)
			tr.context.tabs = slices.Delete(tr.context.tabs, i, i+1)
			break
		}
	}
	if mine {
		tr.begins(e)
	}
	return mine
}

// adopt takes a download whose file is in the context's folder.
func (tr *Transfers) adopt(e browser.EventDownloadWillBegin) {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	tr.begins(e)
}

// begins is asked with c.mu held.
func (tr *Transfers) begins(e browser.EventDownloadWillBegin) {
	tr.admit(e.GUID, &Download{ID: e.GUID, URL: tr.context.clean(e.URL), Name: tr.context.clean(label(tr.context.clean(e.SuggestedFilename).String())), dir: tr.context.b.dir, path: filepath.Join(tr.downloadDir(), filepath.Base(e.GUID)), from: e.URL})
	tr.context.notify()
}

func (tr *Transfers) progress(e browser.EventDownloadProgress) {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	d := tr.active[e.GUID]
	if d == nil {
		if e.State != browser.DownloadProgressStateInProgress {
			tr.refusedEnds(e.GUID)
		}
		return
	}
	// The length is known as soon as a server says it.
	d.bytes = int64(max(e.ReceivedBytes, e.TotalBytes))
	switch why := tr.tooMuch(d); {
	case e.State == browser.DownloadProgressStateCanceled:
		delete(tr.active, e.GUID)
		tr.broken = append(tr.broken, d)
		tr.context.Journal.Note("download of %s broke off", d.Name)
		d.Remove()
	case why != "":
		tr.refuse(e.GUID, d, why)
		if e.State == browser.DownloadProgressStateCompleted {
			tr.refusedEnds(e.GUID)
		}
	case e.State == browser.DownloadProgressStateCompleted:
		tr.budget.downloaded += d.bytes
		tr.done = append(tr.done, d)
		tr.context.Journal.happened.Store(true)
		delete(tr.active, e.GUID)
	default:
		return
	}
	tr.context.notify()
}

// Downloads returns the files that have arrived since the last call.
func (tr *Transfers) Downloads() []*Download {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	d := tr.done
	tr.done = nil
	return d
}

// BrokenDownloads returns why files did not arrive as a whole since the last call.
func (tr *Transfers) BrokenDownloads() []*NavigationError {
	tr.context.mu.Lock()
	broken := tr.broken
	tr.broken = nil
	tr.context.mu.Unlock()
	var all []*NavigationError
	for _, d := range broken {
		name, text := tr.context.explained(d.from, downloadFailed)
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
func (tr *Transfers) Downloading() (coming, arrived int, changed <-chan struct{}) {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	return len(tr.active), len(tr.done), tr.context.changed
}

// Arriving names the files that Downloads has not given: those on their way, and
// those that have arrived since its last call.
func (tr *Transfers) Arriving() []mask.Text {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	var names []mask.Text
	for _, d := range tr.active {
		names = append(names, d.Name)
	}
	for _, d := range tr.done {
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
