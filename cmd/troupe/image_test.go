package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/alecthomas/kong"
)

// served parses flags of the service.
func served(t *testing.T, variables map[string]string, args ...string) *serveCommand {
	t.Helper()
	for name, value := range variables {
		t.Setenv(name, value)
	}
	var c commands
	parser, err := kong.New(&c, kong.DefaultEnvars(envPrefix), kong.Bind(&environment{}))
	if err == nil {
		_, err = parser.Parse(append([]string{"serve"}, args...))
	}
	if err == nil {
		err = c.Serve.check()
	}
	if err != nil {
		t.Fatal(err)
	}
	return &c.Serve
}

// TestWhatTheImageAllows: with the image's own variables the service starts and is reached, and
// where Docker's profile stops the sandbox it does without. In a cluster it never does.
func TestWhatTheImageAllows(t *testing.T) {
	image := variables(t, "../../deploy/container/Containerfile", `\b(TROUPE_\w+)=(\S+)`)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("0123456789abcdef0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	cluster := []string{"--node", "n1", "--cluster-listen", "127.0.0.1:7222", "--cluster-peers", "127.0.0.1:7222,127.0.0.2:7222,127.0.0.3:7222", "--cluster-secret-file", secret}
	for _, c := range []struct {
		name              string
		image             bool
		args              []string
		without, readable bool
	}{
		{"on this machine", false, nil, true, false},
		{"beyond it", false, []string{"--listen", "0.0.0.0:8080", "--insecure-listen"}, false, true},
		{"beyond it, with TLS", false, []string{"--listen", "0.0.0.0:8080", "--tls-cert", "c", "--tls-key", "k"}, false, false},
		{"the image", true, nil, true, true},
		{"the image behind a proxy", true, []string{"--trusted-proxy", "10.0.0.0/8"}, true, false},
		{"the image with its sandbox", true, []string{"--sandbox-fallback=false"}, false, true},
		{"the image as a node of a cluster", true, cluster, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			set := image
			if !c.image {
				set = nil
			}
			s := served(t, set, c.args...)
			if got := s.withoutSandbox() != ""; got != c.without {
				t.Errorf("it may do without the sandbox: %v, want %v", got, c.without)
			}
			if got := s.Listening.readable() != ""; got != c.readable {
				t.Errorf("it warns of what can be read: %v, want %v", got, c.readable)
			}
		})
	}
}
