package persistence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
)

// S3 is [Files] in storage that speaks the protocol of S3. A file is up to three
// objects; without a description it is not there.
//
//	due/0001763757600/k3f7…   when to look whether it may go; first of all
//	blob/k3f7….png            the bytes
//	about/k3f7….png           the Blob, last of all
type S3 struct {
	client *minio.Client
	bucket string
	prefix string
}

// S3Config says where the storage is.
type S3Config struct {
	Endpoint  string // host:port
	Insecure  bool   // without TLS
	Region    string // empty: asked for
	Bucket    string
	Prefix    string // before the name of each object
	AccessKey string
	SecretKey string
	Session   string // token of keys that are for a time; empty: they are not
}

// s3Part is how much of a file is held in memory while it is sent.
const s3Part = 8 << 20

// OpenS3 opens the storage. The bucket must be there.
func OpenS3(ctx context.Context, cfg S3Config) (*S3, error) {
	client, err := minio.New(cfg.Endpoint, &minio.Options{
		Creds:      credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, cfg.Session),
		Secure:     !cfg.Insecure,
		Region:     cfg.Region,
		MaxRetries: 4,
	})
	if err != nil {
		return nil, fmt.Errorf("open the storage of files at %s: %w", cfg.Endpoint, err)
	}
	there, err := client.BucketExists(ctx, cfg.Bucket)
	if err == nil && !there {
		err = errors.New("there is no such bucket")
	}
	if err != nil {
		return nil, fmt.Errorf("open the bucket %s at %s: %w", cfg.Bucket, cfg.Endpoint, err)
	}
	return &S3{client, cfg.Bucket, cfg.Prefix}, nil
}

func (s *S3) about(id string) string { return s.prefix + "about/" + id }
func (s *S3) blob(id string) string  { return s.prefix + "blob/" + id }
func (s *S3) due(id string, at time.Time) string {
	return fmt.Sprintf("%sdue/%013d/%s", s.prefix, max(at.Unix(), 0), id)
}

// Put implements [Files].
func (s *S3) Put(ctx context.Context, b Blob, r io.Reader) (Blob, error) {
	if ctx.Err() != nil {
		return Blob{}, context.Cause(ctx)
	}
	b.ID, b.Created = NewFileID(b.ContentType), time.Now().UTC()
	return s.keep(ctx, b, r)
}

// Adopt implements [Adopter].
func (s *S3) Adopt(ctx context.Context, b Blob, r io.Reader) error {
	switch _, err := s.describe(ctx, b.ID); {
	case err == nil:
		return ErrConflict
	case !errors.Is(err, ErrNotFound):
		return err
	}
	_, err := s.keep(ctx, b, r)
	return err
}

// keep writes a file whose name and times are known.
func (s *S3) keep(ctx context.Context, b Blob, r io.Reader) (Blob, error) {
	look := b.Expires
	if look.IsZero() {
		look = b.Created.Add(abandoned)
	}
	in := &rememberingReader{r: contextReader{ctx, r}}
	err := s.put(ctx, s.due(b.ID, look), nil)
	if err == nil {
		b.Size, err = s.send(ctx, s.blob(b.ID), b.ContentType, in)
	}
	var text []byte
	if err == nil {
		text, err = json.Marshal(b)
	}
	if err == nil {
		err = s.put(ctx, s.about(b.ID), text)
	}
	if err == nil && b.Expires.IsZero() {
		err = s.remove(ctx, s.due(b.ID, look)) // there is nothing to look for
	}
	if err == nil {
		return b, nil
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
	defer cancel()
	return Blob{}, fmt.Errorf("keep a file: %w", errors.Join(in.err, err, s.remove(ending, s.about(b.ID), s.blob(b.ID), s.due(b.ID, look))))
}

// send sends the bytes: at once what is small, in parts what is not.
func (s *S3) send(ctx context.Context, name, contentType string, r io.Reader) (int64, error) {
	var first bytes.Buffer
	n, err := io.CopyN(&first, r, s3Part)
	options := minio.PutObjectOptions{ContentType: contentType, DisableContentSha256: true, PartSize: s3Part}
	switch {
	case errors.Is(err, io.EOF):
		_, err = s.client.PutObject(ctx, s.bucket, name, &first, n, options)
		return n, err
	case err != nil:
		return 0, err
	}
	info, err := s.client.PutObject(ctx, s.bucket, name, io.MultiReader(&first, r), -1, options)
	return info.Size, err
}

func (s *S3) put(ctx context.Context, name string, text []byte) error {
	_, err := s.client.PutObject(ctx, s.bucket, name, bytes.NewReader(text), int64(len(text)), minio.PutObjectOptions{ContentType: "application/json"})
	return err
}

// remove removes objects, also such as are not there.
func (s *S3) remove(ctx context.Context, names ...string) error {
	for _, name := range names {
		if err := s.client.RemoveObject(ctx, s.bucket, name, minio.RemoveObjectOptions{}); err != nil && !isMissing(err) {
			return err
		}
	}
	return nil
}

func isMissing(err error) bool {
	code := minio.ToErrorResponse(err).Code
	return code == "NoSuchKey" || code == "NotFound"
}

// Open implements [Files].
func (s *S3) Open(ctx context.Context, id string) (Blob, io.ReadSeekCloser, error) {
	if ctx.Err() != nil {
		return Blob{}, nil, context.Cause(ctx)
	}
	b, err := s.describe(ctx, id)
	if err != nil {
		return Blob{}, nil, err
	}
	if expired(stamp(b.Expires), time.Now()) {
		return Blob{}, nil, ErrNotFound
	}
	o, err := s.client.GetObject(ctx, s.bucket, s.blob(id), minio.GetObjectOptions{})
	if err != nil {
		return Blob{}, nil, fmt.Errorf("open a file: %w", err)
	}
	info, err := o.Stat()
	switch {
	case err == nil && info.Size == b.Size:
		return b, o, nil
	case err == nil || isMissing(err):
		err = ErrNotFound
	default:
		err = fmt.Errorf("open a file: %w", err)
	}
	o.Close()
	return Blob{}, nil, err
}

// describe reads a description.
func (s *S3) describe(ctx context.Context, id string) (Blob, error) {
	var b Blob
	if !IsFileID(id) {
		return b, ErrNotFound
	}
	o, err := s.client.GetObject(ctx, s.bucket, s.about(id), minio.GetObjectOptions{})
	if err != nil {
		return b, fmt.Errorf("read the description of a file: %w", err)
	}
	defer o.Close()
	text, err := io.ReadAll(io.LimitReader(o, 1<<16))
	if err != nil && isMissing(err) {
		return b, ErrNotFound
	}
	if err == nil {
		err = json.Unmarshal(text, &b)
	}
	if err != nil {
		return b, fmt.Errorf("read the description of a file: %w", err)
	}
	return b, nil
}

// Delete implements [Files].
func (s *S3) Delete(ctx context.Context, id string) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	b, err := s.describe(ctx, id)
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	names := []string{s.about(id), s.blob(id)}
	if err == nil && !b.Expires.IsZero() {
		names = append(names, s.due(id, b.Expires))
	}
	if err == nil {
		err = s.remove(ctx, names...)
	}
	if err != nil {
		return fmt.Errorf("delete a file: %w", err)
	}
	return nil
}

// Sweep implements [Files]. It looks only at files whose time has come.
func (s *S3) Sweep(ctx context.Context, now time.Time) (int, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	removed := 0
	listing, stop := context.WithCancel(ctx)
	defer stop()
	for o := range s.client.ListObjectsIter(listing, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + "due/", Recursive: true}) {
		if o.Err != nil {
			return removed, fmt.Errorf("sweep files: %w", o.Err)
		}
		id := path.Base(o.Key)
		text, _, _ := strings.Cut(strings.TrimPrefix(o.Key, s.prefix+"due/"), "/")
		at, err := strconv.ParseInt(text, 10, 64)
		if err != nil || !IsFileID(id) {
			continue // not ours
		}
		if time.Unix(at, 0).After(now) {
			break // they come in order
		}
		b, err := s.describe(ctx, id)
		names := []string{s.about(id), s.blob(id), o.Key}
		switch {
		case errors.Is(err, ErrNotFound):
			err = nil
		case err == nil && b.Expires.IsZero(): // its writer died before it took the note away
			names = names[2:]
		case err == nil && !expired(stamp(b.Expires), now):
			continue // within this second
		}
		if err == nil {
			err = s.remove(ctx, names...)
		}
		if err != nil {
			return removed, fmt.Errorf("sweep files: %w", err)
		}
		if len(names) > 1 {
			removed++
		}
	}
	return removed, nil
}

// All implements [Lister]: it asks for each description.
func (s *S3) All(ctx context.Context) iter.Seq2[Blob, error] {
	return func(yield func(Blob, error) bool) {
		listing, stop := context.WithCancel(ctx)
		defer stop()
		for o := range s.client.ListObjectsIter(listing, s.bucket, minio.ListObjectsOptions{Prefix: s.prefix + "about/", Recursive: true}) {
			if o.Err != nil {
				yield(Blob{}, fmt.Errorf("list files: %w", o.Err))
				return
			}
			b, err := s.describe(ctx, path.Base(o.Key))
			if errors.Is(err, ErrNotFound) { // just removed, or not ours
				continue
			}
			if !yield(b, err) || err != nil {
				return
			}
		}
	}
}

// rememberingReader remembers why reading ended, whatever its reader makes of
// that.
type rememberingReader struct {
	r   io.Reader
	err error
}

func (m *rememberingReader) Read(p []byte) (int, error) {
	n, err := m.r.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		m.err = err
	}
	return n, err
}

var _ interface {
	Adopter
	Lister
} = (*S3)(nil)
