package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// openItems opens a file of items as lines of JSON, whatever it has.
func openItems(name string) (io.ReadCloser, error) {
	f, err := os.Open(name)
	if err != nil || !strings.EqualFold(filepath.Ext(name), ".csv") {
		return f, err
	}
	lines, err := newItemLines(f)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", name, err), f.Close())
	}
	return struct {
		io.Reader
		io.Closer
	}{lines, f}, nil
}

// itemLines makes a line of JSON of each line of a CSV file: an object with the names of the
// first line, in their order.
type itemLines struct {
	in    *csv.Reader
	names [][]byte // as JSON
	ready bytes.Buffer
}

// maxHeads bounds the line with the names.
const maxHeads = 1 << 16

func newItemLines(from io.Reader) (*itemLines, error) {
	in := bufio.NewReaderSize(from, maxHeads)
	if mark, _ := in.Peek(3); bytes.Equal(mark, []byte("\ufeff")) {
		_, _ = in.Discard(len(mark))
	}
	head, _ := in.Peek(maxHeads) // a shorter file has less
	head, _, _ = bytes.Cut(head, []byte("\n"))
	r := &itemLines{in: csv.NewReader(in)}
	for _, other := range ";\t" { // as spreadsheets of other countries write it
		if !bytes.ContainsRune(head, ',') && bytes.ContainsRune(head, other) {
			r.in.Comma = other
		}
	}
	names, err := r.in.Read()
	if errors.Is(err, io.EOF) {
		return nil, errors.New("it is empty: its first line names the fields")
	}
	if err != nil {
		return nil, err
	}
	for i, name := range names {
		name = strings.TrimSpace(name)
		if name == "" {
			return nil, fmt.Errorf("the field %d of its first line has no name", i+1)
		}
		b, err := json.Marshal(name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(r.names, func(other []byte) bool { return bytes.Equal(other, b) }) {
			return nil, fmt.Errorf("the field %q is twice in its first line", name)
		}
		r.names = append(r.names, b)
	}
	return r, nil
}

func (r *itemLines) Read(p []byte) (int, error) {
	for r.ready.Len() == 0 {
		values, err := r.in.Read() // a line with more or fewer values is an error
		if err != nil {
			return 0, err
		}
		for i, v := range values {
			b, err := json.Marshal(v)
			if err != nil {
				return 0, err
			}
			r.ready.WriteByte("{,"[min(i, 1)])
			r.ready.Write(r.names[i])
			r.ready.WriteByte(':')
			r.ready.Write(b)
		}
		r.ready.WriteString("}\n")
	}
	return r.ready.Read(p)
}
