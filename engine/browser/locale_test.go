package browser

import (
	"slices"
	"testing"
)

// TestLocale: whatever locale the service has, its browsers have the language of it and
// take file names as UTF-8.
func TestLocale(t *testing.T) {
	for _, c := range []struct {
		lang, all string
		want      []string
	}{
		{"", "", []string{"LC_CTYPE=C.UTF-8"}},
		{"", "C", []string{"LANG=C", "LC_CTYPE=C.UTF-8"}},
		{"de_DE.UTF-8", "", []string{"LANG=de_DE.UTF-8", "LC_CTYPE=C.UTF-8"}},
		{"de_DE.UTF-8", "POSIX", []string{"LANG=POSIX", "LC_CTYPE=C.UTF-8"}},
	} {
		if got := locale(c.lang, c.all); !slices.Equal(got, c.want) {
			t.Errorf("LANG=%q LC_ALL=%q: got %q, want %q", c.lang, c.all, got, c.want)
		}
	}
}
