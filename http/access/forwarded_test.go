package access

import (
	"fmt"
	"strings"
	"testing"

	"github.com/valyala/fasthttp"
)

// TestForwarded reads how proxies write whom they saw.
func TestForwarded(t *testing.T) {
	for in, want := range map[string]string{
		"X-Forwarded-For: 1.2.3.4":                             "1.2.3.4",
		"X-Forwarded-For: 1.2.3.4:5678":                        "1.2.3.4",
		"X-Forwarded-For: [::1]:80":                            "::1",
		"X-Forwarded-For: [::1]":                               "::1",
		"X-Forwarded-For: ::1":                                 "::1",
		"X-Forwarded-For: 2001:db8::7":                         "2001:db8::7",
		"X-Forwarded-For: [fe80::1%eth0]:80":                   "fe80::1%eth0",
		`X-Forwarded-For: "1.2.3.4"`:                           "1.2.3.4",
		`X-Forwarded-For: "[2001:db8::7]:99" , 9.9.9.9:1`:      "9.9.9.9 2001:db8::7",
		"X-Forwarded-For: 1.1.1.1,2.2.2.2, 3.3.3.3":            "3.3.3.3 2.2.2.2 1.1.1.1",
		"X-Forwarded-For: 1.1.1.1, , 3.3.3.3,":                 "3.3.3.3 1.1.1.1",
		"X-Forwarded-For: 1.1.1.1, x, 3.3.3.3":                 "3.3.3.3",
		"X-Forwarded-For: 1.1.1.1\nX-Forwarded-For: 2.2.2.2":   "2.2.2.2 1.1.1.1",
		"X-Forwarded-For: unknown":                             "",
		"X-Forwarded-For: 1.2.3.4:":                            "",
		"X-Forwarded-For: 1.2.3.4:http":                        "",
		"X-Forwarded-For: 1.2.3.4:123456":                      "",
		"X-Forwarded-For: [1.2.3.4]:80":                        "",
		"X-Forwarded-For: [::1":                                "",
		"X-Forwarded-For: [::1]80":                             "",
		`X-Forwarded-For: ", 9.9.9.9`:                          "9.9.9.9",
		"Forwarded: for=192.0.2.60;proto=http;by=203.0.113.43": "192.0.2.60",
		`Forwarded: For="[2001:db8:cafe::17]:4711"`:            "2001:db8:cafe::17",
		`Forwarded: by=1.1.1.1; FOR = "192.0.2.43:47011"`:      "192.0.2.43",
		"Forwarded: for=192.0.2.43, for=198.51.100.17":         "198.51.100.17 192.0.2.43",
		`Forwarded: for=192.0.2.43, for="[::2]:_port.x-1"`:     "::2 192.0.2.43",
		`Forwarded: for=1.1.1.1;x="a,for=2.2.2.2;b\",c"`:       "1.1.1.1",
		`Forwarded: for="1\.1.1.1"`:                            "1.1.1.1",
		`Forwarded: for="6.6.6.6, for=9.9.9.9`:                 "9.9.9.9",
		"Forwarded: for=1.1.1.1, for=_hidden, for=3.3.3.3":     "3.3.3.3",
		"Forwarded: for=1.1.1.1, proto=https":                  "",
		"Forwarded: for=unknown":                               "",
		"Forwarded: for=6.6.6.6\nX-Forwarded-For: 1.1.1.1":     "1.1.1.1",
		"X-Other: 1.1.1.1":                                     "",
	} {
		var h fasthttp.RequestHeader
		for line := range strings.SplitSeq(in, "\n") {
			name, value, _ := strings.Cut(line, ": ")
			h.Add(name, value)
		}
		if got := strings.Trim(fmt.Sprint(forwarded(&h)), "[]"); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}
