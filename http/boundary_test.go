package http_test

import (
	"strings"
	"testing"
)

// TestBoundariesWithoutQuotes: many clients send a boundary with characters that want
// quotes as it is.
func TestBoundariesWithoutQuotes(t *testing.T) {
	c := &fakeActors{}
	e := openServer(t, c)
	for contentType, boundary := range map[string]string{
		"multipart/form-data; boundary===x==":                  "==x==",
		"multipart/form-data; boundary=a=b":                    "a=b",
		"multipart/form-data;boundary=(a)/b:c?d,e":             "(a)/b:c?d,e",
		`multipart/form-data; boundary="=q="`:                  "=q=",
		"Multipart/Form-Data; charset=utf-8; Boundary=----W=k": "----W=k",
		"multipart/form-data; boundary==?utf-8?x; charset=x":   "=?utf-8?x",
	} {
		body := "--" + boundary + "\r\nContent-Disposition: form-data; name=\"payload\"\r\n\r\n" + task + "\r\n--" + boundary + "--\r\n"
		if status, p := e.post(t, contentType, strings.NewReader(body)); status != 200 {
			t.Errorf("%s: %d %+v", contentType, status, p)
		}
	}
	for _, contentType := range []string{"multipart/form-data; boundary=", "multipart/form-data; boundary=a[=", "multipart/form-data; boundary=" + strings.Repeat("=", 80), "multipart/form-data; x=boundary=a"} {
		if status, p := e.post(t, contentType, strings.NewReader("--a--")); status != 415 {
			t.Errorf("%q: %d %+v", contentType, status, p)
		}
	}
}
