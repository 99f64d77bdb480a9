package engine

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/ledongthuc/pdf"

	"troupe/testkit/heap"
	"troupe/testkit/need"
)

// printedPage is what an independent reader finds on a page of a PDF; sizes are in inches.
type printedPage struct {
	width, height float64
	text          string
}

func readPDF(t *testing.T, b []byte) (pages []printedPage) {
	t.Helper()
	r, err := pdf.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.NumPage() {
		p := r.Page(i + 1)
		box := p.V.Key("MediaBox")
		var text strings.Builder
		for _, x := range p.Content().Text {
			text.WriteString(x.S)
		}
		pages = append(pages, printedPage{box.Index(2).Float64() / 72, box.Index(3).Float64() / 72, tight(text.String())})
	}
	return pages
}

const printed = `<!doctype html><html lang=en><title>Title</title><style>@media screen{.p{display:none}}body{background:teal}</style><h1>First</h1><p class=p>paper<p style="break-before:page">Second`

// TestPrintedPages: a PDF has the pages, sizes and texts that were asked for, as another
// library reads them.
func TestPrintedPages(t *testing.T) {
	plain, css := serve(t, printed), serve(t, printed+`<style>@page{size:10cm 20cm}</style>`)
	for _, c := range []struct {
		options string
		want    []printedPage
	}{
		{`{}`, []printedPage{{8.27, 11.69, "Firstpaper"}, {8.27, 11.69, "Second"}}},
		{`{"format":"Letter","landscape":true}`, []printedPage{{11, 8.5, "Firstpaper"}, {11, 8.5, "Second"}}},
		{`{"width":"10cm","height":960,"margin":0,"pages":"2"}`, []printedPage{{10 / 2.54, 10, "Second"}}},
		{`{"cssPageSize":true}/css`, []printedPage{{10 / 2.54, 20 / 2.54, "Firstpaper"}, {10 / 2.54, 20 / 2.54, "Second"}}},
		{`{"format":"A5","header":"<i style='font-size:9px'>Head <b class=title></b></i>","footer":"<i style='font-size:9px'><b class=pageNumber></b> of <b class=totalPages></b></i>"}`,
			[]printedPage{{5.83, 8.27, "HeadTitle Firstpaper 1of2"}, {5.83, 8.27, "HeadTitle Second 2of2"}}},
	} {
		t.Run(c.options, func(t *testing.T) {
			t.Parallel()
			k := &kept{}
			options, sized := strings.CutSuffix(c.options, "/css")
			url := map[bool]string{true: css, false: plain}[sized]
			o := play(t, newInstance(t), `{"actions":[{"open":"`+url+`"},{"pdf":`+options+`}]}`, TaskEnv{SaveFile: k.save})
			if len(o.Failures) > 0 || !strings.Contains(string(o.Data), fmt.Sprintf(`"pages":%d,"bytes":%d`, len(c.want), len(k.files[k.last]))) {
				t.Fatalf("%+v %s", o.Failures, o.Data)
			}
			got := readPDF(t, k.files[k.last])
			if len(got) != len(c.want) {
				t.Fatalf("it has %d pages: %+v", len(got), got)
			}
			for i, want := range c.want {
				if math.Abs(got[i].width-want.width) > 0.02 || math.Abs(got[i].height-want.height) > 0.02 {
					t.Errorf("page %d is %.2f × %.2f, want %.2f × %.2f", i+1, got[i].width, got[i].height, want.width, want.height)
				}
				for part := range strings.SplitSeq(want.text, " ") {
					if !strings.Contains(got[i].text, part) {
						t.Errorf("page %d says %q, want %q", i+1, got[i].text, part)
					}
				}
			}
		})
	}
}

// TestPrintedBackground: backgrounds, tags and bookmarks are there as asked for.
func TestPrintedBackground(t *testing.T) {
	url := serve(t, printed)
	size := func(options string) (b []byte) {
		k := &kept{}
		if o := play(t, newInstance(t), `{"actions":[{"open":"`+url+`"},{"pdf":`+options+`}]}`, TaskEnv{SaveFile: k.save}); len(o.Failures) > 0 {
			t.Fatalf("%+v", o.Failures)
		}
		return k.files[k.last]
	}
	has := func(b []byte, key string) bool {
		r, err := pdf.NewReader(bytes.NewReader(b), int64(len(b)))
		if err != nil {
			t.Fatal(err)
		}
		return !r.Trailer().Key("Root").Key(key).IsNull()
	}
	if b := size(`{}`); !has(b, "StructTreeRoot") || has(b, "Outlines") {
		t.Error("as a rule there are tags and no bookmarks")
	}
	if b := size(`{"outline":true}`); !has(b, "Outlines") {
		t.Error("there are no bookmarks")
	}
	if b := size(`{"tagged":false}`); has(b, "StructTreeRoot") {
		t.Error("there are tags")
	}
	if with, without := len(size(`{}`)), len(size(`{"background":false}`)); with <= without {
		t.Errorf("with its background the page has %d bytes, without %d", with, without)
	}
}

// TestLargePDF: two hundred pages with pictures go through the service in pieces, and
// what is beyond the limits is refused.
func TestLargePDF(t *testing.T) {
	need.All(t)
	need.NoRace(t)
	noise := make([]byte, 54+512*512*3)
	rand.Read(noise)
	copy(noise, "BM\x36\x00\x0c\x00\x00\x00\x00\x00\x36\x00\x00\x00\x28\x00\x00\x00\x00\x02\x00\x00\x00\x02\x00\x00\x01\x00\x18\x00\x00\x00\x00\x00\x00\x00\x0c\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00")
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/noise") {
			own := bytes.Clone(noise)
			copy(own[60:], r.URL.Path) // each is another picture
			w.Header().Set("Content-Type", "image/bmp")
			w.Write(own)
			return
		}
		fmt.Fprintf(w, `<!doctype html><script>for (let i = 1; i <= 200; i++) document.write('<h1 style="break-after:page">Page ' + i + '</h1>' + (i %% %s ? '' : '<img src=/noise' + i + '>'))</script>`, r.URL.Query().Get("each"))
	}))
	t.Cleanup(srv.Close)
	in := newInstance(t)
	var whole, sum int64
	save := func(_ context.Context, _ File, r io.Reader) (string, error) {
		n, err := io.Copy(io.Discard, r)
		sum = n
		return "u", err
	}
	most := heap.Growth(func() {
		o := play(t, in, `{"actions":[{"open":"`+srv.URL+`/?each=10"},{"pdf":{}}],"config":{"actionTimeout":60000},"timeout":90000}`, TaskEnv{SaveFile: save})
		if len(o.Failures) > 0 || !strings.Contains(string(o.Data), `"pages":2`) {
			t.Errorf("%+v %s", o.Failures, o.Data)
		}
		whole = sum
	})
	if whole < 10<<20 {
		t.Errorf("it has only %d bytes", whole)
	}
	if most > whole*3/4 { // all of it at once, as text of the protocol, would be 4/3 of it
		t.Errorf("a PDF of %d bytes took %d bytes of the heap", whole, most)
	}
	t.Logf("%d bytes, %d of the heap", whole, most)
	began := time.Now()
	o := play(t, in, `{"actions":[{"open":"`+srv.URL+`/?each=1"},{"pdf":{}},{"getText":"h1"}],"config":{"actionTimeout":60000},"timeout":90000}`, TaskEnv{SaveFile: save})
	if len(o.Failures) != 1 || !strings.Contains(o.Failures[0].Text, "The PDF has more than 64 MiB, which are the limit") || string(o.Data) != `"Page 1"` {
		t.Errorf("%+v %s after %v", o.Failures, o.Data, time.Since(began))
	}
}

// TestPDFsHaveBounds: a task prints so often, and no page more than its limit.
func TestPDFsHaveBounds(t *testing.T) {
	url := serve(t, `<!doctype html><script>for (let i = 1; i <= 1100; i++) document.write('<p style="break-after:page">' + i)</script>`)
	k := &kept{}
	o := play(t, newInstance(t), `{"actions":[{"open":"`+url+`"},{"pdf":{"scale":0.5},"options":{"timeout":60000}},{"evaluate":"document.body.innerHTML = 'x'"},{"while":{"condition":"body","max":20,"do":[{"pdf":{}}]}}],"timeout":120000}`, TaskEnv{SaveFile: k.save})
	if len(o.Failures) != 1 || o.Failures[0].Code != CodeStorageQuota || !strings.Contains(o.Failures[0].Text, "at most 20 PDFs") || len(k.files) != maxPDFs {
		t.Errorf("%+v with %d files", o.Failures, len(k.files))
	}
	if !strings.Contains(fmt.Sprint(o.Warnings), "the first 1000 pages") {
		t.Errorf("%+v", o.Warnings)
	}
}
