package engine

import (
	"bytes"
	"context"
	"fmt"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// wrapped stands before another instance.
type wrapped struct{ Instance }

func (w wrapped) Unwrap() Instance { return w.Instance }

// TestWatchEndsWithTheTask: a watcher sees the task that plays, and nothing of
// the next one.
func TestWatchEndsWithTheTask(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	counted(t)
	c, err := shared.browser.NewContext(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	in := &instance{engine: &Chromium{}, browser: shared.browser, tabs: c}
	defer func() {
		if err := in.context().Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<body style='background:%s'>", r.URL.Path[1:])
	}))
	defer srv.Close()
	isRed := func(picture []byte) bool {
		img, err := jpeg.Decode(bytes.NewReader(picture))
		if err != nil {
			t.Fatal(err)
		}
		if size := img.Bounds().Size(); size.X != 320 || size.Y > 240 {
			t.Errorf("a picture has %v pixels", size)
		}
		r, g, b, _ := img.At(100, 100).RGBA()
		return r > 50000 && g < 10000 && b < 10000
	}
	v := ScreencastOptions{Width: 320, Height: 240, Quality: 60, Every: 20 * time.Millisecond}
	first := ScreencasterOf(wrapped{wrapped{in}}).Screencast(ctx, v)
	play(t, in, `{"actions":[{"open":"`+srv.URL+`/red"}]}`, TaskEnv{})
	for picture := range first {
		if isRed(picture) {
			break
		}
	}
	if err := in.Reset(ctx); err != nil {
		t.Fatal(err)
	}
	for range first { // what was on its way; it ends, or ctx does
	}
	if ctx.Err() != nil {
		t.Fatal("a watcher is not told of the end of the task")
	}
	second := in.Screencast(ctx, v)
	play(t, in, `{"actions":[{"open":"`+srv.URL+`/blue"},{"wait":300}]}`, TaskEnv{})
	seen := 0
	for end := time.After(300 * time.Millisecond); ; {
		select {
		case picture := <-second:
			if seen++; isRed(picture) {
				t.Error("the next one sees what the task before has left")
			}
			continue
		case <-end:
		}
		break
	}
	if seen == 0 {
		t.Error("the second watcher sees nothing")
	}
	if ScreencasterOf(struct{ Instance }{in}) != nil {
		t.Error("one that does not say what it stands before can be watched")
	}
}

// TestLittleIsAskedOfWhatCannotBeSeen: a page that paints all the time what
// cannot be seen is looked at ever more rarely, and what can be seen again still
// shows.
func TestLittleIsAskedOfWhatCannotBeSeen(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	in := ownBrowser(t) // its commands are counted
	url := serve(t, `<body style="background:blue"><p id=p>Still.</p><script>
		let i = 0;
		(function paint() { document.getElementById("p").style.outline = "1px solid rgba(0,0,255,0.0" + (++i % 2 + 1) + ")"; requestAnimationFrame(paint) })();
	</script>`)
	play(t, in, `{"actions":[{"open":"`+url+`"}]}`, TaskEnv{})
	shown := in.Screencast(ctx, ScreencastOptions{Width: 320, Height: 240, Quality: 60, Every: 50 * time.Millisecond})
	if len(<-shown) == 0 {
		t.Fatal("it shows nothing")
	}
	before, pictures := in.browser.Sent(), 0
	for end := time.After(1500 * time.Millisecond); ; pictures++ {
		select {
		case <-shown:
			continue
		case <-end:
		}
		break
	}
	// A look is three commands: begin, go on, stop. One each 50 ms and two
	// frames would be eighteen looks, one each 200 ms seven.
	if sent := in.browser.Sent() - before; sent > 33 || pictures > 3 {
		t.Errorf("%d commands were sent and %d pictures came, want 33 and 3 at most", sent, pictures)
	}
	play(t, in, `{"actions":[{"evaluate":"document.body.style.background = 'red'"}]}`, TaskEnv{})
	for {
		select {
		case picture, ok := <-shown:
			if !ok {
				t.Fatal("what can be seen again does not show")
			}
			img, err := jpeg.Decode(bytes.NewReader(picture))
			if err != nil {
				t.Fatal(err)
			}
			if r, _, b, _ := img.At(100, 100).RGBA(); r > 50000 && b < 10000 {
				return
			}
		case <-ctx.Done():
			t.Fatal("what can be seen again does not show")
		}
	}
}

// TestNobodyLooksNothingRuns: a page that moves all the time costs what it did
// before somebody looked when nobody looks any more. A screencast that is left
// on takes several times that, even if nobody fetches its pictures.
func TestNobodyLooksNothingRuns(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	in := ownBrowser(t) // its processor time is measured
	url := serve(t, `<style>@keyframes t{to{transform:rotate(360deg)}} div{width:200px;height:200px;background:teal;animation:t 2s linear infinite}</style><div></div>`)
	play(t, in, `{"actions":[{"open":"`+url+`"},{"wait":500}]}`, TaskEnv{})
	second := func() float64 {
		before := processorTime(in.browser.PID())
		time.Sleep(time.Second)
		return processorTime(in.browser.PID()) - before
	}
	alone := second()
	if alone == 0 {
		t.Skip("the machine does not tell what a browser takes, or the page does not move")
	}
	looking, away := context.WithCancel(ctx)
	shown := in.Screencast(looking, ScreencastOptions{Width: 640, Height: 480, Quality: 60, Every: 20 * time.Millisecond})
	for range 5 {
		if picture := <-shown; len(picture) == 0 {
			t.Fatal("a page that moves shows nothing")
		}
	}
	away()
	for range shown { // what was on its way; it ends
	}
	most := alone*3/2 + .05
	for tries := 1; ; tries++ {
		took := second()
		if took <= most {
			return
		}
		if tries == 6 { // beside other work a second may be dearer, but not each
			t.Fatalf("nobody looks, and the browser takes %.2f s of processor time a second, %.2f before", took, alone)
		}
	}
}
