package engine

import (
	"encoding/base64"
	"flag"
	"image/color"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"troupe/testkit/need"
)

var keepTraces = flag.String("traces", "", "folder in which traces that tests make are left, to be looked at")

// TestFullTrace: one file shows each step with the page before and after it, and
// nothing in it could run or be fetched.
func TestFullTrace(t *testing.T) {
	t.Parallel()
	url := evidenceSite(t)
	var k kept
	const hostile = `</pre><script>document.title='owned'</script><img src=x onerror=alert(1)>`
	o := play(t, newInstance(t), `{"config":{"trace":"full"},"actions":[{"open":"`+url+`/"},{"getText":"#h"},{"fill":["#f",`+quoted(hostile)+`]},{"click":"#go"},{"wait":150},{"getText":"#h"},
		{"evaluate":`+quoted("console.error(`"+hostile+"`);throw new Error(`"+hostile+"`)")+`},
		{"loop":{"repeat":2,"do":[{"getValue":"#f","options":{"push":"f"}},{"click":"#nope","options":{"timeout":100}}]}}]}`, TaskEnv{SaveFile: k.save, TaskID: "task_1"})
	page := string(k.files[o.Trace])
	if page == "" || len(k.files) != 1 || len(o.Steps) != 12 {
		t.Fatalf("%q, %d files, %d steps, %v", o.Trace, len(k.files), len(o.Steps), o.Warnings)
	}
	if *keepTraces != "" {
		if err := os.WriteFile(filepath.Join(*keepTraces, "trace.html"), []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, want := range []string{
		"task_1", "<b>7/loop/do/1</b> click", "turn 1", "&lt;script&gt;", "Uncaught", "/missing", "404",
		`Element &#34;#nope&#34; not found within 100ms`, "clicked {price: 49, name: &#34;lamp&#34;} [1, 2]",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the trace", want)
		}
	}
	if strings.Contains(page, "<script") || strings.Contains(page, "<img") || strings.Contains(page, "onerror=\"") {
		t.Error("there is something in the trace that could run")
	}
	if n := strings.Count(page, "<article"); n != 12 {
		t.Errorf("%d steps are shown, want 12", n)
	}

	// The pictures are those of the page: green before the click, blue after it.
	stills := map[string]color.NRGBA{}
	for _, m := range regexp.MustCompile(`<image id="still(\d+)" [^>]*href="data:image/jpeg;base64,([^"]*)"`).FindAllStringSubmatch(page, -1) {
		b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(m[2], "&#43;", "+"))
		if err != nil {
			t.Fatal(err)
		}
		stills[m[1]] = colour(t, b)
	}
	click := regexp.MustCompile(`(?s)<article id="step4".*?</article>`).FindString(page)
	var shown []color.NRGBA
	for _, m := range regexp.MustCompile(`<use href="#still(\d+)"`).FindAllStringSubmatch(click, -1) {
		shown = append(shown, stills[m[1]])
	}
	if len(shown) != 2 || !near(shown[0], "#00ff00") || !near(shown[1], "#0000ff") {
		t.Errorf("around the click the page is %v, want green and then blue: %s", shown, click)
	}
}

// TestAFullTraceChangesNothing: the list comes to the same.
func TestAFullTraceChangesNothing(t *testing.T) {
	t.Parallel()
	url := evidenceSite(t)
	const list = `"actions":[{"open":"{{url}}/"},{"find":"#go","options":{"save":"b"}},{"click":"$b"},{"getText":"#h","options":{"save":"t"}},{"fill":["#f","${t} x"]},
		{"loop":{"repeat":3,"do":[{"getValue":"#f","options":{"push":"v"}},{"evaluate":"throw new Error('no')"}]}}]}`
	var k kept
	plain := play(t, newInstance(t), strings.ReplaceAll(`{"config":{"trace":true},`+list, "{{url}}", url), TaskEnv{SaveFile: k.save})
	if plain.Trace != "" || len(k.files) > 0 {
		t.Errorf("trace:true leaves %q", plain.Trace)
	}
	full := play(t, newInstance(t), strings.ReplaceAll(`{"config":{"trace":"full"},`+list, "{{url}}", url), TaskEnv{SaveFile: k.save})
	full.Trace, full.Traffic, plain.Traffic = "", nil, nil
	if a, b := plainOutcome(t, plain), plainOutcome(t, full); a != b {
		t.Errorf("trace true\n%s\nfull\n%s", a, b)
	}
}

// TestLongTracesAreCut where they have become large, and say so.
func TestLongTracesAreCut(t *testing.T) {
	need.All(t)
	t.Parallel()
	url := evidenceSite(t)
	var k kept
	o := play(t, newInstance(t), `{"timeout":300000,"config":{"trace":"full"},"actions":[{"open":"`+url+`/"},{"evaluate":"for(let i=0;i<1500;i++)console.log('line '+i);for(let i=0;i<1200;i++)fetch('/answer?'+i)"},
		{"loop":{"repeat":510,"maxIterations":510,"do":[{"getText":"#h"}]}}]}`, TaskEnv{SaveFile: k.save})
	page := string(k.files[o.Trace])
	for _, want := range []string{"13 more steps are not shown", "501 more are not shown", "more are not shown"} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is not in the trace (%d bytes)", want, len(page))
		}
	}
	if len(page) > 16<<20 || strings.Count(page, "<article") != maxRecordedSteps {
		t.Errorf("%d bytes, %d steps", len(page), strings.Count(page, "<article"))
	}
}
