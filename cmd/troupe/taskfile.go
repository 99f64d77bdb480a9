package main

import (
	"io"
	"mime"
	"os"
	"path/filepath"

	"troupe/engine"
)

// taskFile is a request in a file, as flags.
type taskFile struct {
	Task string `arg:"" help:"File with the request as JSON, or - for the standard input."`
	flowFolder
	File []string `help:"File for uploadFile; the first one is $file:0. May be repeated." sep:"none" placeholder:"FILE"`
}

// maxTask is what the service takes over HTTP, too.
const maxTask = 1 << 20

// read reads the request and finds the files that go with it.
func (c *taskFile) read(w *environment) (source []byte, files []engine.Upload, err error) {
	in := w.stdin
	if c.Task != "-" {
		f, err := os.Open(c.Task)
		if err != nil {
			return nil, nil, usage("read the task: %w", err)
		}
		defer f.Close()
		in = f
	}
	source, err = io.ReadAll(io.LimitReader(in, maxTask+1))
	switch {
	case err != nil:
		return nil, nil, usage("read the task: %w", err)
	case len(source) > maxTask:
		return nil, nil, usage("read the task: it is larger than %d bytes", maxTask)
	}
	files, err = uploads(c.File)
	return source, files, err
}

// uploads finds files that go with a request.
func uploads(names []string) (files []engine.Upload, err error) {
	for _, name := range names {
		info, err := os.Stat(name)
		if err != nil {
			return nil, usage("read --file: %w", err)
		}
		path, err := filepath.Abs(name)
		if err != nil {
			return nil, usage("read --file: %w", err)
		}
		files = append(files, engine.Upload{
			Name: info.Name(), Type: mime.TypeByExtension(filepath.Ext(name)), Path: path, Size: info.Size(),
		})
	}
	return files, nil
}
