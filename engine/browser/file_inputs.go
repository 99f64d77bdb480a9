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
	s       *session          // with the process that has opened it
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
	intercept := func(on bool) (sent []*pending) {
		fi.tab.everyProcess(func(s *session) {
			sent = append(sent, s.send(page.CommandSetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: on}))
		})
		return sent
	}
	done = func() {
		intercept(false)
		fi.mu.Lock()
		fi.choosers = nil
		fi.mu.Unlock()
	}
	for i, p := range intercept(true) {
		if err := p.wait(ctx, nil); err != nil && (i == 0 || ctx.Err() != nil) { // a frame that has gone asks for nothing
			done()
			return nil, nil, fmt.Errorf("waiting for a file chooser: %w", err)
		}
	}
	return all, done, nil
}

// watch reports the choosers of a new process, where somebody has files for them.
func (fi *FileInputs) watch(s *session) {
	fi.mu.Lock()
	defer fi.mu.Unlock()
	if fi.choosers != nil {
		s.send(page.CommandSetInterceptFileChooserDialog, page.SetInterceptFileChooserDialogParams{Enabled: true})
	}
}

func (fi *FileInputs) opened(s *session, e *page.EventFileChooserOpened) {
	fi.mu.Lock()
	defer fi.mu.Unlock()
	select {
	case fi.choosers <- Chooser{Several: e.Mode == page.FileChooserOpenedModeSelectMultiple, s: s, input: e.BackendNodeID}:
	default: // nobody has files, or there was one before
	}
}

// TakesFolder reports whether the input of a chooser takes a folder in place of files.
func (fi *FileInputs) TakesFolder(ctx context.Context, c Chooser) (bool, error) {
	var is struct {
		Node struct {
			Attributes []string `json:"attributes"`
		} `json:"node"`
	}
	if err := c.s.call(ctx, dom.CommandDescribeNode, dom.DescribeNodeParams{BackendNodeID: c.input}, &is); err != nil {
		return false, fmt.Errorf("looking at a file input: %w", err)
	}
	for i := 0; i+1 < len(is.Node.Attributes); i += 2 {
		if is.Node.Attributes[i] == "webkitdirectory" {
			return true, nil
		}
	}
	return false, nil
}

// Choose answers a chooser with files.
func (fi *FileInputs) Choose(ctx context.Context, c Chooser, paths []string) error {
	return setFiles(ctx, c.s, dom.SetFileInputFilesParams{Files: paths, BackendNodeID: c.input})
}

// SetFiles puts files into the file input that the page script has chosen.
func (ps *PageScript) SetFiles(ctx context.Context, paths []string) error {
	s, input, err := ps.chosen(ctx)
	if err != nil {
		return err
	}
	if input == "" {
		return fmt.Errorf("the file input is gone")
	}
	return setFiles(ctx, s, dom.SetFileInputFilesParams{Files: paths, ObjectID: input})
}

func setFiles(ctx context.Context, s *session, p dom.SetFileInputFilesParams) error {
	if err := s.call(ctx, dom.CommandSetFileInputFiles, p, nil); err != nil {
		return fmt.Errorf("setting the files: %w", err)
	}
	return nil
}
