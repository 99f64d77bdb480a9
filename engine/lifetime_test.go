package engine

import "testing"

// A session's data cache is there for its next task; elements never are.
func TestDataOutlivesATaskWithItsSessionAndElementsDoNot(t *testing.T) {
	t.Parallel()
	s := script{pages: map[string][]byte{"/index.html": []byte(`<!doctype html><p id=p>text</p>`)}}
	base, _ := s.server(t)
	in := newInstance(t)
	first := `{"actions":[{"open":"` + base + `/index.html"},{"getText":"#p","options":{"save":"k"}},{"find":"#p","options":{"save":"el"}},{"getText":"$el"}]}`
	second := `{"actions":[{"getText":"$el","options":{"timeout":100}},{"getSavedData":"k"}]}`

	cache := NewCache()
	if o := play(t, in, first, TaskEnv{Cache: cache}); string(o.Data) != `"text"` {
		t.Fatalf("the first task gives %s, %v", o.Data, o.Failures)
	}
	o := play(t, in, second, TaskEnv{Cache: cache})
	if string(o.Data) != `{"k":"text"}` {
		t.Errorf("with the session's cache the next task sees %s", o.Data)
	}
	if len(o.Failures) != 1 || o.Failures[0].Code != CodeElementGone {
		t.Errorf("the element of an earlier task is still known: %v", o.Failures)
	}
	if o := play(t, in, second, TaskEnv{}); string(o.Data) != `{"k":null}` {
		t.Errorf("without a session the next task sees %s", o.Data)
	}
}
