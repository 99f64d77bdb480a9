package golden

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// Folder is where the golden files of a package are.
const Folder = "testdata/golden"

// Case is a message or a record with its golden files. The first file is
// "<Name>.<Ext>". Each later shape has one more, "<Name>.2.<Ext>" and so on: a
// file that an earlier build has written is never written anew.
type Case struct {
	Name, Ext string
	// Today is what this build writes of a filled value.
	Today []byte
	// Again reads a file and writes what was read.
	Again func(old []byte) ([]byte, error)
	// Parts takes a file apart into texts of JSON and others; nil: it is one text
	// of JSON.
	Parts func([]byte) ([][]byte, error)
	// Types are those that it is written from.
	Types []reflect.Type
}

// Test compares all messages or records of a package with the golden files in
// [Folder]. Every file must be readable without a loss, and what this build
// writes must have a file. The flag -update of the package's tests adds files. It
// changes none.
func Test(t *testing.T, pkg string, all []Case) {
	t.Helper()
	how := fmt.Sprintf("go test ./%s -run '^%s$' -update", pkg, t.Name())
	files, err := list(Folder)
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range all {
		t.Run(k.Name, func(t *testing.T) {
			mine, next := k.files(files)
			for _, name := range mine {
				delete(files, name)
				if err := k.reads(name); err != nil {
					t.Errorf("%s: this build does not read what an earlier one has written: %v.\n"+
						"Keep the field's name in JSON and its type: see docs/decisions/0015-what-releases-read.md. The file stays as it is.", name, err)
				}
			}
			switch name, err := k.todays(mine, next); {
			case err != nil:
				t.Error(err)
			case t.Failed(): // another file would hide that an earlier one is not read
			case name != "" && updating():
				if err := add(name, k.Today); err != nil {
					t.Error(err)
				}
			case name != "" && len(mine) == 0:
				t.Errorf("%s has no golden file. Write it, and commit it:\n\t%s", k.Name, how)
			case name != "":
				t.Errorf("what this build writes of %s differs from %s:\n%s\n"+
					"If it only adds fields, write one more file beside those, and commit it:\n\t%s\nAn earlier file is never changed.",
					k.Name, strings.Join(mine, ", "), k.Today, how)
			}
		})
	}
	for name := range files {
		t.Errorf("%s is of no message or record. What was written once is read by all later builds, and no name or number is used again: "+
			"see docs/decisions/0015-what-releases-read.md before you remove it.", name)
	}
}

// updating reports whether the package's tests were started with -update.
func updating() bool {
	f := flag.Lookup("update")
	return f != nil && f.Value.String() == "true"
}

func list(dir string) (map[string]bool, error) {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	all := map[string]bool{}
	for _, e := range entries {
		all[filepath.ToSlash(filepath.Join(dir, e.Name()))] = true
	}
	return all, nil
}

// maxShapes bounds how many files a message or record has. Early ones may be gone.
const maxShapes = 1000

// files are those of a message or record, in the order of their numbers, and next is
// the number of the next one.
func (k *Case) files(all map[string]bool) (mine []string, next int) {
	next = 1
	for n := 1; n < maxShapes; n++ {
		if all[k.file(n)] {
			mine, next = append(mine, k.file(n)), n+1
		}
	}
	return mine, next
}

func (k *Case) file(n int) string {
	if n == 1 {
		return Folder + "/" + k.Name + "." + k.Ext
	}
	return fmt.Sprintf("%s/%s.%d.%s", Folder, k.Name, n, k.Ext)
}

// todays is the file that today's bytes belong into; empty: there is one with
// them.
func (k *Case) todays(mine []string, next int) (string, error) {
	for _, name := range mine {
		b, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		if bytes.Equal(b, k.Today) {
			return "", nil
		}
	}
	return k.file(next), nil
}

func add(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(b)
	return errors.Join(err, f.Close())
}

func (k *Case) reads(name string) error {
	old, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	again, err := k.Again(bytes.Clone(old))
	if err != nil {
		return err
	}
	parts := k.Parts
	if parts == nil {
		parts = func(b []byte) ([][]byte, error) { return [][]byte{b}, nil }
	}
	was, err := parts(old)
	if err != nil {
		return err
	}
	is, err := parts(again)
	if err != nil {
		return err
	}
	if len(was) != len(is) {
		return fmt.Errorf("it has %d parts, and %d are written again", len(was), len(is))
	}
	for i := range was {
		if err := Lost(was[i], is[i]); err != nil {
			return err
		}
	}
	return nil
}

// Lost says what of a text is not in another one. The other text may have more
// fields. Texts that are not JSON must be equal.
func Lost(was, is []byte) error {
	if bytes.Equal(was, is) {
		return nil
	}
	a, errA := value(was)
	b, errB := value(is)
	if errA != nil || errB != nil {
		return fmt.Errorf("%q is now %q", was, is)
	}
	return lost("", a, b)
}

func value(b []byte) (v any, err error) {
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.UseNumber()
	return v, dec.Decode(&v)
}

func lost(at string, was, is any) error {
	switch w := was.(type) {
	case nil:
		return nil
	case map[string]any:
		i, ok := is.(map[string]any)
		if !ok {
			break
		}
		names := make([]string, 0, len(w))
		for name := range w {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			there, ok := i[name]
			if !ok && w[name] != nil {
				return fmt.Errorf("%s/%s is lost", at, name)
			}
			if err := lost(at+"/"+name, w[name], there); err != nil {
				return err
			}
		}
		return nil
	case []any:
		i, ok := is.([]any)
		if !ok || len(i) != len(w) {
			break
		}
		for n := range w {
			if err := lost(fmt.Sprintf("%s/%d", at, n), w[n], i[n]); err != nil {
				return err
			}
		}
		return nil
	default:
		if was == is {
			return nil
		}
	}
	return fmt.Errorf("%s was %v and is %v", at, was, is)
}

// Record is a record that is one text of JSON, filled.
func Record[T any](t testing.TB, name string, makers Makers) Case {
	t.Helper()
	return RecordOf(t, name, reflect.TypeFor[T](), makers)
}

// RecordOf is [Record] for a type that is known at run time only.
func RecordOf(t testing.TB, name string, of reflect.Type, makers Makers) Case {
	t.Helper()
	v := reflect.New(of)
	Fill(t, v.Interface(), makers)
	today, err := json.Marshal(v.Interface())
	if err != nil {
		t.Fatal(err)
	}
	return Case{Name: name, Ext: "json", Today: today, Types: []reflect.Type{of}, Again: func(old []byte) ([]byte, error) {
		v := reflect.New(of).Interface()
		if err := json.Unmarshal(old, v); err != nil {
			return nil, err
		}
		return json.Marshal(v)
	}}
}

// Places are the keys under which records are kept, each by what it is of: a record
// whose key is made in another way would not be found any more.
func Places(t testing.TB, keys map[string]string) Case {
	t.Helper()
	today, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return Case{Name: "places", Ext: "json", Today: append(today, '\n'), Again: func([]byte) ([]byte, error) { return today, nil }}
}
