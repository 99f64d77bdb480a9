package browser

import (
	"fmt"
	"os"
	"path/filepath"

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

// Transfers are the files that go into and come out of a context. Its fields belong
// to the context's lock.
type Transfers struct {
	context *Context
	budget  transferBudget
	active  map[string]*Download // on their way
	done    []*Download          // that have arrived
	broken  []*Download          // that broke off

	turnedAway int // downloads that the task has refused, see [Transfers.TurnedAway]
}

// transferBudget counts the files against what one task may have.
type transferBudget struct {
	task    int // number of the task that runs
	uploads []upload

	refuses    bool                 // the task wants no downloads
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
// the session have made stay for their pages, as long as there is room for them. With
// refuse its downloads are cancelled.
func (tr *Transfers) BeginTask(refuse bool) {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	t := &tr.budget
	t.task, t.begun, t.downloaded, t.refuses = t.task+1, 0, 0, refuse
}

// uploadRoom is how many bytes the task may still copy.
func (tr *Transfers) uploadRoom() (int64, error) {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	room, n := int64(MaxUploaded), 0
	for _, u := range tr.budget.uploads {
		if u.task == tr.budget.task {
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
func (tr *Transfers) uploaded(root *os.Root, folder string, bytes int64) {
	tr.context.mu.Lock()
	t := &tr.budget
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
	tr.context.mu.Unlock()
	for _, folder := range old {
		_ = root.RemoveAll(folder) // what stays goes with the browser
	}
}

// admit begins a download within the task's budget. c.mu is held.
func (tr *Transfers) admit(id string, d *Download) {
	t := &tr.budget
	if t.refuses {
		tr.refuse(id, d, "the task refuses downloads")
		tr.turnedAway++
		tr.context.Journal.happened.Store(true)
		return
	}
	if t.begun++; t.begun > MaxDownloads {
		tr.refuse(id, d, fmt.Sprintf("one task gets at most %d downloads", MaxDownloads))
		return
	}
	tr.active[id] = d
}

// TurnedAway is how many downloads were refused since the last call.
func (tr *Transfers) TurnedAway() int {
	tr.context.mu.Lock()
	defer tr.context.mu.Unlock()
	n := tr.turnedAway
	tr.turnedAway = 0
	return n
}

// refuse cancels a download, and says why. The browser may have it whole before it
// hears of that. c.mu is held.
func (tr *Transfers) refuse(id string, d *Download, why string) {
	tr.context.b.root.send(browser.CommandCancelDownload, browser.CancelDownloadParams{GUID: id, BrowserContextID: tr.context.id})
	tr.context.Journal.Note("download of %s cancelled: %s", d.Name, why)
	delete(tr.active, id)
	if tr.budget.refused == nil {
		tr.budget.refused = map[string]*Download{}
	}
	tr.budget.refused[id] = d
}

// refusedEnds removes what there is of a download that was cancelled.
func (tr *Transfers) refusedEnds(id string) {
	if d := tr.budget.refused[id]; d != nil {
		d.Remove()
		delete(tr.budget.refused, id)
	}
}

// tooMuch says why a download cannot go on. c.mu is held.
func (tr *Transfers) tooMuch(d *Download) string {
	all := tr.budget.downloaded
	for _, other := range tr.active {
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
func (tr *Transfers) removeFiles() error {
	root, err := tr.context.b.openFolder()
	if err != nil {
		return err
	}
	defer root.Close()
	tr.context.mu.Lock()
	folders := []string{tr.downloadDir()}
	for _, u := range tr.budget.uploads {
		folders = append(folders, u.folder)
	}
	tr.context.mu.Unlock()
	for _, f := range folders {
		if e := root.RemoveAll(f); err == nil {
			err = e
		}
	}
	return err
}

// downloadDir is where the context's downloads go, below the browser's folder.
func (tr *Transfers) downloadDir() string { return filepath.Join("tmp", "dl-"+string(tr.context.id)) }
