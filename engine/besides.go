package engine

import (
	"context"
	"fmt"
	"io"
	"net/http"

	"troupe/engine/browser"
)

// What pages did beside the actions: they opened dialogs and sent files.

// maxBeside bounds the dialogs that a task tells of, and the downloads that it
// keeps.
const maxBeside = 100

// Dialog is one that a page opened. It was answered at once, for the page waits
// for that: accepted, a prompt with the text that it offered.
type Dialog struct {
	Kind   string `json:"kind" mask:"own"` // alert, confirm, prompt or beforeunload
	Text   string `json:"text"`
	Answer string `json:"answer"` // accepted; of a prompt, the text that it was given
}

// Downloaded is a file that a page sent.
type Downloaded struct {
	Name string `json:"name"`                     // as the page calls it
	URL  string `json:"url,omitempty" mask:"own"` // where it can be fetched; empty: it could not be kept
	Size int64  `json:"size"`                     // in bytes
	Type string `json:"type" mask:"own"`          // by its first bytes
}

// beside are the dialogs, downloads and pictures of a run.
type beside struct {
	dialogs   []Dialog
	downloads []Downloaded
	pictures  []string
}

// besides takes what has happened beside the actions since it was last asked,
// and gives the lines of a trace about files.
func (r *Run) besides(ctx context.Context) (notes []string) {
	if !r.tabs.Journal.Happened() {
		return nil
	}
	all, more := r.tabs.Journal.Dialogs()
	r.reports.left.Dialogs += more
	for _, d := range all {
		r.opened(d)
	}
	if ctx.Err() == nil { // else nobody waits for a file
		notes = r.downloads(ctx)
	}
	return notes
}

// opened tells of a dialog. One that asks was answered by nobody but us, so that a
// warning says so.
func (r *Run) opened(d browser.Dialog) {
	said := Dialog{Kind: d.Kind, Text: d.Text.String(), Answer: "accepted"}
	switch d.Kind {
	case "prompt":
		said.Answer = d.Answer.String()
		r.warn("%s was answered by default, with %q", d, d.Answer.Short(200))
	case "confirm", "beforeunload":
		r.warn("%s was accepted by default", d)
	}
	if len(r.beside.dialogs) >= maxBeside {
		r.reports.left.Dialogs++
		return
	}
	r.beside.dialogs = append(r.beside.dialogs, said)
}

// downloads keeps the files that pages have sent and says where they are.
func (r *Run) downloads(ctx context.Context) (notes []string) {
	for _, d := range r.tabs.Transfers.Downloads() {
		if len(r.beside.downloads) >= maxBeside {
			r.reports.left.Downloads++
			d.Remove()
			continue
		}
		got, err := r.keepDownload(ctx, d)
		d.Remove()
		r.beside.downloads = append(r.beside.downloads, got)
		if err != nil {
			note := fmt.Sprintf("download of %s could not be kept: %s", d.Name, ErrorText(err))
			notes = append(notes, note)
			r.warn("%s", note)
			continue
		}
		notes = append(notes, fmt.Sprintf("download kept: %s %s", got.Name, got.URL))
	}
	return notes
}

// stillArriving warns of files that are not in the answer because the list has ended.
func (r *Run) stillArriving() {
	for _, name := range r.tabs.Transfers.Arriving() {
		r.warn("the download of %s was not complete when the list ended, so it is not in the answer", name)
	}
}

func (r *Run) keepDownload(ctx context.Context, d *browser.Download) (Downloaded, error) {
	got := Downloaded{Name: d.Name.String(), Type: "application/octet-stream"}
	f, err := d.Open()
	if err != nil {
		return got, fmt.Errorf("reading it: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return got, fmt.Errorf("reading it: %w", err)
	}
	got.Size = info.Size()
	var head [512]byte
	n, err := f.ReadAt(head[:], 0)
	if err != nil && err != io.EOF {
		return got, fmt.Errorf("reading it: %w", err)
	}
	got.Type = http.DetectContentType(head[:n])
	if r.stage.SaveFile == nil {
		return got, Problemf(CodeInternal, "there is no place to keep files")
	}
	// What a page sends may be anything: it is never shown, only handed out.
	got.URL, err = r.stage.SaveFile(ctx, File{Account: r.stage.Account, Plan: r.stage.Plan, Name: got.Name, ContentType: "application/octet-stream"}, f)
	return got, err
}
