package damage

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Marks say what has to be in a node's copy at least. A file that was cut off and
// one that is missing look like those of a log that never had more.
type Marks struct {
	// Last is the last sequence of each log, by its folder.
	Last map[string]uint64 `json:"last"`
	// Files are all files of the copy but those that are made of others, where the
	// node has stopped by itself: none of them may be another one at the next start.
	Files map[string]string `json:"files,omitempty"`
}

func marksIn(dir string) string { return filepath.Join(dir, "marks.json") }

// Write replaces the marks that are there.
func (k Marks) Write(dir string) (err error) {
	b, err := json.Marshal(k)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(b)
	next := marksIn(dir) + ".tmp"
	f, err := os.OpenFile(next, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(f, "%s\n%s", hex.EncodeToString(sum[:]), b)
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(next, marksIn(dir))
	}
	return err
}

// ReadMarks reads the marks of a copy; none: it was made by a version without them.
func ReadMarks(dir string) (k Marks, err error) {
	b, err := os.ReadFile(marksIn(dir))
	if errors.Is(err, fs.ErrNotExist) {
		return Marks{}, nil
	}
	if err != nil {
		return Marks{}, err
	}
	said, text, _ := strings.Cut(string(b), "\n")
	if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != said {
		return Marks{}, errMarks
	}
	return k, json.Unmarshal([]byte(text), &k)
}

var errMarks = errors.New("the checksum of the marks is wrong")

// readMarks reads the marks of the copy.
func (in *inspection) readMarks() (err error) {
	in.marks, err = ReadMarks(in.dir)
	if errors.Is(err, errMarks) {
		in.report(marksIn(in.dir), "does not fit its checksum")
		return nil
	}
	return err
}

// compare compares the copy with what is known to have been in it.
func (in *inspection) compare() error {
	k := in.marks
	for _, home := range slices.Sorted(maps.Keys(k.Last)) {
		has := in.last[filepath.Join(in.dir, home)]
		switch {
		case has >= k.Last[home] || slices.Contains(in.given, home):
		case in.hasNoLog(home), in.isAnother(home):
			in.given = append(in.given, home)
		default:
			in.report(filepath.Join(in.dir, home), "ends at %d, and had %d before", has, k.Last[home])
		}
	}
	if k.Files == nil {
		return nil
	}
	now, err := ListFiles(in.dir)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(k.Files)) {
		if filepath.Base(name) == derivedFile || filepath.Base(filepath.Dir(name)) == purgedDir {
			continue // marks of earlier releases name them
		}
		switch is, there := now[name]; {
		case !there:
			in.report(filepath.Join(in.dir, name), "is missing")
		case is != k.Files[name]:
			in.report(filepath.Join(in.dir, name), "is not what was written")
		}
	}
	return nil
}

// ClearFiles takes back what a stop has said of all files, before any of them changes.
func ClearFiles(dir string) error {
	k, err := ReadMarks(dir)
	if errors.Is(err, errMarks) {
		return os.Remove(marksIn(dir)) // inspected before, or not to be
	}
	if err != nil || k.Files == nil {
		return err
	}
	k.Files = nil
	return k.Write(dir)
}

// derivedFile sums up the blocks of a log. The engine deletes it when it compacts the
// log, which it may do while it stops, and makes it anew from the blocks where it is
// missing or does not fit its checksum.
const derivedFile = "index.db"

// Where the engine empties a log, it writes the first block of the new one into
// newDir, moves the folder of the old one to purgedDir, and moves the new one into
// its place. It deletes what was purged in the background, which it may still do when
// it says that it has stopped.
const (
	purgedDir = "__msgs__"
	newDir    = "__new_msgs__"
)

// ListFiles lists the files of a copy: the sizes of blocks, which have checksums of
// their own, and what the others hold. What is made of the blocks is left out, and what
// the engine deletes.
func ListFiles(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(filepath.Join(dir, "jetstream"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err == nil && d.IsDir() && d.Name() == purgedDir:
			return fs.SkipDir
		case err != nil || d.IsDir() || d.Name() == derivedFile:
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".blk") {
			info, err := d.Info()
			if err == nil {
				all[name] = fmt.Sprint(info.Size())
			}
			return err
		}
		b, err := os.ReadFile(path)
		sum := sha256.Sum256(b)
		all[name] = hex.EncodeToString(sum[:])
		return err
	})
	if errors.Is(err, fs.ErrNotExist) && len(all) == 0 {
		return nil, nil
	}
	return all, err
}
