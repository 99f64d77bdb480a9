package lang

import (
	"fmt"
	"strings"
	"testing"
)

// TestFrameShape: what names frames, and what does not.
func TestFrameShape(t *testing.T) {
	values := savedValues{"k": []byte(`"a\"b"`)}
	for body, want := range map[string]string{
		`"#f"`:                       "css #f",
		`["#f","//iframe"]`:          "css #f, xpath //iframe",
		`{"name":"card"}`:            `css iframe[name="card"],frame[name="card"],object[name="card"],embed[name="card"]`,
		`{"name":"${k}"}`:            `css iframe[name="a\"b"],frame[name="a\"b"],object[name="a\"b"],embed[name="a\"b"]`,
		`{"name":"a\\b\nc"}`:         `css iframe[name="a\\b\a c"],frame[name="a\\b\a c"],object[name="a\\b\a c"],embed[name="a\\b\a c"]`,
		`["#f",{"url":"/pay/${k}"}]`: `css #f, url /pay/a"b`,
		`{"url":"/^https:/i"}`:       "url /^https:/i",
		`{}`:                         `want {"url": pattern}`,
		`{"url":"a","name":"b"}`:     `with one of the two`,
		`{"url":""}`:                 "not an empty string",
		`{"name":5}`:                 "not a number",
		`{"src":"a"}`:                "src",
		`{"url":"/(/"}`:              "no RE2 expression",
		`5`:                          "not a number",
		`[]`:                         "want 1 to 10 iframes, not 0",
		`["1","2","3","4","5","6","7","8","9","10","11"]`: "want 1 to 10 iframes, not 11",
	} {
		n, fault := ReadNode([]byte(body))
		if fault != nil {
			t.Fatal(fault)
		}
		d := &Decoder{}
		frames := FrameShape.Read(d, n)
		var got []string
		for _, f := range d.Faults() {
			got = append(got, f.String())
		}
		if len(got) == 0 {
			for _, f := range frames {
				pattern, is, err := f.Address(values)
				if is {
					got = append(got, "url "+pattern)
				} else if target, err2 := f.Target(values); err == nil {
					err = err2
					got = append(got, fmt.Sprint(target.Kind, " ", target.Sel))
				}
				if err != nil {
					t.Errorf("%s: %v", body, err)
				}
			}
		}
		if all := strings.Join(got, ", "); all != want && (len(d.Faults()) == 0 || !strings.Contains(all, want)) {
			t.Errorf("%s is %s, want %s", body, all, want)
		}
	}
}
