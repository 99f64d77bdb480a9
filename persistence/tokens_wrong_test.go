package persistence_test

import (
	"errors"
	"fmt"
	"testing"

	"troupe/persistence"
)

// BenchmarkWrongToken is what the look-up of a token that nobody has costs, on a store on
// the disk that has some.
func BenchmarkWrongToken(b *testing.B) {
	s, err := persistence.OpenBadger(b.TempDir(), persistence.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	accounts := persistence.NewAccounts(s)
	a, err := accounts.Create(b.Context(), "ada", "free")
	if err != nil {
		b.Fatal(err)
	}
	var one string
	for range 100 {
		if one, _, err = accounts.CreateToken(b.Context(), a.ID, persistence.Issuer{}); err != nil {
			b.Fatal(err)
		}
	}
	n := 0
	for b.Loop() {
		n++
		wrong := fmt.Sprintf("%s%09d", one[:len(one)-9], n)
		if _, err := accounts.Lookup(b.Context(), wrong); !errors.Is(err, persistence.ErrNotFound) {
			b.Fatal(err)
		}
	}
}
