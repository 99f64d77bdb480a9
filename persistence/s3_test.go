//go:build linux

package persistence_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"testing/iotest"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"troupe/persistence"
	"troupe/persistence/storetest"
	"troupe/testkit/wait"
)

// s3Server starts a server of S3 and gives its address and how to make a bucket.
func s3Server(t *testing.T) (persistence.S3Config, *minio.Client) {
	t.Helper()
	program := os.Getenv("TROUPE_TEST_VERSITYGW")
	if program == "" {
		t.Skip("TROUPE_TEST_VERSITYGW names no versitygw: .ci/run builds one")
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg := persistence.S3Config{Endpoint: l.Addr().String(), Insecure: true, Region: "us-east-1", AccessKey: "troupe", SecretKey: "a secret of tests"}
	l.Close()
	// Descriptions of objects go beside them: not every disk has attributes.
	cmd := exec.Command(program, "--port", cfg.Endpoint, "--access", cfg.AccessKey, "--secret", cfg.SecretKey, "posix", "--sidecar", t.TempDir(), t.TempDir())
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said strings.Builder
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	client, err := minio.New(cfg.Endpoint, &minio.Options{Creds: credentials.NewStaticV4(cfg.AccessKey, cfg.SecretKey, ""), Region: cfg.Region})
	if err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(wait.Hang); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", cfg.Endpoint); err == nil {
			c.Close()
			return cfg, client
		}
		if time.Now().After(end) {
			cmd.Process.Kill()
			cmd.Wait()
			t.Fatalf("the server does not listen: %s", said.String())
		}
	}
}

func TestFilesInS3(t *testing.T) {
	t.Parallel()
	cfg, client := s3Server(t)
	n := 0
	storetest.RunFiles(t, func(t *testing.T) persistence.Files {
		n++
		here := cfg
		here.Bucket, here.Prefix = fmt.Sprintf("files-%d", n), "troupe/"
		if err := client.MakeBucket(ctx, here.Bucket, minio.MakeBucketOptions{}); err != nil {
			t.Fatal(err)
		}
		s, err := persistence.OpenS3(ctx, here)
		if err != nil {
			t.Fatal(err)
		}
		return s
	})
	t.Run("in parts", func(t *testing.T) { inParts(t, cfg) })
	for what, change := range map[string]func(*persistence.S3Config){
		"no such bucket": func(c *persistence.S3Config) { c.Bucket = "nothing" },
		"another key":    func(c *persistence.S3Config) { c.SecretKey = "wrong" },
		"no server":      func(c *persistence.S3Config) { c.Endpoint = "127.0.0.1:1" },
	} {
		wrong := cfg
		wrong.Bucket = "files-1"
		change(&wrong)
		if _, err := persistence.OpenS3(ctx, wrong); err == nil || !strings.Contains(err.Error(), wrong.Endpoint) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A file that is sent in parts is whole, or not there.
func inParts(t *testing.T, cfg persistence.S3Config) {
	cfg.Bucket = "files-1"
	s, err := persistence.OpenS3(ctx, cfg)
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("0123456789abcdef"), 20<<20/16)
	b, err := s.Put(ctx, persistence.Blob{ContentType: "application/zip"}, bytes.NewReader(content))
	if err != nil || b.Size != int64(len(content)) {
		t.Fatalf("Put = %+v, %v", b, err)
	}
	_, r, err := s.Open(ctx, b.ID)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, content) {
		t.Errorf("read %d bytes, %v", len(got), err)
	}
	broken := errors.New("broken")
	if _, err := s.Put(ctx, persistence.Blob{}, io.MultiReader(bytes.NewReader(content), iotest.ErrReader(broken))); !errors.Is(err, broken) {
		t.Errorf("Put of a file that ends in the middle: %v", err)
	}
	if n, err := s.Sweep(ctx, time.Now().Add(48*time.Hour)); n != 0 || err != nil {
		t.Errorf("Sweep = %d, %v", n, err)
	}
}
