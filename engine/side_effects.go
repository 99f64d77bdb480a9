package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"time"

	"troupe/engine/browser"
)

// maxSideEffects bounds the dialogs that an answer lists, and the downloads that it
// keeps.
const maxSideEffects = 100

// Dialog is one that a page opened. It was answered at once, for the page waits
// for that: as a rule of the task says, else accepted, a prompt with the text that it
// offered.
type Dialog struct {
	Kind   string `json:"kind" mask:"own"` // alert, confirm, prompt or beforeunload
	Text   string `json:"text"`
	Answer string `json:"answer"` // accepted or dismissed; of an accepted prompt, the text that it was given
}

// Downloaded is a file that a page sent.
type Downloaded struct {
	Name string `json:"name"`                     // as the page calls it
	URL  string `json:"url,omitempty" mask:"own"` // where it can be fetched; empty: it could not be kept
	Size int64  `json:"size"`                     // in bytes
	Type string `json:"type" mask:"own"`          // by its first bytes
	Hash string `json:"sha256,omitempty" mask:"own"`
}

// sideEffects are the dialogs, downloads and pictures of a run.
type sideEffects struct {
	run       *Run
	dialogs   []Dialog
	downloads []Downloaded
	pictures  []string
	pdfs      int // that were made

	claimed  map[int]bool   // downloads that an action has waited for, by their place
	contents map[int][]byte // of downloads, by their place, where an action reads them
	// kept, if set, hears of each download that was dealt with: with no URL, it could not be kept.
	kept func(ctx context.Context, d *browser.Download, got Downloaded)
}

// collect takes what has happened beside the actions since it was last asked,
// and gives the lines of a trace about files.
func (se *sideEffects) collect(ctx context.Context) (notes []string) {
	if !se.run.tabs.Journal.Happened() {
		return nil
	}
	all, more := se.run.tabs.Journal.Dialogs()
	se.run.reports.left.Dialogs += more
	for _, d := range all {
		se.dialog(d)
	}
	if n := se.run.tabs.Transfers.TurnedAway(); n > 0 {
		se.run.warn("%d %s refused, as config.downloads says", n, Plural(n, "download was", "downloads were"))
	}
	if ctx.Err() == nil { // else nobody waits for a file
		notes = se.keepDownloads(ctx)
	}
	return notes
}

// dialog notes a dialog. One that asks was answered by nobody but us, so that a
// warning says so.
func (se *sideEffects) dialog(d browser.Dialog) {
	said := Dialog{Kind: d.Kind, Text: d.Text.String(), Answer: "accepted"}
	switch {
	case d.Dismissed:
		said.Answer = "dismissed"
	case d.Kind == "prompt":
		said.Answer = d.Answer.String()
		if d.ByDefault {
			se.run.warn("%s was answered by default, with %q", d, d.Answer.Short(200))
		}
	case d.ByDefault && (d.Kind == "confirm" || d.Kind == "beforeunload"):
		se.run.warn("%s was accepted by default", d)
	}
	if len(se.dialogs) >= maxSideEffects {
		se.run.reports.left.Dialogs++
		return
	}
	se.dialogs = append(se.dialogs, said)
}

// keepDownloads keeps the files that pages have sent and says where they are.
func (se *sideEffects) keepDownloads(ctx context.Context) (notes []string) {
	for _, d := range se.run.tabs.Transfers.Downloads() {
		if len(se.downloads) >= maxSideEffects {
			se.run.reports.left.Downloads++
			d.Remove()
			se.tell(ctx, d, Downloaded{})
			continue
		}
		got, err := se.keepDownload(ctx, d)
		d.Remove()
		se.tell(ctx, d, got)
		se.downloads = append(se.downloads, got)
		if err != nil {
			note := fmt.Sprintf("download of %s could not be kept: %s", d.Name, ErrorText(err))
			notes = append(notes, note)
			se.run.warn("%s", note)
			continue
		}
		notes = append(notes, fmt.Sprintf("download kept: %s %s", got.Name, got.URL))
	}
	return notes
}

func (se *sideEffects) tell(ctx context.Context, d *browser.Download, got Downloaded) {
	if se.kept != nil {
		se.kept(ctx, d, got)
	}
}

// stillArriving warns of files that are not in the answer because the list has ended,
// and of answers to dialogs that did not come.
func (se *sideEffects) stillArriving() {
	if n := se.run.tabs.Dialogs.Unused(); n > 0 {
		se.run.warn("onDialog: %d %s", n, Plural(n, "answer was for a dialog that did not come", "answers were for dialogs that did not come"))
	}
	for _, name := range se.run.tabs.Transfers.Arriving() {
		se.run.warn("the download of %s was not complete when the list ended, so it is not in the answer", name)
	}
}

func (se *sideEffects) keepDownload(ctx context.Context, d *browser.Download) (Downloaded, error) {
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
	hash := sha256.New()
	if _, err := io.Copy(hash, io.NewSectionReader(f, 0, got.Size)); err != nil {
		return got, fmt.Errorf("reading it: %w", err)
	}
	got.Hash = hex.EncodeToString(hash.Sum(nil))
	if se.run.task.reads && got.Size <= maxReadDownload {
		se.readContents(f, got.Size)
	}
	if se.run.env.SaveFile == nil {
		return got, Problemf(CodeInternal, "this service has no storage for files")
	}
	// What a page sends may be anything: it is never shown, only handed out.
	got.URL, err = se.run.env.SaveFile(ctx, File{Account: se.run.env.Account, Plan: se.run.env.Plan, Name: got.Name, ContentType: "application/octet-stream"}, f)
	return got, err
}

// downloadTime is how long an action whose address is a download waits until the
// browser reports the file.
const downloadTime = 2 * time.Second

// awaitDownload waits until a file has arrived and none is on its way, so that it
// stands in the step's own line of the trace.
func (se *sideEffects) awaitDownload(ctx context.Context) {
	late := time.After(downloadTime)
	begun := false
	for {
		coming, arrived, changed := se.run.tabs.Transfers.Downloading()
		if coming > 0 {
			begun, late = true, nil // it has all the time of the step now
		}
		if coming == 0 && (begun || arrived > 0) {
			return
		}
		select {
		case <-changed:
		case <-late:
			return
		case <-ctx.Done():
			return
		}
	}
}
