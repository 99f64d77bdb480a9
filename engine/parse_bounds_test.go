package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"troupe/testkit/need"
)

// What an answer tells of faults at most.
const (
	mostFaults  = 100
	longestPath = 1000
)

// TestFaultsAreBounded: a request of the largest size, made so that much is wrong
// with it, costs neither much memory or time, nor an answer that is many times as
// large.
func TestFaultsAreBounded(t *testing.T) {
	need.NoRace(t)
	t.Parallel()
	const size = 1 << 20
	fill := func(begin, end string, one func(i int) string) string {
		var b strings.Builder
		b.WriteString(begin)
		for i := 0; ; i++ {
			s := one(i)
			if b.Len()+len(s)+len(end)+1 > size {
				break
			}
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(s)
		}
		return b.String() + end
	}
	long := strings.Repeat("a", size/4)
	secret := func(int) string { return `"${secret:a}"` }
	key := func(i int) string { return `"opne` + strconv.Itoa(i) + `":1` }
	for name, body := range map[string]string{
		"secrets below a long name":     fill(`{"`+long+`":[`, `]}`, secret),
		"secrets below long names":      fill(`{"`+long[:len(long)/2]+`":{"`+long[:len(long)/2]+`":[`, `]}}`, secret),
		"names that nobody knows":       fill(`{`, `}`, key),
		"options that nobody knows":     fill(`{"actions":[{"open":"http://a.test","options":{`, `}}]}`, key),
		"a name that grows when quoted": `{"` + strings.Repeat("\x7f", size-10) + `":1}`,
		"a long name twice":             `{"` + long + `":1,"` + long + `":1}`,
		"a fault in a long name":        `{"` + long + `":[x]}`,
		"long names of actions":         fill(`{"actions":[`, `]}`, func(int) string { return `{"` + long[:10000] + `":1}` }),
		"long keys":                     fill(`{"actions":[`, `]}`, func(int) string { return `{"press":"` + long[:10000] + `"}` }),
		"actions with much beside them": fill(`{"actions":[{"open":"http://a.test",`, `}]}`, key),
	} {
		began := time.Now()
		_, err := Parse([]byte(body), nil)
		took := time.Since(began)
		var invalid *Invalid
		if !errors.As(err, &invalid) || len(invalid.Faults) == 0 || len(invalid.Faults) > mostFaults {
			t.Errorf("%s: %.300v", name, err)
			continue
		}
		said, err := json.Marshal(invalid.Faults)
		if err != nil || len(said) > size {
			t.Errorf("%s: the faults have %d bytes: %v", name, len(said), err)
		}
		for _, f := range invalid.Faults {
			if !strings.HasPrefix(f.Path, "/") && f.Path != "" || f.Message == "" || len(f.Path) > longestPath {
				t.Errorf("%s: the fault is %.200q %.200q", name, f.Path, f.Message)
				break
			}
		}
		if took > time.Minute { // it takes some 0.1 s; for a hang only
			t.Errorf("%s: it took %v", name, took)
		}
	}
}

// TestWarningsAreBounded: names that are read and never saved are compared with
// those that are, and there may be very many of both.
func TestWarningsAreBounded(t *testing.T) {
	t.Parallel()
	var list []string
	name := func(of string, i int) string { return fmt.Sprintf("%s%058d", of, i) }
	for i := range 900 {
		list = append(list, `{"getText":"h1","options":{"save":"`+name("saved", i)+`"}}`)
	}
	var text strings.Builder
	for i := 0; text.Len() < 800<<10; i++ {
		text.WriteString("${" + name("reads", i) + "}")
	}
	list = append(list, `{"fill":["#a","`+text.String()+`"]}`)
	task, err := Parse([]byte(`{"actions":[`+strings.Join(list, ",")+`]}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r := task.Review(time.Minute)
	if took := time.Since(began); took > time.Minute { // it takes some 0.2 s; for a hang only
		t.Errorf("the review took %v", took)
	}
	if len(r.Warnings) != mostFaults {
		t.Errorf("there are %d warnings", len(r.Warnings))
	}
	if said, _ := json.Marshal(r.Warnings); len(said) > 1<<20 {
		t.Errorf("the warnings have %d bytes", len(said))
	}
}
