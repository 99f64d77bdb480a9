package engine

import (
	"context"
	"time"
)

// downloadTime is how long an action whose address is a download waits until the
// browser tells of the file.
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
