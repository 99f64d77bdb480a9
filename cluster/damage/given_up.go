package damage

import (
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// Where the engine cannot apply what the nodes have agreed on, as on a full disk, it
// deletes the log of the stream's group, though not the stream, and makes a new one. A
// process that is killed in between leaves no log, or one that is being deleted: its
// description goes first, then the folder gets a name with a dot, then it is emptied. This is
// no damage, because the engine knows that it has nothing. But the node has forgotten what
// it agreed to, so it must not take part before the others have it all.
const streamGroup = "S-" // begins the names of the groups of streams

var groupsDir = filepath.Join("jetstream", "$SYS", "_js_")

// isBeingDeleted notes the log of a stream's group that the engine was deleting.
func (in *inspection) isBeingDeleted(path string) bool {
	home, err := filepath.Rel(in.dir, path)
	if err != nil || filepath.Dir(home) != groupsDir {
		return false
	}
	if strings.HasPrefix(filepath.Base(home), "."+streamGroup) {
		return true
	}
	gone := in.hasNoLog(home)
	if gone {
		in.given = append(in.given, home)
	}
	return gone
}

// hasNoLog reports whether nothing is left of the log of a stream's group but what is being
// deleted. Where nothing of its neighbours is left either, the folder was lost.
func (in *inspection) hasNoLog(home string) bool {
	is := func(path string) bool {
		_, err := os.Stat(filepath.Join(in.dir, groupsDir, path, "meta.inf"))
		return !errors.Is(err, fs.ErrNotExist)
	}
	name := filepath.Base(home)
	return filepath.Dir(home) == groupsDir && strings.HasPrefix(name, streamGroup) && is("_meta_") && !is(name)
}

// isAnother reports whether the log of a stream's group is newer than the marks, which describe
// an earlier log.
func (in *inspection) isAnother(home string) bool {
	if filepath.Dir(home) != groupsDir || !strings.HasPrefix(filepath.Base(home), streamGroup) {
		return false
	}
	b, err := os.ReadFile(filepath.Join(in.dir, home, "meta.inf"))
	marks, e := os.Stat(marksIn(in.dir))
	var log struct{ Created time.Time }
	return err == nil && e == nil && json.Unmarshal(b, &log) == nil && log.Created.After(marks.ModTime())
}

// Forget takes back what the marks say of logs that the engine has given up since.
func (k Marks) Forget(dir string) {
	in := &inspection{dir: dir}
	maps.DeleteFunc(k.Last, func(home string, _ uint64) bool { return in.hasNoLog(home) || in.isAnother(home) })
}

// Clear deletes what is left of logs that were given up: the engine would read it, and could
// not give up another one.
func Clear(dir string, givenUp []string) error {
	all, err := filepath.Glob(filepath.Join(dir, groupsDir, "."+streamGroup+"*"))
	for _, home := range givenUp {
		all = append(all, filepath.Join(dir, home))
	}
	for _, path := range all {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}
