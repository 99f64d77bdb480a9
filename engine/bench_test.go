package engine

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// BenchmarkPlay runs common lists straight on the engine, without the service
// around it.
func BenchmarkPlay(b *testing.B) {
	var cards strings.Builder
	for i := range 100 {
		fmt.Fprintf(&cards, `<div class=card><h3>Product %d</h3><p class=price>%d</p><a href="/p/%d">x</a></div>`, i, i, i)
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/cards":
			fmt.Fprint(w, cards.String())
		case "/json":
			fmt.Fprint(w, `{}`)
		default:
			fmt.Fprint(w, `<h1 id=h>Hello</h1><input id=user><input id=pass><button id=go onclick="fetch('/json').then(()=>{const p=document.createElement('p');p.className='in';p.textContent='in';document.body.append(p)})">go</button>`)
		}
	}))
	defer srv.Close()
	u := srv.URL
	evals := strings.TrimSuffix(strings.Repeat(`{"evaluate":"return 1"},`, 20), ",")
	for _, c := range []struct{ name, list string }{
		{"text", `{"open":"` + u + `/"},{"getText":"#h"}`},
		{"cards", `{"open":"` + u + `/cards"},{"extractAll":[".card",{"t":"h3","p":".price","l":["a","href"]}]}`},
		{"login", `{"open":"` + u + `/"},{"fill":["#user","alice"]},{"fill":["#pass","secret1234"]},{"click":"#go"},{"waitForElement":".in"},{"getText":".in"}`},
		{"picture", `{"open":"` + u + `/"},{"screenshot":"viewport"}`},
		{"evaluate", `{"open":"` + u + `/"},` + evals},
		{"loop", `{"open":"` + u + `/cards"},{"loop":{"each":".card","do":[{"getText":"$this h3","options":{"push":"t"}},{"getText":"$this .price","options":{"push":"p"}},{"getAttribute":["$this a","href"],"options":{"push":"l"}}]}}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := newInstance(b)
			task, err := Parse([]byte(`{"actions":[`+c.list+`]}`), nil)
			if err != nil {
				b.Fatal(err)
			}
			k := &kept{}
			for b.Loop() {
				if o := in.Play(context.Background(), task, TaskEnv{SaveFile: k.save}); o.End != EndCompleted || len(o.Failures) > 0 {
					b.Fatal(o.Failures)
				}
			}
		})
	}
}
