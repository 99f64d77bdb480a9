package cluster

import (
	"errors"
	"fmt"

	"troupe/cluster/link"
	"troupe/cluster/member"
	"troupe/engine"
)

const (
	// idMost bounds the identifier of a task, filesMost and fileMost its files: no
	// node sends more, for none takes more from its clients.
	idMost    = 128
	filesMost = 1000
	fileMost  = engine.MaxUpload
	// uploadMost bounds the bytes of all of them.
	uploadMost = 100 << 20
)

// checkForwarded reports why an order is none that a node sends.
func checkForwarded(o *link.ForwardedExecute) error {
	switch {
	case o.TaskID == "" || len(o.TaskID) > idMost:
		return fmt.Errorf("take a task: its identifier has %d bytes, and may have 1 to %d", len(o.TaskID), idMost)
	case !member.ValidName.MatchString(o.Origin) || len(o.Boot) > idMost:
		return errors.New("take a task: no node has the name that it comes from")
	case len(o.Files) > filesMost:
		return fmt.Errorf("take a task: it has %d files, more than %d", len(o.Files), filesMost)
	}
	var all int64
	for _, f := range o.Files {
		if all += f.Parcel.Size; f.Parcel.Size < 0 || f.Parcel.Size > fileMost || f.Parcel.Node != o.Origin {
			return fmt.Errorf("take a task: a file of %d bytes at %q is none of its", f.Parcel.Size, f.Parcel.Node)
		}
		if all > uploadMost {
			return fmt.Errorf("take a task: its files have more than %d bytes", uploadMost)
		}
	}
	return nil
}
