package outside_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"
	"testing"
)

// utcTime is a time as answers have it.
var utcTime = regexp.MustCompile(`^"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"$`)

// varying says of fields that differ from one run to the next how they look.
// What a document shows in them must look so, too.
var varying = map[string]*regexp.Regexp{
	"taskId":     regexp.MustCompile(`^"task_[0-9a-f]{16}_\d{10}(_q[0-9a-z]+)?"$`),
	"sessionId":  regexp.MustCompile(`^"sess_[0-9a-f]{32}"$`),
	"workerId":   regexp.MustCompile(`^"[A-Za-z0-9_-]{1,20}"$`),
	"workerName": regexp.MustCompile(`^"worker-\d+"$`),
	"atMs":       regexp.MustCompile(`^\d+$`),
	"duration":   regexp.MustCompile(`^\d+$`),
	"durationMs": regexp.MustCompile(`^\d+(\.\d+)?$`),
	"timing":     regexp.MustCompile(`^\{"domContentLoaded":\d+,"load":\d+,"responseStart":\d+\}$`),
	"waited":     regexp.MustCompile(`^\d+$`),
	"askedAt":    utcTime,
	"startedAt":  utcTime,
	"endedAt":    regexp.MustCompile(`^"20(…|\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?)Z"$`),
	"bytesIn":    regexp.MustCompile(`^[1-9]\d*$`),
	"bytesOut":   regexp.MustCompile(`^[1-9]\d*$`),
	"batchId":    regexp.MustCompile(`^"batch_[0-9a-f]{16}_\d{10}"$`),
	"scheduleId": regexp.MustCompile(`^"sched_[0-9a-f]{16}_\d{10}"$`),
	"cursor":     regexp.MustCompile(`^"[0-9a-f]{14}/\d{10}"$|^"\d+"$`),
	"since":      utcTime,
	"resetAt":    regexp.MustCompile(`^"\d{4}-\d\d-\d\dT00:00:00Z"$`),
	"usedToday":  regexp.MustCompile(`^\d+$`),
	"usage":      regexp.MustCompile(`^\[\{"attempts":\d+,"browserSeconds":[\d.]+,"day":"20\d\d-\d\d-\d\d","failed":\d+,"resultBytes":\d+,"runs":[1-9]\d*,"stepsEnded":\d+\}\]$`),
	"total":      regexp.MustCompile(`^\{"attempts":\d+,"browserSeconds":[\d.]+,"failed":\d+,"resultBytes":\d+,"runs":[1-9]\d*,"stepsEnded":\d+\}$`),
	"storage":    regexp.MustCompile(`^\{"bytes":\d+,"files":\d+,"uploadingBytes":\d+\}$`),
}

// leftOut are fields that documents need not show: nearly every answer of a task has them.
var leftOut = map[string]bool{"page": true}

// file is the address of a file that the service keeps.
var file = regexp.MustCompile(`^http://127\.0\.0\.1:8080/files/[a-z0-9]{20,}\.([a-z]+)$`)

// jsonDiffers tells where two JSON values differ otherwise than they may. In a
// string that is wanted, … stands for anything.
func jsonDiffers(want, got string) error {
	var w, g any
	if err := json.Unmarshal([]byte(want), &w); err != nil {
		return err
	}
	if err := json.Unmarshal([]byte(got), &g); err != nil {
		return fmt.Errorf("the answer is %s", got)
	}
	if diffs := differences("", "", w, g); len(diffs) > 0 {
		return fmt.Errorf("%s\nin the answer %s", strings.Join(diffs, "\n"), got)
	}
	return nil
}

func differences(path, field string, want, got any) (diffs []string) {
	w, _ := json.Marshal(want)
	g, _ := json.Marshal(got)
	if p := varying[field]; p != nil {
		for _, v := range []string{string(w), string(g)} {
			if !p.MatchString(v) {
				diffs = append(diffs, fmt.Sprintf("%s: %s does not look like %s", path, v, p))
			}
		}
		return diffs
	}
	switch want := want.(type) {
	case float64: // half of what the disk has room for, where that is less
		if got, ok := got.(float64); ok && field == "storageBytes" && 0 < got && got <= want {
			return nil
		}
	case map[string]any:
		got, ok := got.(map[string]any)
		if !ok {
			break
		}
		names := slices.Collect(maps.Keys(want))
		for name := range got {
			if _, ok := want[name]; !ok {
				names = append(names, name)
			}
		}
		sort.Strings(names)
		for _, name := range names {
			_, wanted := want[name]
			_, there := got[name]
			if !wanted && leftOut[name] {
				continue
			}
			if !wanted || !there {
				diffs = append(diffs, fmt.Sprintf("%s/%s: in the document %v, in the answer %v", path, name, wanted, there))
				continue
			}
			diffs = append(diffs, differences(path+"/"+name, name, want[name], got[name])...)
		}
		return diffs
	case []any:
		got, ok := got.([]any)
		if !ok || len(got) != len(want) {
			break
		}
		for i := range want {
			diffs = append(diffs, differences(fmt.Sprintf("%s/%d", path, i), "", want[i], got[i])...)
		}
		return diffs
	case string:
		if got, ok := got.(string); ok {
			if w, g := file.FindStringSubmatch(want), file.FindStringSubmatch(got); w != nil && g != nil && w[1] == g[1] {
				return nil
			}
			if strings.Contains(want, "…") && regexp.MustCompile(`(?s)^`+strings.ReplaceAll(regexp.QuoteMeta(want), "…", ".*")+`$`).MatchString(got) {
				return nil
			}
		}
	}
	if string(w) != string(g) {
		return []string{fmt.Sprintf("%s: in the document %s, in the answer %s", path, w, g)}
	}
	return nil
}

// eventsDiffer compares streams of server-sent events. Comments do not count.
func eventsDiffer(want, got string) error {
	events := func(s string) (out []string) {
		for _, line := range strings.Split(s, "\n") {
			if line != "" && !strings.HasPrefix(line, ":") {
				out = append(out, line)
			}
		}
		return out
	}
	w, g := events(want), events(got)
	if len(w) != len(g) {
		return fmt.Errorf("%d lines in the document, %d in the answer\n%s", len(w), len(g), got)
	}
	for i := range w {
		wd, isData := strings.CutPrefix(w[i], "data: ")
		gd, _ := strings.CutPrefix(g[i], "data: ")
		if isData {
			if err := jsonDiffers(wd, gd); err != nil {
				return err
			}
		} else if w[i] != g[i] {
			return fmt.Errorf("in the document %q, in the answer %q", w[i], g[i])
		}
	}
	return nil
}

func TestDifferences(t *testing.T) {
	for _, c := range []struct{ name, want, got, diff string }{
		{"the same", `{"a":[1,"x",null]}`, `{"a":[1,"x",null]}`, ""},
		{"the order of fields", `{"a":1,"b":2}`, `{"b":2,"a":1}`, ""},
		{"anything", `{"a":"b…d"}`, `{"a":"bcd"}`, ""},
		{"a field that documents leave out", `{"a":1}`, `{"a":1,"page":{}}`, ""},
		{"one that they show, and is not there", `{"a":1,"page":{}}`, `{"a":1}`, "/page"},
		{"not anything", `{"a":"b…d"}`, `{"a":"bce"}`, "/a"},
		{"another value", `{"a":{"b":1}}`, `{"a":{"b":2}}`, "/a/b: in the document 1, in the answer 2"},
		{"more in the answer", `{"a":1}`, `{"a":1,"b":null}`, "/b: in the document false, in the answer true"},
		{"less in the answer", `{"a":1,"b":null}`, `{"a":1}`, "/b: in the document true, in the answer false"},
		{"another length", `[1]`, `[1,2]`, "in the document [1], in the answer [1,2]"},
		{"another kind", `{"a":{}}`, `{"a":[]}`, "/a: in the document {}, in the answer []"},
		{"what varies", `{"duration":1,"taskId":"task_0011223344556677_1700000000"}`, `{"duration":22,"taskId":"task_1111223344556677_1800000000"}`, ""},
		{"what varies too much", `{"taskId":"task_0011223344556677_1700000000"}`, `{"taskId":"task_1"}`, `/taskId: "task_1" does not look like`},
		{"what varies in the document", `{"duration":"soon"}`, `{"duration":22}`, `/duration: "soon" does not look like`},
	} {
		err := jsonDiffers(c.want, c.got)
		if (err == nil) != (c.diff == "") || err != nil && !strings.Contains(err.Error(), c.diff) {
			t.Errorf("%s: %v, want %q", c.name, err, c.diff)
		}
	}
	for _, c := range []struct {
		name, want, got string
		same            bool
	}{
		{"comments", "id: 1\nevent: step\ndata: {\"durationMs\":1}\n", ":\n\nid: 1\nevent: step\ndata: {\"durationMs\":2.5}\n\n", true},
		{"another event", "event: step\n", "event: end\n", false},
		{"one more", "event: step\n", "event: step\n\nevent: end\n", false},
		{"another value", "data: {\"a\":1}", "data: {\"a\":2}", false},
	} {
		if err := eventsDiffer(c.want, c.got); (err == nil) != c.same {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}
