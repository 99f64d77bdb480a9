package backup

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"strings"

	"troupe/persistence"
)

// verify reads back what was written, and looks whether the files of earlier backups are
// there.
func (b *making) verify(ctx context.Context) error {
	chain := append(b.chain[:len(b.chain):len(b.chain)], b.m)
	if err := checkRecords(ctx, b.to, chain, nil); err != nil {
		return err
	}
	list, err := readList(ctx, b.to, b.m)
	if err != nil {
		return err
	}
	there, err := b.to.List(ctx, path.Join(b.m.Store, "files")+"/")
	if err != nil {
		return err
	}
	return checkFiles(ctx, b.to, b.m, list, there, func(f *file) bool { return b.wrote[f.key()] })
}

// checkRecords reads the records of a backup as a restore does, and compares checksums and
// counts. Each record is handed over, where that is wanted.
func checkRecords(ctx context.Context, at Place, chain []*Manifest, each func(persistence.Record) error) error {
	m := chain[len(chain)-1]
	records, changed := map[string]int64{}, int64(0)
	err := merge(ctx, at, chain, func(r persistence.Record, own bool) error {
		records[persistence.KindOf(r.Key)]++
		if own {
			changed++
		}
		if each != nil {
			return each(r)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if !maps.Equal(records, m.Records) || changed != m.Changed {
		return fmt.Errorf("%w: it has the records %v, and its manifest says %v", ErrBroken, records, m.Records)
	}
	return nil
}

// level is one backup of a chain, while they are read beside each other.
type level struct {
	m    *Manifest
	in   io.ReadCloser
	r    *recordReader
	now  entry
	more bool
}

func (l *level) step() (err error) {
	if l.now, l.more, err = l.r.next(); err != nil {
		return fmt.Errorf("the backup %s: %w", l.m.Name, err)
	}
	return nil
}

// merge reads the records of the last backup of a chain in their order. A value that it does
// not have is in the newest of the others that has it, with the same revision.
func merge(ctx context.Context, at Place, chain []*Manifest, each func(r persistence.Record, own bool) error) (err error) {
	var levels []*level
	defer func() {
		for _, l := range levels {
			_ = l.in.Close()
		}
	}()
	for i := len(chain) - 1; i >= 0; i-- { // the newest first
		l := &level{m: chain[i]}
		if l.in, err = at.Open(ctx, chain[i].at(recordsName)); err != nil {
			return missing(chain[i], err)
		}
		levels = append(levels, l)
		if l.r, err = newRecordReader(reading{ctx, l.in}); err != nil {
			return fmt.Errorf("the backup %s: %w", chain[i].Name, err)
		}
		if err := l.step(); err != nil {
			return err
		}
	}
	for top := levels[0]; top.more; {
		r, own := top.now.Record, top.now.has
		found := own
		for _, l := range levels[1:] {
			for l.more && l.now.Key < r.Key {
				if err := l.step(); err != nil {
					return err
				}
			}
			if !found && l.more && l.now.Key == r.Key && l.now.Revision == r.Revision && l.now.has {
				r.Value, found = l.now.Value, true
			}
		}
		if !found {
			return fmt.Errorf("%w: no backup has the value of %q of the revision %d", ErrBroken, r.Key, r.Revision)
		}
		if err := each(r, own); err != nil {
			return err
		}
		if err := top.step(); err != nil {
			return err
		}
	}
	for _, l := range levels { // to the end, for the checksum
		for l.more {
			if err := l.step(); err != nil {
				return err
			}
		}
		if l.r.checksum() != l.m.RecordSum {
			return fmt.Errorf("%w: the checksum of the records of the backup %s is wrong", ErrBroken, l.m.Name)
		}
	}
	return nil
}

func missing(m *Manifest, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: a part of the backup %s is missing: %w", ErrBroken, m.Name, err)
	}
	return err
}

// readList reads the list of files of a backup.
func readList(ctx context.Context, at Place, m *Manifest) ([]file, error) {
	in, err := at.Open(ctx, m.at(listName))
	if err != nil {
		return nil, missing(m, err)
	}
	defer in.Close()
	text, err := io.ReadAll(reading{ctx, in})
	if err != nil {
		return nil, fmt.Errorf("read the list of files: %w", err)
	}
	if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != m.ListSum {
		return nil, fmt.Errorf("%w: the checksum of the list of files of the backup %s is wrong", ErrBroken, m.Name)
	}
	var list []file
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var f file
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return nil, fmt.Errorf("%w: the list of files: %w", ErrBroken, err)
		}
		sum, no := hex.DecodeString(f.Sum)
		if no != nil || len(sum) != sha256.Size || f.Upload == "" && !persistence.IsFileID(f.ID) || f.Upload != "" && !filepath.IsLocal(filepath.FromSlash(f.Upload)) {
			return nil, fmt.Errorf("%w: the list of files has a line that makes no sense: %s", ErrBroken, strings.TrimSpace(lines.Text()))
		}
		list = append(list, f)
	}
	if err := lines.Err(); err != nil || int64(len(list)) != m.Files {
		return nil, fmt.Errorf("%w: the list of files has %d, and should have %d", errors.Join(ErrBroken, err), len(list), m.Files)
	}
	return list, nil
}

// checkFiles looks whether the files of a backup are there, and reads those that are wanted.
func checkFiles(ctx context.Context, at Place, m *Manifest, list []file, there map[string]int64, read func(*file) bool) error {
	for i := range list {
		f := &list[i]
		name := filePath(m.Store, f.name())
		size, has := there[name]
		switch {
		case !has:
			return fmt.Errorf("%w: the file %s is missing", ErrBroken, name)
		case size != f.Size:
			return fmt.Errorf("%w: the file %s has %d bytes, and should have %d", ErrBroken, name, size, f.Size)
		case !read(f):
			continue
		}
		if err := f.read(ctx, at, m, io.Discard); err != nil {
			return err
		}
	}
	return nil
}

// read reads a file of a backup, and compares its checksum.
func (f *file) read(ctx context.Context, at Place, m *Manifest, to io.Writer) error {
	name := filePath(m.Store, f.name())
	in, err := at.Open(ctx, name)
	if err != nil {
		return missing(m, err)
	}
	defer in.Close()
	sum := sha256.New()
	n, err := io.Copy(io.MultiWriter(to, sum), reading{ctx, in})
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	if n != f.Size || hex.EncodeToString(sum.Sum(nil)) != f.Sum {
		return fmt.Errorf("%w: the checksum of the file %s is wrong", ErrBroken, name)
	}
	return nil
}
