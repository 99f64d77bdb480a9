package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// resultFile is a file to which results are appended, whole lines only.
type resultFile struct {
	file          *os.File
	size          int64  // of its whole lines
	batch, cursor string // of the last line; empty: there is none
}

// resultLine is what is read of a line.
type resultLine struct {
	BatchID string `json:"batchId"`
	Cursor  string `json:"cursor"`
}

// openResults opens a file that may have results. A last line that is not whole is cut
// off.
func openResults(name string) (r *resultFile, err error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the results: %w", err)
	}
	r = &resultFile{file: f}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("read %s: %w", name, err), f.Close())
		}
	}()
	in := bufio.NewReaderSize(f, 1<<20)
	var last []byte
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		last, r.size = line, r.size+int64(len(line))
	}
	if last != nil {
		var l resultLine
		if err := json.Unmarshal(last, &l); err != nil || l.BatchID == "" || l.Cursor == "" {
			return nil, errors.New("its last line is not the result of a batch: name another file with --out")
		}
		r.batch, r.cursor = l.BatchID, l.Cursor
	}
	if err := f.Truncate(r.size); err != nil {
		return nil, err
	}
	_, err = f.Seek(r.size, io.SeekStart)
	return r, err
}

// append writes the whole lines of an answer.
func (r *resultFile) append(from io.Reader) error {
	in := bufio.NewReaderSize(from, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(line) == 0 {
			return nil
		}
		if err != nil { // the answer was cut off: the rest is fetched again
			return fmt.Errorf("read the results: %w", err)
		}
		var l resultLine
		if err := json.Unmarshal(line, &l); err != nil {
			return usage("the service has sent a result that is not JSON: %w", err)
		}
		if _, err := r.file.Write(line); err != nil {
			return err
		}
		r.size, r.batch, r.cursor = r.size+int64(len(line)), l.BatchID, l.Cursor
	}
}
