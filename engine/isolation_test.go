package engine

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
)

// kinds counts the processes of a browser by what they are: "renderer",
// "gpu-process", "utility:network.mojom.NetworkService" and so on.
func kinds(t *testing.T, pgid int) map[string]int {
	t.Helper()
	found := map[string]int{}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range stats {
		b, err := os.ReadFile(s)
		if err != nil {
			continue
		}
		var state string
		var ppid, pg int
		fmt.Sscan(string(b)[strings.LastIndexByte(string(b), ')')+2:], &state, &ppid, &pg)
		args, err := os.ReadFile(filepath.Dir(s) + "/cmdline")
		if pg != pgid || err != nil {
			continue
		}
		kind, sub := "", ""
		for _, a := range strings.FieldsFunc(string(args), func(r rune) bool { return r == 0 || r == ' ' }) {
			if v, ok := strings.CutPrefix(a, "--type="); ok {
				kind = v
			}
			if v, ok := strings.CutPrefix(a, "--utility-sub-type="); ok {
				sub = ":" + v
			}
		}
		found[kind+sub]++
	}
	return found
}

// TestSitesHaveProcessesOfTheirOwn, and pages of one site share one: what an
// operator chooses for speed does not put two sites together.
func TestSitesHaveProcessesOfTheirOwn(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if frame := r.URL.Query().Get("frame"); frame != "" {
			fmt.Fprintf(w, `<iframe src="http://%s/"></iframe>`, frame)
		} else {
			fmt.Fprint(w, "<p>quiet</p>")
		}
	}))
	t.Cleanup(srv.Close)
	host := strings.TrimPrefix(srv.URL, "http://")
	other := strings.Replace(host, "127.0.0.1", "localhost", 1)
	network := "utility:network.mojom.NetworkService"
	for _, c := range []struct {
		name         string
		o            browser.Options
		gpu, network int
	}{
		{"few processes", browser.Options{}, 0, 0},
		{"many renderers", browser.Options{Renderers: -1}, 0, 0},
		{"a painter apart", browser.Options{ApartGPU: true}, 1, 0},
		{"the network apart", browser.Options{ApartNetwork: true}, 0, 1},
		{"everything apart", browser.Options{Renderers: -1, ApartGPU: true, ApartNetwork: true}, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			newInstance(t) // makes the folder that browsers live in
			c.o.Dir = shared.dir
			ctx, cancel := contextFor(30 * time.Second)
			defer cancel()
			started, err := (&Chromium{Options: c.o, Log: zerolog.Nop()}).Launch(ctx, "test")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(started.Close)
			in := started.(*instance)
			open := func(frame string) map[string]int {
				o := play(t, in, `{"timeout":20000,"actions":[{"open":"`+srv.URL+`/?frame=`+frame+`"},{"screenshot":"viewport"}]}`, TaskEnv{SaveFile: (&kept{}).save})
				if len(o.Failures) > 0 {
					t.Fatal(failuresOf(o))
				}
				return kinds(t, in.browser.PID())
			}
			one := open(host)
			again := open(host)
			if again["renderer"] != one["renderer"] {
				t.Errorf("the number of renderers is not the same twice: %v, %v", one, again)
			}
			if one["gpu-process"] != c.gpu || one[network] != c.network {
				t.Errorf("want %d for painting and %d for the network: %v", c.gpu, c.network, one)
			}
			if two := open(other); two["renderer"] != one["renderer"]+1 {
				t.Errorf("two frames of two sites add %d renderers to %d: %v", two["renderer"]-one["renderer"], one["renderer"], two)
			}
		})
	}
}
