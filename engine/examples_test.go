package engine

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"os"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/engine/egress"
	"troupe/engine/egress/demo"
)

// TestEveryExamplePlays plays the example of each action on the demo shop, over
// the proxy that answers for it, as a reader of the reference would.
func TestEveryExamplePlays(t *testing.T) {
	out, err := egress.Start(egress.Config{Hosts: map[string]http.Handler{demo.Host: demo.Handler()}, Log: zerolog.Nop()})
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	dir, err := os.MkdirTemp("", "troupe-examples")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	in, err := NewChromium(browser.Options{Dir: dir, Log: zerolog.Nop()}, out).Launch(ctx, "w")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	file := dir + "/hello.txt"
	if err := os.WriteFile(file, []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	k := &kept{}
	for name, d := range registry {
		list := fmt.Sprintf(`{"open":"http://%s%s"},%s`, demo.Host, cmp.Or(d.page, "/"), d.example)
		if name == "waitForResponse" { // looks out for what comes after it
			list = fmt.Sprintf(`%s,{"open":"http://%s%s"}`, d.example, demo.Host, d.page)
		}
		task, err := Parse([]byte(`{"actions":[`+list+`]}`), []Upload{{Name: "hello.txt", Path: file, Size: 5}})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if o := in.Play(ctx, task, Stage{SaveFile: k.save}); o.End != EndCompleted || len(o.Failures) > 0 || len(o.Warnings) > 0 {
			t.Errorf("%s ends %s with %v, %v", name, o.End, o.Failures, o.Warnings)
		}
	}
}
