package browser_test

import (
	"net/url"
	"testing"
)

// TestStateOfAddressesThatGoDoesNotRead: browsers leave a percent sign alone that
// escapes nothing, in a path and behind a #.
func TestStateOfAddressesThatGoDoesNotRead(t *testing.T) {
	t.Parallel()
	ctx, c := newContext(t)
	site := serve(t, map[string]string{"/found": "<p id=here>found"})
	tab, err := c.Tab(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range []string{site + "/%zz", site + "/found#100%"} {
		if _, err := url.Parse(address); err == nil {
			t.Fatalf("Go reads %s: the test shows nothing", address)
		}
	}
	goTo(t, ctx, tab, site+"/%zz")
	if _, err := tab.Script.Evaluate(ctx, "localStorage.setItem('left','behind')", nil, false); err != nil {
		t.Fatal(err)
	}
	goTo(t, ctx, tab, serve(t, map[string]string{"/": "another site"}))
	if _, err := tab.Script.Call(ctx, "load", map[string]any{"ms": 10_000}); err != nil {
		t.Fatal(err)
	}
	s, err := c.Snapshots.Save(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if got := s.Local[site]; len(got) != 1 || got[0] != [2]string{"left", "behind"} {
		t.Errorf("of a site that was left, %v was saved", s.Local)
	}

	goTo(t, ctx, tab, site+"/found#100%")
	if s, err = c.Snapshots.Save(ctx); err != nil {
		t.Fatal(err)
	}
	ctx, c = newContext(t)
	if err := c.Snapshots.Reopen(ctx, s.Tabs); err != nil {
		t.Fatal(err)
	}
	if tab, err = c.Tab(ctx); err != nil {
		t.Fatal(err)
	}
	if at, err := tab.Navigation.Address(ctx); err != nil || at != site+"/found#100%" {
		t.Errorf("the tab is at %s, %v", at, err)
	}
}
