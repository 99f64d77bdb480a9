package browser

import (
	"context"
	"fmt"
	"sync"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/dom"
	"github.com/chromedp/cdproto/page"
)

// Chooser is a question for files that a page has opened.
type Chooser struct {
	Several bool              // it takes more than one
	input   cdp.BackendNodeID // the file input that has opened it; zero: the page wants handles to files, and not their bytes
}

// HasInput reports whether the chooser was opened by a file input, wherever that
// is: others cannot be given files.
func (c Chooser) HasInput() bool { return c.input != 0 }

// FileInputs gives the file inputs of a tab their files.
type FileInputs struct {
	tab *Tab

	mu       sync.Mutex
	choosers chan Chooser // nil unless somebody has files for them
}

// Choosers reports the page's file choosers from now on instead of showing them,
// until done is called.
func (fi *FileInputs) Choosers(ctx context.Context) (opened <-chan Chooser, done func(), err error) {
	all := make(chan Chooser, 1)
	fi.mu.Lock()
	fi.choosers = all
	fi.mu.Unlock()
	done = func() {
		fi.tab.s.send(page.CommandSetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{})
		fi.mu.Lock()
		fi.choosers = nil
		fi.mu.Unlock()
	}
	if err := fi.tab.s.call(ctx, page.CommandSetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true}, nil); err != nil {
		done()
		return nil, nil, fmt.Errorf("waiting for a file chooser: %w", err)
	}
	return all, done, nil
}

func (fi *FileInputs) opened(e *page.EventFileChooserOpened) {
	fi.mu.Lock()
	defer fi.mu.Unlock()
	select {
	case fi.choosers <- Chooser{Several: e.Mode == page.FileChooserOpenedModeSelectMultiple, input: e.BackendNodeID}:
	default: // nobody has files, or there was one before
	}
}

// Choose answers a chooser with files.
func (fi *FileInputs) Choose(ctx context.Context, c Chooser, paths []string) error {
	return fi.set(ctx, dom.SetFileInputFilesParams{Files: paths, BackendNodeID: c.input})
}

// Set puts files into the file input that the page script has chosen.
func (fi *FileInputs) Set(ctx context.Context, paths []string) error {
	input, err := fi.tab.Script.chosen(ctx)
	if err != nil {
		return err
	}
	if input == "" {
		return fmt.Errorf("the file input is gone")
	}
	return fi.set(ctx, dom.SetFileInputFilesParams{Files: paths, ObjectID: input})
}

func (fi *FileInputs) set(ctx context.Context, p dom.SetFileInputFilesParams) error {
	if err := fi.tab.s.call(ctx, dom.CommandSetFileInputFiles, p, nil); err != nil {
		return fmt.Errorf("setting the files: %w", err)
	}
	return nil
}
