package browser_test

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/jpeg"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"troupe/engine/browser"
	"troupe/testkit/need"
)

var small = browser.Cast{Width: 320, Height: 240, Quality: 60, Every: 50 * time.Millisecond}

// tint says which colour a picture has in its middle.
func tint(t *testing.T, picture []byte) string {
	t.Helper()
	img, err := jpeg.Decode(bytes.NewReader(picture))
	if err != nil {
		t.Fatalf("a picture is no JPEG: %v", err)
	}
	if size := img.Bounds().Size(); size.X > small.Width || size.Y > small.Height || size.X < 100 {
		t.Fatalf("a picture has %v pixels", size)
	}
	return tintOf(img)
}

func tintOf(img image.Image) string {
	size := img.Bounds().Size()
	r, g, b, _ := img.At(size.X/2, size.Y/2).RGBA()
	for name, is := range map[string]bool{"red": r > 50000 && g < 10000 && b < 10000, "green": g > 30000 && r < 10000 && b < 10000, "blue": b > 50000 && r < 10000 && g < 10000, "white": min(r, g, b) > 60000} {
		if is {
			return name
		}
	}
	return fmt.Sprintf("%d %d %d", r>>8, g>>8, b>>8)
}

// sees waits until the picture has a colour.
func sees(t *testing.T, shown <-chan []byte, want string) {
	t.Helper()
	last := "nothing"
	for end := time.After(10 * time.Second); ; {
		select {
		case p, ok := <-shown:
			if !ok {
				t.Fatalf("the screencast has ended: it showed %s, want %s", last, want)
			}
			if last = tint(t, p); last == want {
				return
			}
		case <-end:
			t.Fatalf("it shows %s, want %s", last, want)
		}
	}
}

// colours serves a page of the colour that its path names.
func colours(t *testing.T) string {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<body style='background:%s'>", r.URL.Path[1:])
	}))
	t.Cleanup(srv.Close)
	return srv.URL + "/"
}

func goTo(t *testing.T, ctx context.Context, tab *browser.Tab, url string) {
	t.Helper()
	if err := tab.Navigation.Open(ctx, url); err != nil {
		t.Fatal(err)
	}
}

// TestScreencastFollowsTheCurrentTab: it shows what is there before anything
// changes, what a page becomes, a tab that opens, and the one before when that
// has closed; and it ends with its context.
func TestScreencastFollowsTheCurrentTab(t *testing.T) {
	need.Browser(t)
	t.Parallel()
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	c, err := shared.NewContext(ctx, "") // which the test closes itself
	if err != nil {
		t.Fatal(err)
	}
	site := colours(t)
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	goTo(t, ctx, tab, site+"red")
	watching, lookAway := context.WithCancel(ctx)
	shown := c.Screencast(watching, small)
	sees(t, shown, "red") // and nothing changes
	goTo(t, ctx, tab, site+"blue")
	sees(t, shown, "blue")
	other, err := c.NewTab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	goTo(t, ctx, other, site+"lime")
	sees(t, shown, "green")
	c.CloseOthers(ctx, tab)
	sees(t, shown, "blue")

	// Another one begins when the first has ended, and shows the same page.
	lookAway()
	shown = c.Screencast(ctx, small)
	sees(t, shown, "blue")
	if err := c.Close(ctx); err != nil {
		t.Fatal(err)
	}
	for end := time.After(5 * time.Second); ; {
		select {
		case _, ok := <-shown:
			if !ok {
				return
			}
		case <-end:
			t.Fatal("it goes on without its context")
		}
	}
}

// TestSlowWatchersHoldNothingUp: pictures that nobody takes do not stop the page,
// and who looks again sees what is there now. Between two pictures is the time
// that was asked for.
func TestSlowWatchersHoldNothingUp(t *testing.T) {
	t.Parallel()
	ctx, c := newContext(t)
	site := colours(t)
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	shown := c.Screencast(ctx, small)
	goTo(t, ctx, tab, site+"red")
	for i := range 20 {
		goTo(t, ctx, tab, site+[]string{"red", "lime"}[i%2])
	}
	goTo(t, ctx, tab, site+"blue")
	sees(t, shown, "blue")

	if _, err := tab.Script.Evaluate(ctx, `setInterval(() => document.body.style.background = Math.random() < .5 ? "red" : "blue", 5); return 1`, nil, false); err != nil {
		t.Fatal(err)
	}
	n, began := 0, time.Now()
	for end := time.After(time.Second); ; n++ {
		select {
		case <-shown:
			continue
		case <-end:
		}
		break
	}
	if most := int(time.Since(began)/small.Every) + 2; n < 3 || n > most {
		t.Errorf("%d pictures in %v, want 3 to %d", n, time.Since(began), most)
	}
}
