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
	v := View{Width: 320, Height: 240, Quality: 60, Every: 20 * time.Millisecond}
	first := WatchableOf(wrapped{wrapped{in}}).Watch(ctx, v)
	play(t, in, `{"actions":[{"open":"`+srv.URL+`/red"}]}`, Stage{})
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
	second := in.Watch(ctx, v)
	play(t, in, `{"actions":[{"open":"`+srv.URL+`/blue"},{"wait":300}]}`, Stage{})
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
	if WatchableOf(struct{ Instance }{in}) != nil {
		t.Error("one that does not say what it stands before can be watched")
	}
}
