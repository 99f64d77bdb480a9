package browser

import (
	"fmt"
	"sync"
	"sync/atomic"

	"troupe/engine/mask"
)

// maxNotes bounds what a task notes: an alert storm must not fill the memory.
const maxNotes = 100

// Journal collects dialogs and notes of a context until they are read.
type Journal struct {
	context  *Context
	happened atomic.Bool // see Happened

	mu      sync.Mutex
	notes   []mask.Text
	dialogs []Dialog
	more    int // dialogs that did not fit
}

// Note keeps a line for the trace of the step that runs.
func (j *Journal) Note(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.notes) < maxNotes {
		j.notes = append(j.notes, j.context.clean(fmt.Sprintf(format, args...)))
	}
}

// Notes returns the lines since the last call.
func (j *Journal) Notes() []mask.Text {
	j.mu.Lock()
	defer j.mu.Unlock()
	n := j.notes
	j.notes = nil
	return n
}

// dialog keeps a dialog, or counts it where there are very many.
func (j *Journal) dialog(d Dialog) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.dialogs) < maxDialogs {
		j.dialogs = append(j.dialogs, d)
	} else {
		j.more++
	}
}

// Dialogs are those that were answered since the last call, and how many more
// there were.
func (j *Journal) Dialogs() (all []Dialog, more int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	all, more = j.dialogs, j.more
	j.dialogs, j.more = nil, 0
	return all, more
}

// Happened reports whether there may be new dialogs or downloads since its last
// call.
func (j *Journal) Happened() bool { return j.happened.Load() && j.happened.Swap(false) }
