package store

import (
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestSubjects(t *testing.T) {
	t.Parallel()
	for key, want := range map[string]string{
		"account/bob":      "store.account.bob",
		"account/bob.x":    "store.account.bob=2ex",
		"a//":              "store.a.=.=",
		"/":                "store.=.=",
		"*/>":              "store.=2a.=3e",
		"a b\x00\xff=":     "store.a=20b=00=ff=3d",
		"usage/x/2026-1-2": "store.usage.x.2026-1-2",
	} {
		if got := RecordSubject(key); got != want {
			t.Errorf("subjectOf(%q) = %q, want %q", key, got, want)
		}
	}
	for _, s := range []string{"", "beat.n1", "store.a=2", "store.a=zz", "other.a"} {
		if key, err := keyOf(s); err == nil {
			t.Errorf("keyOf(%q) = %q", s, key)
		}
	}
}

// Every key has a subject of its own, of signs that a subject may have.
func TestEveryKeyHasASubject(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := string(rapid.SliceOfN(rapid.SampledFrom([]byte("ab/.*>= \x00\xff-_Z9")), 1, 40).Draw(t, "key"))
		subject := RecordSubject(key)
		if back, err := keyOf(subject); err != nil || back != key {
			t.Fatalf("%q → %q → %q, %v", key, subject, back, err)
		}
		if strings.Contains(subject, "..") || strings.HasSuffix(subject, ".") || regexp.MustCompile(`[^a-zA-Z0-9_=.-]`).MatchString(subject) {
			t.Fatalf("%q → %q, which is no subject", key, subject)
		}
	})
}
