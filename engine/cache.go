package engine

import (
	"encoding/json"
	"sync"
)

// Cache is the data cache: what `save` and `push` keep and ${key} reads. It
// lives as long as the task, or as long as the session that the task is part
// of. A Cache is safe for use by several goroutines.
type Cache struct {
	mu     sync.Mutex
	values map[string]json.RawMessage
	lists  map[string][]json.RawMessage // keys that grow by push
}

// NewCache returns an empty cache.
func NewCache() *Cache {
	return &Cache{values: map[string]json.RawMessage{}, lists: map[string][]json.RawMessage{}}
}

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

// Set keeps a value.
func (c *Cache) Set(key string, v json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lists, key)
	c.values[key] = v
}

// Push appends a value to the array of a key. A value that is no array becomes
// the array's first element, so that nothing saved is lost.
func (c *Cache) Push(key string, v json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
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
}

// Clear forgets everything.
func (c *Cache) Clear() {
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.values)
	clear(c.lists)
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
	c.values, c.lists = values, map[string][]json.RawMessage{}
	return nil
}

// join makes one JSON array of the values.
func join(l []json.RawMessage) json.RawMessage {
	n := 2
	for _, v := range l {
		n += len(v) + 1
	}
	b := make([]byte, 0, n)
	b = append(b, '[')
	for i, v := range l {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}
