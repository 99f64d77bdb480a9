package engine

import (
	"context"
	"fmt"
	"time"
)

// downloadTime is how long an action whose address is a download waits until the
// browser tells of the file.
const downloadTime = 2 * time.Second

// downloads keeps the files that pages have sent and says where they are.
func (r *Run) downloads(ctx context.Context) []string {
	var notes []string
	for _, d := range r.tabs.Downloads() {
		f, err := d.Open()
		if err != nil {
			notes = append(notes, fmt.Sprintf("download of %s was lost: %s", d.Name, ErrorText(err)))
			continue
		}
		// What a page sends may be anything: it is never shown, only handed out.
		url, err := r.stage.SaveFile(ctx, File{Account: r.stage.Account, Plan: r.stage.Plan, Name: d.Name.String(), ContentType: "application/octet-stream"}, f)
		f.Close()
		d.Remove()
		if err != nil {
			notes = append(notes, fmt.Sprintf("download of %s could not be kept: %s", d.Name, ErrorText(err)))
			continue
		}
		notes = append(notes, fmt.Sprintf("download kept: %s %s", d.Name, url))
	}
	return notes
}

// awaitDownload waits until a file has arrived and none is on its way, so that it
// stands in the step's own line of the trace.
func (r *Run) awaitDownload(ctx context.Context) {
	late := time.After(downloadTime)
	begun := false
	for {
		coming, arrived, changed := r.tabs.Downloading()
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
