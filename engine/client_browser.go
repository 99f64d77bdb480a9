package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"troupe/engine/attach"
	"troupe/engine/browser"
)

// attachedBrowser is a guest as the relay knows it.
type attachedBrowser struct {
	*browser.Guest
	ctx    context.Context // of the connection
	run    *Run
	copied map[string]string // where pages can read the files of the session, by their identifiers

	mu    sync.Mutex
	kept  map[string]bool     // downloads that were dealt with, by what the browser calls them
	waits map[string][]func() // for others to be
}

// keepTime bounds how long a client waits to hear that a download is complete.
const keepTime = 30 * time.Second

// keepDownloads keeps what pages send, as it arrives, until ctx ends.
func (b *attachedBrowser) keepDownloads(ctx context.Context) {
	for ctx.Err() == nil {
		_, arrived, changed := b.run.tabs.Transfers.Downloading()
		if arrived > 0 {
			b.run.effects.keepDownloads(ctx)
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// downloaded takes in that a download was dealt with.
func (b *attachedBrowser) downloaded(ctx context.Context, d *browser.Download, got Downloaded) {
	if files := b.run.env.Files; got.URL != "" && files != nil {
		if err := files.Sent(ctx, got.URL); err != nil {
			b.run.warn("the download %q is at %s, but not in the list of the session's files: %s", got.Name, got.URL, ErrorText(err))
		}
	}
	b.mu.Lock()
	if b.kept == nil {
		b.kept = map[string]bool{}
	}
	b.kept[d.ID] = true
	b.mu.Unlock()
	b.goOn(d.ID)
}

func (b *attachedBrowser) goOn(download string) {
	b.mu.Lock()
	all := b.waits[download]
	delete(b.waits, download)
	b.mu.Unlock()
	for _, then := range all {
		then()
	}
}

// Kept calls then once a download that is complete can be fetched, or never will be.
func (b *attachedBrowser) Kept(download string, then func()) {
	b.mu.Lock()
	done := b.kept[download]
	if !done {
		if b.waits == nil {
			b.waits = map[string][]func(){}
		}
		b.waits[download] = append(b.waits[download], then)
	}
	b.mu.Unlock()
	if done {
		then()
		return
	}
	time.AfterFunc(keepTime, func() { b.goOn(download) })
}

func (b *attachedBrowser) Send(session, method string, params []byte, answered func(attach.Answer)) {
	b.Guest.Send(session, method, params, func(a browser.GuestAnswer) { answered(attach.Answer(a)) })
}

// File copies a file of the session into the browser's own folder, as uploadFile does, and returns
// its path. It is called by one goroutine.
func (b *attachedBrowser) File(name string) (string, error) {
	if b.run.env.Files == nil {
		return "", attach.ErrNoFile
	}
	f, err := b.run.env.Files.Open(b.ctx, name)
	switch {
	case err != nil:
		return "", fmt.Errorf("the file %q could not be read: %s", name, ErrorText(err))
	case f == nil:
		return "", attach.ErrNoFile
	}
	defer f.Close()
	if path := b.copied[f.ID]; path != "" { // files never change
		return path, nil
	}
	if f.Size > MaxUpload { // a download
		return "", fmt.Errorf("the file %q has more than %d MiB", name, MaxUpload>>20)
	}
	path, _, err := b.run.tabs.Transfers.KeepUpload(f.Name, io.LimitReader(f, MaxUpload))
	switch {
	case errors.Is(err, browser.ErrUploads):
		return "", fmt.Errorf("the file %q is too much: one connection uploads at most %d files and %d MiB", name, browser.MaxUploads, browser.MaxUploaded>>20)
	case err != nil:
		return "", fmt.Errorf("the file %q could not be read: %s", name, ErrorText(err))
	}
	if b.copied == nil {
		b.copied = map[string]string{}
	}
	b.copied[f.ID] = path
	return path, nil
}
