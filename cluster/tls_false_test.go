package cluster_test

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"troupe/cluster/member"
)

// falseNode listens where a node was that is gone, and keeps what those that dial
// it say.
type falseNode struct {
	mu     sync.Mutex
	dialed int
	shown  int    // certificates of nodes that it was shown
	heard  []byte // within TLS, or where it speaks none
}

func (f *falseNode) serve(t *testing.T, address string, cfg *tls.Config) {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	var goes sync.WaitGroup
	t.Cleanup(func() { l.Close(); goes.Wait() })
	goes.Go(func() {
		for {
			raw, err := l.Accept()
			if err != nil {
				return
			}
			goes.Go(func() { f.meet(raw, cfg) })
		}
	})
}

func (f *falseNode) meet(raw net.Conn, cfg *tls.Config) {
	defer raw.Close()
	raw.SetDeadline(time.Now().Add(2 * time.Second))
	conn, let, shown := raw, false, 0
	if cfg != nil {
		secure := tls.Server(raw, cfg)
		let = secure.Handshake() == nil
		shown = len(secure.ConnectionState().PeerCertificates)
		conn = secure
	}
	var heard []byte
	if cfg == nil || let {
		_, _ = io.WriteString(conn, info)
		heard, _ = io.ReadAll(conn)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.dialed, f.shown, f.heard = f.dialed+1, f.shown+shown, append(f.heard, heard...)
}

func (f *falseNode) dials() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.dialed
}

// info is what an engine says first.
const info = `INFO {"server_id":"FALSE","server_name":"n3","version":"2.15.2","headers":true,"max_payload":16777216,"cluster":"troupe"}` + "\r\n"

// TestAFalseNodeLearnsNothing: who has taken the address of a node that is gone is
// dialled by the others, and told nothing by them: no certificate, no password, no
// message.
func TestAFalseNodeLearnsNothing(t *testing.T) {
	t.Parallel()
	own := func(t *testing.T, secret string) *tls.Config { // what a node with another secret shows
		t.Helper()
		cfg, err := (member.Config{Secret: []byte(secret)}).TLS()
		if err != nil {
			t.Fatal(err)
		}
		cfg.ClientAuth, cfg.VerifyConnection = tls.RequestClientCert, nil
		return cfg
	}
	of := func(t *testing.T, a *authority) *tls.Config {
		t.Helper()
		cert, err := tls.LoadX509KeyPair(first2(a.files(t, both...)))
		if err != nil {
			t.Fatal(err)
		}
		return &tls.Config{Certificates: []tls.Certificate{cert}, ClientAuth: tls.RequestClientCert}
	}
	for operators, cases := range map[bool]map[string]func(*testing.T, *authority) *tls.Config{
		false: {
			"which speaks no TLS":                 func(*testing.T, *authority) *tls.Config { return nil },
			"with a certificate that it has made": func(t *testing.T, _ *authority) *tls.Config { return of(t, newAuthority(t)) },
			"with one by another secret":          func(t *testing.T, _ *authority) *tls.Config { return own(t, otherSecret) },
		},
		true: {
			"with another operator's certificate": func(t *testing.T, _ *authority) *tls.Config { return of(t, newAuthority(t)) },
			"with the operator's, and no secret":  of,
		},
	} {
		t.Run(map[bool]string{false: "by the secret alone", true: "with an operator's certificates"}[operators], func(t *testing.T) {
			t.Parallel()
			ca, cfgs := newAuthority(t), configs(t, 3)
			for i := range cfgs {
				if operators {
					cfgs[i].CertFile, cfgs[i].KeyFile, cfgs[i].CAFile = ca.files(t, both...)
				}
			}
			all := allButOne(t, cfgs)
			dialled := func(t *testing.T, f *falseNode, cfg *tls.Config) {
				t.Helper()
				f.serve(t, cfgs[2].Listen, cfg)
				soon(t, "the others have dialled it, more than once", func() bool {
					for _, m := range all {
						if err := m.Conn().Publish("private", []byte("a message between nodes")); err != nil {
							t.Fatal(err)
						}
					}
					return f.dials() >= 4
				})
			}
			for name, shows := range cases {
				t.Run(name, func(t *testing.T) {
					var f falseNode
					cfg := shows(t, ca)
					dialled(t, &f, cfg)
					f.mu.Lock()
					defer f.mu.Unlock()
					if f.shown > 0 {
						t.Errorf("it was shown %d certificates", f.shown)
					}
					if cfg != nil && len(f.heard) > 0 {
						t.Errorf("within TLS it has heard %q", f.heard)
					}
					// Without TLS it sees how a handshake begins, which has no secret.
					if bytes.Contains(f.heard, []byte("CONNECT")) || bytes.Contains(f.heard, []byte("private")) {
						t.Errorf("it has heard %q", f.heard)
					}
					for _, m := range all {
						if len(m.Peers()) != 1 {
							t.Errorf("%s is connected to %v", m.Name(), m.Peers())
						}
					}
				})
			}
			if operators {
				return
			}
			t.Run("which knows the secret is told", func(t *testing.T) { // or the others have shown nothing
				var f falseNode
				dialled(t, &f, own(t, string(secret)))
				f.mu.Lock()
				defer f.mu.Unlock()
				if f.shown == 0 || !bytes.Contains(f.heard, []byte("CONNECT")) {
					t.Errorf("it was shown %d certificates, and has heard %q", f.shown, f.heard)
				}
			})
		})
	}
}
