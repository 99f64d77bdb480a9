package outside_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/testkit/need"
	"troupe/testkit/wait"
)

// pictured takes a picture, and gives the path of its file and the file.
func pictured(t *testing.T, base, token string) (path, picture string) {
	t.Helper()
	status, body, err := post(base, token, `{"queueTimeout":20000,"actions":[{"open":"http://demo.troupe.test/"},{"screenshot":"viewport"}]}`)
	var shot struct {
		Data struct{ URL string } `json:"data"`
	}
	if err != nil || status != 200 || json.Unmarshal([]byte(body), &shot) != nil {
		t.Fatalf("%d %s %v", status, body, err)
	}
	_, name, _ := strings.Cut(shot.Data.URL, "/files/")
	path = "/files/" + name
	status, picture = fetch(t, base+path, "")
	if status != 200 || !strings.HasPrefix(picture, "\x89PNG") {
		t.Fatalf("the picture: %d %.20q", status, picture)
	}
	return path, picture
}

// listedBackups are the backups of a place, after all of each was read.
func listedBackups(t *testing.T, want int, place string, flags ...string) (all []struct {
	Store, Name, Base, Damaged string
	Checked                    bool
	Files                      int
}) {
	t.Helper()
	code, stdout, stderr := play(t, "", append([]string{"store", "backups", place, "--check", "--json"}, flags...)...)
	if code != want || json.Unmarshal([]byte(stdout), &all) != nil {
		t.Fatalf("the backups in %s: exit code %d, want %d: %s %s", place, code, want, stdout, stderr)
	}
	return all
}

// TestBackupsInBucket: a service with its files in a bucket makes backups in one by itself
// and by command. They are listed and checked there, and both ways to restore give back
// what was in them. A damaged object is found, and no restore begins with it.
//
// Promise: Backups in S3 are read back, and restored by both ways (docs/backup.md).
func TestBackupsInBucket(t *testing.T) {
	need.Time(t)
	t.Parallel()
	s, files, bucket := openS3(t)
	const place = "s3://files/backups/here"
	reach := []string{"--s3-endpoint=" + s.url(), "--s3-region=us-east-1", "--s3-credentials=" + s.credentials}
	dir := shortFolder(t)
	data := filepath.Join(dir, "data")
	c, base := serve(t, data, append(files, "--workers=1", "--backup-to="+place)...)
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	wait.Until(t, "the service has made its first backup by itself", func() bool { return strings.Contains(c.errs.String(), "a backup was made and read back") })
	if code, _, stderr := play(t, "correct horse battery", "secret", "set", "pass", "--account=local", "--origin=http://demo.troupe.test", "--data="+data); code != 0 {
		t.Fatal(stderr)
	}
	path, picture := pictured(t, base, token)
	for _, args := range [][]string{{}, append([]string{place}, reach...)} {
		if code, stdout, stderr := play(t, "", append([]string{"store", "backup", "--data=" + data}, args...)...); code != 0 || !strings.Contains(stdout, place+"/ is complete and was read back") {
			t.Fatalf("store backup %v: %d %s %s", args, code, stdout, stderr)
		}
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Error(err)
	}
	all := listedBackups(t, 0, place, reach...)
	for i, b := range all {
		if !b.Checked || b.Damaged != "" || (b.Base == "") != (i == 0) {
			t.Errorf("backup %d is %+v", i, b)
		}
	}
	if n := len(all); n != 3 || all[2].Files != 1 {
		t.Fatalf("there are %d backups: %+v", n, all)
	}

	saved := filepath.Join(dir, "saved.key")
	key, err := os.ReadFile(filepath.Join(data, "key"))
	if err == nil {
		err = os.WriteFile(saved, key, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	back := func(data string, flags ...string) {
		t.Helper()
		c, base := serve(t, data, append(flags, "--workers=1")...)
		if status, got := fetch(t, base+path, ""); status != 200 || got != picture {
			t.Errorf("%s: the picture is %d, %d bytes, want %d", data, status, len(got), len(picture))
		}
		if status, body, err := post(base, token, shopTask); err != nil || status != 200 {
			t.Errorf("%s: a task is %d %s %v", data, status, body, err)
		}
		if code, stdout, _ := play(t, "", "secret", "list", "--account=local", "--data="+data); code != 0 || !strings.Contains(stdout, "pass") {
			t.Errorf("%s: the secrets are %d %s", data, code, stdout)
		}
		_ = c.Process.Signal(syscall.SIGTERM)
		if err := c.end(t, hang); err != nil {
			t.Error(err)
		}
	}
	folder := filepath.Join(dir, "folder") // by the command, with files in the data folder
	restore := append([]string{"store", "restore", place, "--key=" + saved}, reach...)
	if code, stdout, stderr := play(t, "", append(restore, "--data="+folder)...); code != 0 || !strings.Contains(stdout, "1 account") || !strings.Contains(stdout, "1 files") {
		t.Fatalf("store restore: %d %s %s", code, stdout, stderr)
	}
	back(folder)
	empty := filepath.Join(dir, "empty") // by the service, with files in another part of the bucket
	if err := os.Mkdir(empty, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(empty, "key"), key, 0o600); err != nil {
		t.Fatal(err)
	}
	elsewhere := append([]string{"--restore-from=" + place}, files...)
	elsewhere = append(elsewhere, "--s3-prefix=another/")
	before := objects(t, filepath.Join(bucket, "backups"))
	back(empty, elsewhere...)
	if n := objects(t, filepath.Join(bucket, "another")); n < 3 {
		t.Errorf("the restored files are %d objects of the bucket", n)
	}

	records := filepath.Join(bucket, "backups", "here", all[1].Store, all[1].Name, "records")
	text, err := os.ReadFile(records)
	if err != nil {
		t.Fatal(err)
	}
	text[len(text)/2] ^= 1
	if err := os.WriteFile(records, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if all := listedBackups(t, exitData, place, reach...); all[0].Damaged != "" || all[1].Damaged == "" || all[2].Damaged == "" {
		t.Errorf("one is damaged, and another one needs it: %+v", all)
	}
	nothing := filepath.Join(dir, "nothing")
	if code, _, stderr := play(t, "", append(restore, "--data="+nothing)...); code != exitData || !strings.Contains(stderr, "Nothing was changed") {
		t.Errorf("the restore of a damaged backup: %d %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(nothing, "store")); err == nil {
		t.Error("a damaged backup was restored in part")
	}
	if code, _, stderr := play(t, "", append(restore, "--data="+nothing, "--backup="+all[0].Name)...); code != 0 {
		t.Errorf("the restore of the one that is intact: %d %s", code, stderr)
	}
	if n := objects(t, filepath.Join(bucket, "backups")); n != before {
		t.Errorf("restores have changed the place: %d objects, and there were %d", n, before)
	}
}

// TestRestoreWithoutKey: without the key, what is not sealed is restored, and the rest is
// lost as is said, by both ways. With it lost, a restore that does not say so is refused.
//
// Promise: Without the key a restore gives back all that is not sealed (docs/backup.md#restore-one-service).
func TestRestoreWithoutKey(t *testing.T) {
	need.Time(t)
	t.Parallel()
	dir := shortFolder(t)
	stopped, backups := filepath.Join(dir, "data"), filepath.Join(dir, "backups")
	data := stopped
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	if code, _, stderr := play(t, "correct horse battery", "secret", "set", "pass", "--account=local", "--origin=http://demo.troupe.test", "--data="+data); code != 0 {
		t.Fatal(stderr)
	}
	path, picture := pictured(t, base, token)
	for _, made := range []struct{ path, body string }{
		{"/v1/schedules", `{"every":3600000,"task":{"actions":[{"open":"http://demo.troupe.test/"}]}}`},
		{"/v1/endpoints", `{"url":"http://demo.troupe.test/hook"}`},
		{"/v1/", `{"queueTimeout":20000,"profile":"kept","actions":[{"open":"http://demo.troupe.test/"}]}`},
	} {
		if status, body, err := sendTo("POST", base+made.path, token, made.body); err != nil || status/100 != 2 {
			t.Fatalf("%s: %d %s %v", made.path, status, body, err)
		}
	}
	if code, _, stderr := play(t, "", "store", "backup", backups, "--data="+data); code != 0 {
		t.Fatal(stderr)
	}
	_ = c.Process.Signal(syscall.SIGTERM)
	if err := c.end(t, hang); err != nil {
		t.Error(err)
	}

	for name, way := range map[string]func(data string) []string{
		"by the command": func(data string) []string {
			code, _, stderr := play(t, "", "store", "restore", backups, "--data="+data)
			if code != exitData || !strings.Contains(stderr, "--without-key") {
				t.Errorf("a restore without the key: %d %s", code, stderr)
			}
			code, stdout, stderr := play(t, "", "store", "restore", backups, "--data="+data, "--without-key")
			if code != 0 || !strings.Contains(stdout, "Without the key: accounts, tokens, flows and files are restored") {
				t.Errorf("--without-key: %d %s %s", code, stdout, stderr)
			}
			return nil
		},
		"of the copied": func(data string) []string { // folder, whose key is gone
			lost := data + ".lost"
			if out, err := exec.Command("cp", "-a", stopped, lost).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			if err := os.Remove(filepath.Join(lost, "key")); err != nil {
				t.Fatal(err)
			}
			if code, _, stderr := play(t, "", "store", "restore", lost, "--data="+data, "--without-key"); code != 0 {
				t.Errorf("--without-key: %d %s", code, stderr)
			}
			return nil
		},
		"by the service": func(data string) []string {
			code, _, stderr := play(t, "", "serve", "--listen=127.0.0.1:0", "--data="+data, "--restore-from="+backups)
			if code != exitData || !strings.Contains(stderr, "--restore-without-key") {
				t.Errorf("a restore without the key: %d %s", code, stderr)
			}
			return []string{"--restore-from=" + backups, "--restore-without-key"}
		},
	} {
		data := filepath.Join(dir, strings.Fields(name)[2])
		_, base := serve(t, data, append(way(data), "--workers=1")...)
		if status, got := fetch(t, base+path, ""); status != 200 || got != picture {
			t.Errorf("%s: the picture is %d, %d bytes", name, status, len(got))
		}
		if status, body, err := post(base, token, `{"queueTimeout":20000,"profile":"new","actions":[{"open":"http://demo.troupe.test/"}]}`); err != nil || status != 200 {
			t.Errorf("%s: a task with the token of before is %d %s %v", name, status, body, err)
		}
		for _, list := range []string{"/v1/schedules", "/v1/endpoints", "/v1/profiles"} {
			var x struct{ Unreadable []string }
			status, body := get(t, base, token, list)
			if status != 200 || json.Unmarshal([]byte(body), &x) != nil || len(x.Unreadable) != 1 {
				t.Errorf("%s: %s is %d %s", name, list, status, body)
			}
		}
		if code, _, stderr := play(t, "another", "secret", "set", "pass", "--account=local", "--origin=http://demo.troupe.test", "--data="+data); code != 0 {
			t.Errorf("%s: the lost secret set anew: %d %s", name, code, stderr)
		}
	}
}

// TestAcceptedCopy: a copy of a folder in use starts with --accept-copy, says what may be
// missing, and is an original from then on.
//
// Promise: A copy of a folder in use starts only with --accept-copy (docs/backup.md#a-copied-data-folder).
func TestAcceptedCopy(t *testing.T) {
	need.Time(t)
	t.Parallel()
	dir := shortFolder(t)
	data, hot := filepath.Join(dir, "data"), filepath.Join(dir, "hot")
	c, base := serve(t, data, "--workers=1")
	token := tokenLine.FindStringSubmatch(c.out.String())[1]
	path, picture := pictured(t, base, token)
	if out, err := exec.Command("cp", "-a", data, hot).CombinedOutput(); err != nil {
		t.Logf("%v: %s", err, out) // the socket may not be copied
	}
	code, _, stderr := play(t, "", "serve", "--listen=127.0.0.1:0", "--workers=1", "--data="+hot)
	if code != exitData || !strings.Contains(stderr, "was copied while a service ran") || !strings.Contains(stderr, "Nothing was changed") {
		t.Errorf("the copy without the flag: %d %s", code, stderr)
	}
	for i, flags := range [][]string{{"--accept-copy"}, nil, {"--accept-copy"}} {
		copied, base := serve(t, hot, append(flags, "--workers=1")...)
		if status, got := fetch(t, base+path, ""); status != 200 || got != picture {
			t.Errorf("start %d: the picture is %d, %d bytes", i, status, len(got))
		}
		if status, body, err := post(base, token, shopTask); err != nil || status != 200 {
			t.Errorf("start %d: %d %s %v", i, status, body, err)
		}
		if said := strings.Contains(copied.errs.String(), "because of --accept-copy"); said != (i == 0) {
			t.Errorf("start %d: that it is a copy was said: %v", i, said)
		}
		if i == 2 {
			break // it ends with the test
		}
		if err := copied.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = copied.end(t, hang)
	}
	if status, body, err := post(base, token, shopTask); err != nil || status != 200 { // beside it
		t.Errorf("the original: %d %s %v", status, body, err)
	}
}
