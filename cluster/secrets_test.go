package cluster_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"troupe/cluster/member"
	"troupe/testkit/need"
)

// secretFile writes secrets as nodes read them.
func secretFile(t *testing.T, path string, lines ...string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// changed reads the file of a node again and takes it over.
func changed(t *testing.T, m *member.Member) *member.SecretsChange {
	t.Helper()
	c, err := m.ReadSecrets()
	if err == nil {
		err = c.Use()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestADroppedSecretEndsConnections: who came in with a secret is out when it is dropped,
// and the nodes that have the new one are together, and lose nothing that is stored.
func TestADroppedSecretEndsConnections(t *testing.T) {
	need.Time(t)
	t.Parallel()
	old, next := string(secret), otherSecret
	cfgs := configs(t, 3)
	for i := range cfgs {
		cfgs[i].Secret, cfgs[i].SecretFile = nil, secretFile(t, filepath.Join(t.TempDir(), "secret"), old)
	}
	all := []*member.Member{join(t, cfgs[0]), join(t, cfgs[1]), join(t, cfgs[2])}
	ready(t, all...)
	for _, m := range all {
		soon(t, m.Name()+" sees the others", func() bool { return len(m.Peers()) == 2 })
	}
	before, err := all[0].Keys("seal")
	if err != nil {
		t.Fatal(err)
	}

	// The third one stays with the old secret, as an intruder would.
	for _, lines := range [][]string{{old, next}, {next, old}, {next}} {
		for i, m := range all[:2] {
			secretFile(t, cfgs[i].SecretFile, lines...)
			c := changed(t, m)
			if len(c.Names()) != len(lines) {
				t.Errorf("with %d lines there are the secrets %v", len(lines), c.Names())
			}
			if len(m.Peers()) != 2 && len(lines) > 1 {
				t.Errorf("%s has lost a connection: %v", m.Name(), m.Peers())
			}
			keys, err := c.Keys("seal")
			if err != nil || !slices.ContainsFunc(keys, func(k []byte) bool { return bytes.Equal(k, before[0]) }) {
				t.Errorf("while it changes the old key is not there: %v", err)
			}
			if len(lines) == 1 {
				if err := c.Reconnect(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	soon(t, "the two are together, without the third", func() bool {
		return slices.Equal(all[0].Peers(), []string{"n2"}) && slices.Equal(all[1].Peers(), []string{"n1"})
	})
	soon(t, "they can write", func() bool { return all[0].Health().Ready && all[1].Health().Ready })
	lonely(t, all[2], all[:2])
	after, err := all[0].Keys("seal")
	if err != nil || len(after) != 1 || bytes.Equal(after[0], before[0]) {
		t.Errorf("%d keys, the same: %v, %v", len(after), bytes.Equal(after[0], before[0]), err)
	}
	all[2].Close()
	secretFile(t, cfgs[2].SecretFile, next)
	ready(t, join(t, cfgs[2]))
}

// TestTryTellsOfAWrongOrder: a change that would part a node from the others is refused
// by them, and changes nothing.
func TestTryTellsOfAWrongOrder(t *testing.T) {
	need.Time(t)
	t.Parallel()
	for operators, name := range map[bool]string{false: "by the secret alone", true: "with an operator's certificates"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			old, next := string(secret), otherSecret
			ca, cfgs := newAuthority(t), configs(t, 3)
			for i := range cfgs {
				cfgs[i].Secret, cfgs[i].SecretFile = nil, secretFile(t, filepath.Join(t.TempDir(), "secret"), old)
				if operators {
					cfgs[i].CertFile, cfgs[i].KeyFile, cfgs[i].CAFile = ca.files(t, both...)
				}
			}
			all := allButOne(t, cfgs)
			m := all[0]
			now := m.SecretsNow()
			try := func(want string, lines ...string) {
				t.Helper()
				secretFile(t, cfgs[0].SecretFile, lines...)
				c, err := m.ReadSecrets()
				if err != nil {
					t.Fatal(err)
				}
				began := time.Now()
				silent, err := c.Try(t.Context())
				if want != "" && (err == nil || !strings.Contains(err.Error(), want)) || want == "" && err != nil {
					t.Errorf("%d lines: %v, want %q", len(lines), err, want)
				}
				if !slices.Equal(silent, []string{cfgs[2].Listen}) {
					t.Errorf("silent are %v", silent)
				}
				if want != "" && !slices.Equal(m.SecretsNow(), now) {
					t.Errorf("a change that was refused has left %v, before it were %v", m.SecretsNow(), now)
				}
				t.Logf("%q after %v", want, time.Since(began).Round(time.Millisecond))
			}
			try("does not accept the secret in the first line", next, old)
			try("its own secret is not in the file", next)
			try("", old, next)
			if slices.Contains(all[1].SecretsNow(), now[0]) != true || len(all[1].SecretsNow()) != 1 {
				t.Errorf("the other node has %v", all[1].SecretsNow())
			}
		})
	}
}

func TestSecretsOfAFile(t *testing.T) {
	t.Parallel()
	cfg := member.Config{
		Name: "n1", Listen: "127.0.0.1:7222", Peers: []string{"127.0.0.1:7222", "127.0.0.1:7223", "127.0.0.1:7224"}, Dir: t.TempDir(),
	}
	for text, want := range map[string]string{
		string(secret):                                "",
		"\n" + string(secret) + "\r\n\n":              "",
		string(secret) + "\n" + otherSecret:           "",
		string(secret) + "\nshort":                    "line 2 of the nodes' secrets must be 32 random characters",
		"short\n" + string(secret):                    "line 1 of the nodes' secrets must be 32 random characters",
		string(secret) + "\n" + string(secret) + "\n": "line 2 of the nodes' secrets is there twice",
		"\n\n":               "the nodes' secret must be 32 random characters",
		manySecrets(9):       "at most 8",
		manySecrets(8) + " ": "",
	} {
		cfg.Secret = []byte(text)
		err := cfg.Check()
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func manySecrets(n int) string {
	var all []string
	for i := range n {
		all = append(all, string(secret)+string(rune('a'+i)))
	}
	return strings.Join(all, "\n")
}
