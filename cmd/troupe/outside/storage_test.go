//go:build linux

package outside_test

import (
	"context"
	"encoding/json"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/cmd/troupe/doctor"
	"troupe/persistence"
	"troupe/testkit/networks"
)

// bucketServer says how to reach a server of S3.
type bucketServer struct{ address, credentials string }

func (s bucketServer) url() string { return "http://" + s.address }

// openS3 starts a server of S3 with one bucket, and gives the flags for it and
// the folder that the bucket is.
func openS3(t *testing.T) (s bucketServer, flags []string, bucket string) {
	t.Helper()
	program := os.Getenv("TROUPE_TEST_VERSITYGW")
	if program == "" {
		t.Skip("TROUPE_TEST_VERSITYGW names no versitygw: .ci/run builds one")
	}
	addr := networks.Addresses(t, 1)[0]
	dir := t.TempDir()
	bucket = filepath.Join(dir, "root", "files")
	keys := filepath.Join(dir, "keys")
	if err := os.MkdirAll(bucket, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(keys, []byte("troupe:a-secret-of-tests\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	// Descriptions of objects go beside them: not every disk has attributes.
	cmd := exec.Command(program, "--port", addr, "--access", "troupe", "--secret", "a-secret-of-tests", "posix", "--sidecar", t.TempDir(), filepath.Dir(bucket))
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var said output
	cmd.Stdout, cmd.Stderr = &said, &said
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for end := time.Now().Add(hang); ; time.Sleep(20 * time.Millisecond) {
		if c, err := net.Dial("tcp", addr); err == nil {
			c.Close()
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the storage does not listen: %s", said.String())
		}
	}
	s = bucketServer{addr, keys}
	return s, []string{"--s3-endpoint=" + s.url(), "--s3-bucket=files", "--s3-region=us-east-1", "--s3-prefix=troupe/", "--s3-credentials=" + keys}, bucket
}

// objects counts the files in a folder.
func objects(t *testing.T, dir string) (n int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			n++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestFilesElsewhere: a whole service keeps its files in storage that speaks S3:
// a picture, a download and a large result can be read by their addresses, and
// are gone from there when their time is over.
func TestFilesElsewhere(t *testing.T) {
	t.Parallel()
	s, flags, bucket := openS3(t)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Disposition", `attachment; filename="list.csv"`)
		_, _ = w.Write([]byte("a,b\n1,2\n"))
	}))
	t.Cleanup(site.Close)
	dir, err := os.MkdirTemp("", "tr") // short: a socket's path is bounded
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	d := operatorCLI{t, filepath.Join(dir, "data")}
	token := d.says("token", "create", "--account=ada", "--plan=pro")
	_, base := serve(t, d.data, append(flags, "--workers=1", "--allow-cidr=127.0.0.1/32")...)
	status, body, err := post(base, token, `{"queueTimeout":10000,"config":{"trace":true},"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"viewport"},{"open":"`+site.URL+`/list.csv"}]}`)
	found := regexp.MustCompile(`http://[^" ]+/files/[^" ]+`).FindAllString(body, -1)
	slices.Sort(found)
	found = slices.Compact(found)
	if err != nil || status != 200 || len(found) != 2 {
		t.Fatalf("%d %s %v", status, body, err)
	}
	picture := found[slices.IndexFunc(found, func(url string) bool { return strings.HasSuffix(url, ".png") })]
	for _, url := range found {
		want := "a,b\n1,2\n"
		if url == picture {
			want = "\x89PNG"
		}
		if status, got := fetch(t, url, ""); status != 200 || !strings.HasPrefix(got, want) {
			t.Errorf("%s is %d %.20q", url, status, got)
		}
	}
	if status, body, err = post(base, token, `{"actions":[{"open":"http://demo.troupe.test/contact"},{"uploadFile":["input[type=file]","`+picture+`"]},{"evaluate":"const b=new Uint8Array(await document.querySelector('input[type=file]').files[0].arrayBuffer());return b.length+String.fromCharCode(...b.slice(1,4))"}]}`); err != nil || status != 200 || !regexp.MustCompile(`"data":"[0-9]{4,}PNG"`).MatchString(body) {
		t.Errorf("uploaded from there: %d %s %v", status, body, err)
	}
	status, body, err = post(base, token, `{"async":true,"actions":[{"evaluate":"return 'x'.repeat(1<<20)"}]}`)
	if err != nil || status != 200 {
		t.Fatalf("%d %s %v", status, body, err)
	}
	id := read(t, body).TaskID
	if status, body := get(t, base, token, "/v1/get-result?wait=20000&taskId="+id); status != 200 || len(body) < 1<<20 {
		t.Errorf("the large result is %d, %d bytes", status, len(body))
	}
	if n := objects(t, bucket); n != 9 { // three of each file
		t.Errorf("there are %d objects", n)
	}
	if n := objects(t, filesIn(d.data)); n != 0 {
		t.Errorf("there are %d files in the data folder, too", n)
	}

	files, err := persistence.OpenS3(context.Background(), persistence.S3Config{
		Endpoint: s.address, Insecure: true, Region: "us-east-1", Bucket: "files", Prefix: "troupe/", AccessKey: "troupe", SecretKey: "a-secret-of-tests",
	})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := files.Sweep(context.Background(), time.Now().Add(23*time.Hour)); err != nil || n != 1 {
		t.Errorf("after 23 hours %d files go, %v", n, err)
	}
	if n, err := files.Sweep(context.Background(), time.Now().Add(25*time.Hour)); err != nil || n != 2 {
		t.Errorf("after 25 hours %d files go, %v", n, err)
	}
	if n := objects(t, bucket); n != 0 {
		t.Errorf("%d objects are left", n)
	}
	if status, _ := fetch(t, picture, ""); status != 404 {
		t.Errorf("a picture that has gone is %d", status)
	}

	examined := func(flags ...string) (f doctor.Finding) {
		t.Helper()
		_, out, _ := play(t, "", append([]string{"doctor", "--json", "--data=" + d.data}, flags...)...)
		var all struct{ Findings []doctor.Finding }
		if err := json.Unmarshal([]byte(out), &all); err != nil || !strings.Contains(out, `"verdict": "good"`) {
			t.Fatalf("the doctor says %s: %v", out, err)
		}
		return all.Findings[slices.IndexFunc(all.Findings, func(f doctor.Finding) bool { return f.Check == "storage" })]
	}
	if f := examined(flags...); f.Verdict != doctor.Good {
		t.Errorf("the doctor finds %+v", f)
	}
	if f := examined("--s3-endpoint="+s.url(), "--s3-bucket=nothing", "--s3-credentials="+s.credentials); f.Verdict != doctor.Problem || !strings.Contains(f.Found, "no such bucket") || f.Advice == "" {
		t.Errorf("without the bucket the doctor finds %+v", f)
	}
	if code, _, stderr := play(t, "", "serve", "--listen=127.0.0.1:0", "--data="+filepath.Join(dir, "other"), "--s3-endpoint="+s.url(), "--s3-bucket=nothing", "--s3-credentials="+s.credentials); code != exitUsage || !strings.Contains(stderr, "no such bucket") {
		t.Errorf("without the bucket the service says %d %s", code, stderr)
	}
}
