package engine

import (
	"context"
	"errors"
	"io"
)

// What one task may have kept: pictures, downloads, evidence and its trace.
const (
	maxKeptFiles = 300
	maxKept      = 256 << 20 // bytes
)

// bounded keeps the files of one task within its budget. What is too much is a
// [Problem] with [CodeStorageQuota].
func bounded(save SaveFile) SaveFile {
	if save == nil {
		return nil
	}
	var files int
	var bytes int64
	return func(ctx context.Context, f File, r io.Reader) (string, error) {
		tooMuch := Problemf(CodeStorageQuota, "The file could not be kept: one task has at most %d files and %d MiB of them", maxKeptFiles, maxKept>>20)
		if files >= maxKeptFiles {
			return "", tooMuch
		}
		in := &keptReader{r: r, left: maxKept - bytes}
		url, err := save(ctx, f, in)
		switch {
		case in.left < 0:
			return "", tooMuch
		case err == nil:
			files++
			bytes = maxKept - in.left
		}
		return url, err
	}
}

var errTooMuch = errors.New("the task keeps too much")

// keptReader ends with an error where there is more than may be kept.
type keptReader struct {
	r    io.Reader
	left int64
}

func (k *keptReader) Read(p []byte) (int, error) {
	if k.left < 0 {
		return 0, errTooMuch
	}
	n, err := k.r.Read(p)
	if k.left -= int64(n); k.left < 0 {
		return 0, errTooMuch
	}
	return n, err
}
