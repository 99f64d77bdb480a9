package cluster

import (
	"errors"
	"fmt"

	"troupe/cluster/link"
	"troupe/cluster/member"
	"troupe/engine"
)

const (
	// maxTaskID bounds the identifier of a task, maxForwardedFiles and maxForwardedFile its files: no
	// node sends more, for none takes more from its clients.
	maxTaskID         = 128
	maxForwardedFiles = 1000
	maxForwardedFile  = engine.MaxUpload
	// maxForwardedBytes bounds the bytes of all of them.
	maxForwardedBytes = 100 << 20
)

// checkForwarded reports why a message is not one that a node sends.
func checkForwarded(o *link.ForwardedExecute) error {
	switch {
	case o.TaskID == "" || len(o.TaskID) > maxTaskID:
		return fmt.Errorf("accept a task: its identifier has %d bytes, and may have 1 to %d", len(o.TaskID), maxTaskID)
	case !member.ValidName.MatchString(o.Origin) || len(o.Boot) > maxTaskID:
		return errors.New("accept a task: it names a sender that is not a node")
	case len(o.Files) > maxForwardedFiles:
		return fmt.Errorf("accept a task: it has %d files, more than %d", len(o.Files), maxForwardedFiles)
	case o.Carried != nil && (len(o.Files) > 0 || o.Carried.Session == "" || o.Carried.View == ""):
		return errors.New("accept a client: it has files, or no session and no view")
	}
	var all int64
	for _, f := range o.Files {
		if all += f.Payload.Size; f.Payload.Size < 0 || f.Payload.Size > maxForwardedFile || f.Payload.Node != o.Origin {
			return fmt.Errorf("accept a task: a file of %d bytes at %q is none of its", f.Payload.Size, f.Payload.Node)
		}
		if all > maxForwardedBytes {
			return fmt.Errorf("accept a task: its files have more than %d bytes", maxForwardedBytes)
		}
	}
	return nil
}
