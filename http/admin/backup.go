package admin

import (
	"context"
	"errors"
	"time"

	"troupe/persistence/backup"
)

// Backups makes backups of the running service.
type Backups interface {
	// BackUp makes one at a place, or where the service makes them by itself.
	BackUp(ctx context.Context, to BackupPlace, full bool) (*backup.Result, error)
}

// BackupPlace is a folder, or storage that speaks the protocol of S3.
type BackupPlace struct {
	Folder string    `json:"folder,omitempty"`
	S3     *BackupS3 `json:"s3,omitempty"`
}

// BackupS3 is where in such a storage.
type BackupS3 struct {
	Endpoint  string `json:"endpoint"` // host:port
	Insecure  bool   `json:"insecure,omitempty"`
	Region    string `json:"region,omitempty"`
	Bucket    string `json:"bucket"`
	Prefix    string `json:"prefix,omitempty"`
	AccessKey string `json:"accessKey"`
	SecretKey string `json:"secretKey"`
	Session   string `json:"session,omitempty"`
}

// String is what people call the place.
func (p BackupPlace) String() string {
	if p.S3 != nil {
		return "s3://" + p.S3.Bucket + "/" + p.S3.Prefix
	}
	return p.Folder
}

// BackUp makes a backup while the service runs.
type BackUp struct {
	To   BackupPlace `json:"to"` // empty: where the service makes them by itself
	Full bool        `json:"full,omitempty"`
}

func (BackUp) path() string { return "/store/backup" }

func (b BackUp) about() string { return b.To.String() }

func (BackUp) takes() time.Duration { return 24 * time.Hour }

// Do is part of [Command].
func (b BackUp) Do(ctx context.Context, o *Admin) (*backup.Result, error) {
	if o.Backups == nil {
		return nil, errors.New("this node keeps no records: make the backup at a node that does")
	}
	return o.Backups.BackUp(ctx, b.To, b.Full)
}
