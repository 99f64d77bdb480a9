package main

import (
	"context"
	"net/url"
	"os"
	"regexp"
	"strings"
	"time"

	"troupe/persistence"
)

// storage is where files are kept that outlive their task, as flags.
type storage struct {
	Endpoint    string `help:"URL of S3-compatible storage for pictures, downloads and large results, such as https://s3.eu-central-1.amazonaws.com. Default: the data folder, or the nodes of the cluster." placeholder:"URL"`
	Bucket      string `help:"Name of an existing bucket." placeholder:"NAME"`
	Region      string `help:"Region of the bucket. Default: requested from the storage." placeholder:"NAME"`
	Prefix      string `help:"Prefix of all object names, such as troupe/." placeholder:"TEXT"`
	Credentials string `help:"File with ACCESS-KEY:SECRET-KEY. Default: from AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_SESSION_TOKEN." placeholder:"FILE"`
}

// on reports whether files are kept there.
func (s *storage) on() bool { return s.Endpoint != "" }

// bucketName is what every server takes.
var bucketName = regexp.MustCompile(`^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$`)

// openStorageWithin bounds what the first look at the bucket may take.
const openStorageWithin = 20 * time.Second

// check finds what is wrong with the flags.
func (s *storage) check() error {
	_, err := s.config()
	return err
}

// config is what the flags say. Keys come from a file or the environment:
// arguments of a process can be seen by others.
func (s *storage) config() (c persistence.S3Config, err error) {
	if !s.on() {
		for flag, value := range map[string]string{"bucket": s.Bucket, "region": s.Region, "prefix": s.Prefix, "credentials": s.Credentials} {
			if value != "" {
				return c, usage("--s3-%s needs --s3-endpoint", flag)
			}
		}
		return c, nil
	}
	u, err := url.Parse(s.Endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
		return c, usage("--s3-endpoint must be an address without a path, such as https://s3.eu-central-1.amazonaws.com")
	case !bucketName.MatchString(s.Bucket):
		return c, usage("--s3-bucket is %q: want the name of a bucket, 3 to 63 small letters, digits, hyphens and dots", s.Bucket)
	case len(s.Prefix) > 256 || strings.HasPrefix(s.Prefix, "/") || strings.ContainsFunc(s.Prefix, func(r rune) bool { return r < ' ' || r > '~' }):
		return c, usage("--s3-prefix is %q: want at most 256 plain characters, the first of them no slash, such as troupe/", s.Prefix)
	}
	c = persistence.S3Config{Endpoint: u.Host, Insecure: u.Scheme == "http", Region: s.Region, Bucket: s.Bucket, Prefix: s.Prefix}
	if c.AccessKey, c.SecretKey, c.Session, err = s.keys(); err != nil {
		return c, err
	}
	return c, nil
}

func (s *storage) keys() (access, secret, session string, err error) {
	if s.Credentials == "" {
		access, secret, session = os.Getenv("AWS_ACCESS_KEY_ID"), os.Getenv("AWS_SECRET_ACCESS_KEY"), os.Getenv("AWS_SESSION_TOKEN")
		if access == "" || secret == "" {
			return "", "", "", usage("--s3-endpoint needs keys: name a file with ACCESS-KEY:SECRET-KEY by --s3-credentials, or set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
		}
		return access, secret, session, nil
	}
	b, err := os.ReadFile(s.Credentials)
	if err != nil {
		return "", "", "", usage("read --s3-credentials: %w", err)
	}
	access, secret, both := strings.Cut(strings.TrimSpace(string(b)), ":")
	if !both || access == "" || secret == "" || strings.ContainsAny(access+secret, " \t\r\n") {
		return "", "", "", usage("--s3-credentials: the file must have one line, ACCESS-KEY:SECRET-KEY")
	}
	return access, secret, "", nil
}

// open opens the storage.
func (s *storage) open(ctx context.Context) (*persistence.S3, error) {
	c, err := s.config()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, openStorageWithin)
	defer cancel()
	return persistence.OpenS3(ctx, c)
}
