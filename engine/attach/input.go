package attach

import (
	"github.com/go-json-experiment/json"
)

// heldInput is what a client holds down in a page: it is let go when the client leaves.
type heldInput struct {
	buttons map[string]mouse
	keys    map[string]key
}

type mouse struct {
	X float64 `json:"x"`
	Y float64 `json:"y"`
}

type key struct {
	Key     string `json:"key,omitzero"`
	Code    string `json:"code,omitzero"`
	Virtual int64  `json:"windowsVirtualKeyCode,omitzero"`
}

// maxHeld is how many keys and buttons are remembered of a page: there are no more.
const maxHeld = 128

// remembersInput takes in what goes down and up.
func remembersInput(r *relay, c *command) error {
	var e struct {
		Type   string `json:"type"`
		Button string `json:"button"`
		mouse  `json:",inline"`
		key    `json:",inline"`
	}
	if len(c.Params) == 0 || json.Unmarshal(c.Params, &e, lenient) != nil {
		return nil // the browser says what is wrong
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	h := &c.session.held
	if h.buttons == nil {
		h.buttons, h.keys = map[string]mouse{}, map[string]key{}
	}
	switch name := e.Code + "/" + e.Key; e.Type {
	case "mousePressed":
		if e.Button != "" && e.Button != "none" && len(h.buttons) < maxHeld {
			h.buttons[e.Button] = e.mouse
		}
	case "mouseMoved":
		for b := range h.buttons {
			h.buttons[b] = e.mouse
		}
	case "mouseReleased":
		delete(h.buttons, e.Button)
	case "keyDown", "rawKeyDown":
		if len(h.keys) < maxHeld {
			h.keys[name] = e.key
		}
	case "keyUp":
		for k, held := range h.keys {
			if held.Code == e.Code {
				delete(h.keys, k)
			}
		}
	}
	return nil
}

// letGo releases what is held in all pages.
func (r *relay) letGo() {
	type event struct {
		session, method string
		params          any
	}
	var all []event
	r.mu.Lock()
	for id, s := range r.sessions {
		for b, at := range s.held.buttons {
			all = append(all, event{id, "Input.dispatchMouseEvent", map[string]any{"type": "mouseReleased", "button": b, "x": at.X, "y": at.Y, "clickCount": 0}})
		}
		for _, k := range s.held.keys {
			all = append(all, event{id, "Input.dispatchKeyEvent", map[string]any{"type": "keyUp", "key": k.Key, "code": k.Code, "windowsVirtualKeyCode": k.Virtual}})
		}
		s.held = heldInput{}
	}
	r.mu.Unlock()
	for _, e := range all {
		if b, err := json.Marshal(e.params); err == nil {
			r.browser.Send(e.session, e.method, b, func(Answer) {})
		}
	}
}
