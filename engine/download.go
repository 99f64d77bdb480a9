package engine

import (
	"context"
	"fmt"
	"time"
)

// downloadTime is how long a finished step waits for files that are just
// arriving, so that they stand in its line of the trace.
const downloadTime = 200 * time.Millisecond

// downloads keeps the files that pages have sent and says where they are.
func (r *Run) downloads(ctx context.Context) []string {
	var notes []string
	for _, d := range r.tabs.Downloads() {
		f, err := d.Open()
		if err != nil {
			notes = append(notes, fmt.Sprintf("download of %s was lost: %v", d.Name, err))
			continue
		}
		// What a page sends may be anything: it is never shown, only handed out.
		url, err := r.stage.SaveFile(ctx, File{Account: r.stage.Account, Name: d.Name, ContentType: "application/octet-stream"}, f)
		f.Close()
		d.Remove()
		if err != nil {
			notes = append(notes, fmt.Sprintf("download of %s could not be kept: %v", d.Name, err))
			continue
		}
		notes = append(notes, fmt.Sprintf("download kept: %s %s", d.Name, url))
	}
	return notes
}

// awaitDownload waits until no file is on its way.
func (r *Run) awaitDownload(ctx context.Context) {
	begun := time.After(downloadTime)
	for {
		n, changed := r.tabs.Downloading()
		if n == 0 {
			select {
			case <-begun:
				return
			case <-changed:
				if n, _ := r.tabs.Downloading(); n == 0 {
					return
				}
			case <-ctx.Done():
				return
			}
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
