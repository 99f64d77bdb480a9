package http

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"

	"troupe/engine"
	"troupe/http/answer"
	"troupe/persistence"
)

// FuzzForm gives the reader of forms what a client could send, without a network
// in between: whatever it is, it is a form or the client's fault, what comes of it
// lies in the folder of the request, and nothing is left of it.
func FuzzForm(f *testing.F) {
	part := func(header, body string) string { return "--x\r\n" + header + "\r\n\r\n" + body + "\r\n" }
	const (
		payload = `Content-Disposition: form-data; name="payload"`
		file    = `Content-Disposition: form-data; name="files"; filename="a"`
		end     = "--x--\r\n"
	)
	for _, s := range []string{
		part(payload, `{"actions":[]}`) + end,
		part(payload, "{}") + part(file, "hello") + part(file+"\r\nContent-Type: text/plain", "") + end,
		part(`Content-Disposition: form-data; name="files"; filename="../../a/..\\b\x00"`, "x") + part(payload, "{}") + end,
		part(`Content-Disposition: form-data; name="files"; filename*=UTF-8''%2e%2e%2fa`, "x") + end,
		part(`Content-Type: multipart/mixed; boundary=y`, "--y\r\n"+file+"\r\n\r\nx\r\n--y--") + end,
		part(file+"\r\nContent-Transfer-Encoding: quoted-printable", "=41") + end,
		"before\r\n" + part(payload, "{}") + end + "after\r\n--x\r\n", part(payload, "--x") + "--x", "--x\r\n\r\n--x--", "--x--", "--x\n\n\n--x--\n", "",
		part(payload+"\r\nA: "+strings.Repeat("a", 20<<10), "{}") + end,
		part(payload+strings.Repeat("\r\nA: a", 4000), "{}") + end,
		strings.Repeat("a\r\n", 10000) + part(payload, "{}") + end,
	} {
		f.Add("x", []byte(s), false)
		f.Add("x", []byte(s), true)
	}
	f.Add("", []byte("--\r\n\r\n\r\n----"), false)
	f.Add(strings.Repeat("x", 5000), []byte(strings.Repeat("x", 20000)), false)
	top := f.TempDir()
	root := filepath.Join(top, "uploads")
	ledger := persistence.NewLedger(0, nil)
	f.Fuzz(func(t *testing.T, boundary string, data []byte, slow bool) {
		held, err := ledger.Hold("ada", persistence.Allowance{Bytes: 1 << 20, Files: 20}, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		b := newForm(func() (string, error) { return uploadFolder(root, "task_0123456789abcdef_1") }, func(err error) *answer.Refusal {
			t.Errorf("a file is not kept: %v", err)
			return answer.Refuse(engine.CodeStorageUnwritable)
		})
		b.held = held
		in := held.Reader(bytes.NewReader(data))
		if slow {
			in = iotest.OneByteReader(in)
		}
		no := b.read(in, boundary)
		if no != nil {
			if status := answer.InfoOf(no.Code).Status; status < 400 || status >= 500 {
				t.Errorf("it is answered with %d: %s", status, no.Error)
			}
			if len(no.Error) > 8<<10 {
				t.Errorf("it is answered with %d bytes", len(no.Error))
			}
		}
		if no == nil && (b.payload == nil || len(b.payload) > maxPayload) {
			t.Errorf("a form without a fault has the payload %.100q", b.payload)
		}
		for _, up := range b.files {
			if filepath.Dir(up.Path) != b.folder || filepath.Dir(b.folder) != root {
				t.Errorf("a file lies at %q", up.Path)
			}
			if strings.ContainsAny(up.Name, "/\\\x00\r\n") || up.Name == "" || len(up.Name) > 200 || len(up.Type) > 255 {
				t.Errorf("a file is called %q, of the type %.300q", up.Name, up.Type)
			}
			if info, err := os.Stat(up.Path); err != nil || info.Size() != up.Size {
				t.Errorf("a file of %d bytes: %v, %v", up.Size, info, err)
			}
		}
		if k := ledger.Of("ada"); k.HeldBytes > int64(len(data)) {
			t.Errorf("of %d bytes %+v are held", len(data), k)
		}
		b.remove()
		if k := ledger.All(); k != (persistence.Kept{}) {
			t.Errorf("afterwards %+v is held", k)
		}
		if left, err := os.ReadDir(root); err != nil && !errors.Is(err, os.ErrNotExist) || len(left) > 0 {
			t.Errorf("afterwards %v is left: %v", left, err)
		}
		if all, err := os.ReadDir(top); err != nil || len(all) > 1 {
			t.Errorf("beside the folder of uploads are %v: %v", all, err)
		}
	})
}
