package persistence

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"github.com/rs/zerolog"
)

// Compacted is how many bytes of the disk a store took before and after.
type Compacted struct {
	Before int64 `json:"before"`
	After  int64 `json:"after"`
}

// CompactBadger writes the records of a store that is not open into a new one, which takes
// its place: what was overwritten, deleted or has expired takes no more space. A store that
// is damaged is an [ErrDamaged], and left as it is.
func CompactBadger(dir string, log zerolog.Logger) (c Compacted, err error) {
	lock, err := lockFolder(dir)
	if err != nil {
		return c, err
	}
	defer lock.Close()
	in, err := check(dir)
	if err != nil || in.empty {
		return c, err
	}
	if c.Before, err = taken(dir); err != nil {
		return c, err
	}
	r := &Repair{Kept: map[string]int64{}, Lost: map[string]int64{}, Expired: map[string]int64{}}
	all, err := r.recoverRecords(dir)
	if err != nil {
		return c, denied(dir, err)
	}
	made := dir + ".repaired" // an interrupted swap is finished as that of a repair
	if err := os.RemoveAll(made); err != nil {
		return c, fmt.Errorf("remove what an interrupted repair has left: %w", err)
	}
	if err := rebuild(made, all, r, log); err != nil {
		_ = os.RemoveAll(made)
		return c, fmt.Errorf("make the smaller store: %w", err)
	}
	if err := swap(dir, made, r, "compacted"); err != nil {
		return c, err
	}
	if err := os.RemoveAll(r.Aside); err != nil {
		return c, fmt.Errorf("remove the larger store: %w", err)
	}
	c.After, err = taken(dir)
	return c, err
}

// taken is how many bytes of the disk a folder takes.
func taken(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if st, ok := info.Sys().(*syscall.Stat_t); ok {
			n += st.Blocks * 512
		}
		return nil
	})
	return n, err
}
