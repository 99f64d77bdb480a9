package main

import (
	"bytes"
	"context"
	"os"
	"strings"
	"sync"
	"testing"

	"troupe/testkit/leaks"
)

func TestMain(m *testing.M) {
	config, err := os.MkdirTemp("", "troupe-config-") // no test knows the contexts of who runs it
	if err == nil {
		err = os.Setenv("XDG_CONFIG_HOME", config)
	}
	if err != nil {
		panic(err)
	}
	look := leaks.Start()
	code := look.End(m.Run())
	_ = os.RemoveAll(config)
	os.Exit(code)
}

// output collects what a command prints, from several goroutines.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// play runs a command line in this process.
func play(t *testing.T, stdin string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs output
	code = run(&environment{context.Background(), strings.NewReader(stdin), &out, &errs}, args)
	return code, out.String(), errs.String()
}

func TestQuote(t *testing.T) {
	for in, want := range map[string]string{
		"": `''`, "a/b-c.d:e": "a/b-c.d:e", "it's": `'it'\''s'`, "$HOME `x`": "'$HOME `x`'", "a b": "'a b'",
	} {
		if got := quote(in); got != want {
			t.Errorf("%q is quoted as %s, want %s", in, got, want)
		}
	}
}
