package engine

import (
	"encoding/json"
	"maps"
	"slices"
	"sync"

	"troupe/engine/lang"
)

// Cache is the data cache: `save` and `push` write to it and ${key} reads it. It
// lives as long as the task, or as long as the task's session. A Cache is safe for
// concurrent use.
type Cache struct {
	mu     sync.Mutex
	values map[string]json.RawMessage
	lists  map[string][]json.RawMessage // keys that grow by push
	sizes  map[string]int               // what each key counts
	size   int                          // all of them

	coming map[string][]*capture // responses that are to be kept under a key, first the one that is saved

	around   int    // bytes of the caches around a flow's own: they share the limit
	elements string // what the page puts in front of the keys of saved elements
}

// valueSize is what a value counts besides its bytes.
const valueSize = 64

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{values: map[string]json.RawMessage{}, lists: map[string][]json.RawMessage{}, sizes: map[string]int{}}
}

// newFlowCache returns a cache for a flow that runs while this one waits.
func (c *Cache) newFlowCache(elements string) *Cache {
	c.mu.Lock()
	defer c.mu.Unlock()
	in := NewCache()
	in.elements, in.around = elements, c.around+c.size
	return in
}

// ElementKey is the key under which the page keeps a saved element: those of a flow are
// its own.
func (c *Cache) ElementKey(key string) string { return c.elements + key }

// Get returns the value of a key.
func (c *Cache) Get(key string) (json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if l, ok := c.lists[key]; ok {
		return join(l), true
	}
	v, ok := c.values[key]
	return v, ok
}

// Set keeps a value. It reports false, and changes nothing, where the cache would
// be too large with it.
func (c *Cache) Set(key string, v json.RawMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.put(key, v) {
		return false
	}
	delete(c.coming, key)
	return true
}

// put keeps a value. The caller has the lock.
func (c *Cache) put(key string, v json.RawMessage) bool {
	if !c.take(key, len(key)+len(v)+valueSize-c.sizes[key]) {
		return false
	}
	delete(c.lists, key)
	c.values[key] = v
	return true
}

// expect says that a response is to be kept under the keys of its step. What was saved
// under the key is gone: nobody may take it for the response.
func (c *Cache) expect(r *capture) {
	save, push := r.step.Options.Save, r.step.Options.Push
	if save == "" && push == "" {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.coming == nil {
		c.coming = map[string][]*capture{}
	}
	if save != "" {
		c.take(save, -c.sizes[save])
		delete(c.values, save)
		delete(c.lists, save)
		c.coming[save] = []*capture{r}
	}
	if push != "" {
		c.coming[push] = append(c.coming[push], r)
	}
}

// expected are the responses that a use of a key waits for: of the key, and of the value
// that it looks into.
func (c *Cache) expected(key string) (all []*capture) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.coming) == 0 {
		return nil
	}
	lang.Root(key, func(root string) bool {
		all = append(all, c.coming[root]...)
		return len(all) > 0
	})
	return all
}

// expects are the keys that responses are still to be kept under.
func (c *Cache) expects() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Sorted(maps.Keys(c.coming))
}

// come keeps a response that has come, except where something else was saved under its key
// after it was asked for. It reports whether it was to be appended, and false where the cache
// would be too large with it.
func (c *Cache) come(r *capture, body json.RawMessage) (pushed, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	save, push := c.leaves(r.step.Options.Save, r), c.leaves(r.step.Options.Push, r)
	return push, (!save || c.put(r.step.Options.Save, body)) && (!push || c.push(r.step.Options.Push, body))
}

// leaves takes a response out of those that a key waits for, and reports whether it was there.
func (c *Cache) leaves(key string, r *capture) bool {
	i := slices.Index(c.coming[key], r)
	if i < 0 {
		return false
	}
	if c.coming[key] = slices.Delete(slices.Clone(c.coming[key]), i, i+1); len(c.coming[key]) == 0 {
		delete(c.coming, key)
	}
	return true
}

// expectNothing forgets the responses that have not come.
func (c *Cache) expectNothing() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.coming = nil
}

// take makes a key count so much more, if the cache does not get too large.
func (c *Cache) take(key string, n int) bool {
	if n > 0 && c.around+c.size+n > maxSaved {
		return false
	}
	c.size += n
	c.sizes[key] += n
	return true
}

// Push appends a value to the array of a key. A value that is no array becomes
// the array's first element, so that nothing saved is lost. It reports false, and
// changes nothing, where the cache would be too large with it.
func (c *Cache) Push(key string, v json.RawMessage) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.push(key, v)
}

func (c *Cache) push(key string, v json.RawMessage) bool {
	if !c.take(key, len(v)+valueSize) {
		return false
	}
	l, ok := c.lists[key]
	if !ok {
		if old, had := c.values[key]; had {
			if json.Unmarshal(old, &l) != nil {
				l = []json.RawMessage{old}
			}
			delete(c.values, key)
		}
	}
	c.lists[key] = append(l, v)
	return true
}

// Clear forgets everything.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.values)
	clear(c.lists)
	clear(c.sizes)
	c.coming, c.size = nil, 0
}

// MarshalJSON gives the cache as one object, to be kept with its session.
func (c *Cache) MarshalJSON() ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make(map[string]json.RawMessage, len(c.values)+len(c.lists))
	for k, v := range c.values {
		all[k] = v
	}
	for k, l := range c.lists {
		all[k] = join(l)
	}
	return json.Marshal(all)
}

// UnmarshalJSON is the reverse of MarshalJSON.
func (c *Cache) UnmarshalJSON(b []byte) error {
	values := map[string]json.RawMessage{}
	if err := json.Unmarshal(b, &values); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.values, c.lists, c.sizes, c.size = values, map[string][]json.RawMessage{}, map[string]int{}, 0
	for k, v := range values {
		c.sizes[k] = len(k) + len(v) + valueSize
		c.size += c.sizes[k]
	}
	return nil
}

// join makes one JSON array of the values.
func join(l []json.RawMessage) json.RawMessage {
	b := make([]byte, 0, joined(l))
	b = append(b, '[')
	for i, v := range l {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
