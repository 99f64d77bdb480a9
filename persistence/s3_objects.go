package persistence

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/minio/minio-go/v7"
)

// S3Objects is a bucket as a place for things with names of their own, such as backups.
type S3Objects struct{ s *S3 }

// OpenS3Objects opens it. The bucket must be there.
func OpenS3Objects(ctx context.Context, cfg S3Config) (*S3Objects, error) {
	s, err := OpenS3(ctx, cfg)
	if err != nil {
		return nil, err
	}
	return &S3Objects{s}, nil
}

// Put writes a thing, which others see when it is there whole.
func (o *S3Objects) Put(ctx context.Context, name string, r io.Reader) error {
	in := &rememberingReader{r: contextReader{ctx, r}}
	if _, err := o.s.send(ctx, o.s.prefix+name, "application/octet-stream", in); err != nil || in.err != nil {
		return fmt.Errorf("write %s to the bucket: %w", name, errors.Join(in.err, err))
	}
	return nil
}

// Open reads a thing; [fs.ErrNotExist]: it is not there.
func (o *S3Objects) Open(ctx context.Context, name string) (io.ReadCloser, error) {
	r, err := o.s.client.GetObject(ctx, o.s.bucket, o.s.prefix+name, minio.GetObjectOptions{})
	if err == nil {
		if _, err = r.Stat(); err != nil {
			r.Close()
		}
	}
	if err != nil && isMissing(err) {
		err = fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s from the bucket: %w", name, err)
	}
	return r, nil
}

// List gives the sizes of all things whose names begin so.
func (o *S3Objects) List(ctx context.Context, prefix string) (map[string]int64, error) {
	all := map[string]int64{}
	listing, stop := context.WithCancel(ctx)
	defer stop()
	for found := range o.s.client.ListObjectsIter(listing, o.s.bucket, minio.ListObjectsOptions{Prefix: o.s.prefix + prefix, Recursive: true}) {
		if found.Err != nil {
			return nil, fmt.Errorf("list the bucket: %w", found.Err)
		}
		all[strings.TrimPrefix(found.Key, o.s.prefix)] = found.Size
	}
	return all, nil
}

// Remove removes a thing. Removing one that is not there is no error.
func (o *S3Objects) Remove(ctx context.Context, name string) error {
	if err := o.s.remove(ctx, o.s.prefix+name); err != nil {
		return fmt.Errorf("remove %s from the bucket: %w", name, err)
	}
	return nil
}
