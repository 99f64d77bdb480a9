package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"troupe/engine/scarce"
	"troupe/persistence"
)

// examineFolder does in the folder of the data what serve does there. Whether a disk can be
// written, locked, mapped and synced, nothing tells so well as trying.
func examineFolder(ctx context.Context, s Service) Finding {
	f := Finding{Check: "data folder", Verdict: Good, Found: "what the service keeps can be made, written and locked in " + s.Data}
	if s.Running {
		f.Found = "the service runs in " + s.Data
		return f
	}
	err := usable(s.Data)
	if err == nil && s.Try != nil {
		err = tryIn(ctx, existing(s.Data), s.Try)
	}
	if err != nil {
		f.Verdict, f.Found, f.Advice = Problem, err.Error(), adviseFolder(err)
	}
	return f
}

// tryIn tries in a folder of its own, which it takes away again.
func tryIn(ctx context.Context, dir string, try func(context.Context, string) error) error {
	folder, err := os.MkdirTemp(dir, ".troupe-doctor-")
	if err != nil {
		return fmt.Errorf("write to %s: %w", filepath.Clean(dir), err)
	}
	err = try(ctx, folder)
	if gone := os.RemoveAll(folder); gone != nil && err == nil {
		err = fmt.Errorf("remove what was tried: %w", gone)
	}
	return err
}

// usable reports why the service could not use what is in its folder: it may have been started
// as another user before, or parts may be on other disks. Nothing changes.
func usable(data string) error {
	info, err := os.Stat(data)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look at the data folder: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is no folder", data)
	}
	if err := os.Chmod(data, info.Mode().Perm()); err != nil { // serve closes it to others
		return fmt.Errorf("close the data folder to others: %w", err)
	}
	parts, err := os.ReadDir(data)
	if err != nil {
		return fmt.Errorf("read the data folder: %w", err)
	}
	for _, p := range parts {
		at := filepath.Join(data, p.Name())
		switch {
		case p.IsDir():
			err = writable(at)
		case p.Type().IsRegular():
			var file *os.File
			if file, err = os.OpenFile(at, os.O_RDWR, 0); err == nil {
				err = file.Close()
			}
		}
		if err != nil {
			return fmt.Errorf("use what is in the data folder: %w", err)
		}
	}
	return nil
}

// adviseFolder says what can be done.
func adviseFolder(err error) string {
	const elsewhere = ", or name a folder elsewhere with --data"
	switch {
	case errors.Is(err, syscall.EROFS):
		return "mount the disk so that it can be written" + elsewhere
	case errors.Is(err, os.ErrPermission):
		return "run as the user who owns the folder, or give it to that user (chown -R USER …)" + elsewhere
	case persistence.NoRoom(err):
		return "make room" + elsewhere
	case scarce.Of(err) == scarce.Descriptors:
		return "raise the limit of open files (LimitNOFILE= of a systemd unit, docker run --ulimit nofile=…, ulimit -n)"
	case scarce.Of(err) == scarce.Memory:
		return "give the process more memory, or raise its limits (ulimit -v, sysctl vm.max_map_count)"
	}
	return "the data needs a local disk on which files can be locked and mapped: name a folder on one with --data"
}
