package browser

import (
	"fmt"
	"sort"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp/kb"
)

// Chord is a key with the modifiers that are held while it is pressed.
type Chord struct {
	modifiers []*kb.Key
	mask      int64 // of all modifiers, those in before too
	before    int64 // of modifiers that are held before and after it
	key       *kb.Key
}

// named is every key that has a name of its own, by KeyboardEvent.key.
var named = func() map[string]*kb.Key {
	m := map[string]*kb.Key{}
	runes := make([]rune, 0, len(kb.Keys))
	for r := range kb.Keys {
		runes = append(runes, r)
	}
	// Several runes stand for one key (both line ends for Enter): the lowest
	// is the plain one.
	sort.Slice(runes, func(i, j int) bool { return runes[i] < runes[j] })
	for _, r := range runes {
		if k := kb.Keys[r]; len([]rune(k.Key)) > 1 && m[k.Key] == nil {
			m[k.Key] = k
		}
	}
	return m
}()

// Other names that people use for keys.
var aliases = map[string]string{
	"Ctrl": "Control", "Cmd": "Meta", "Command": "Meta", "Option": "Alt", "Win": "Meta", "Windows": "Meta", "Super": "Meta", "OS": "Meta",
	"Esc": "Escape", "Return": "Enter", "Del": "Delete", "Ins": "Insert", "Space": " ", "Spacebar": " ",
	"Up": "ArrowUp", "Down": "ArrowDown", "Left": "ArrowLeft", "Right": "ArrowRight", "PgUp": "PageUp", "PgDn": "PageDown", "PageDn": "PageDown", "Plus": "+",
}

var modifierMask = map[string]int64{
	"Alt": int64(kb.ModifierAlt), "Control": int64(kb.ModifierCtrl), "Meta": int64(kb.ModifierMeta), "Shift": int64(kb.ModifierShift),
}

// eitherSide are the numbers of modifiers that a keyboard has twice.
var eitherSide = map[string]int64{"Shift": 16, "Control": 17, "Alt": 18}

// ParseChord reads a key or a combination such as "Control+Shift+A". The order
// of the modifiers does not matter, and "+" is a key too: "Shift++". A
// combination of nothing but modifiers presses them all.
func ParseChord(s string) (*Chord, error) {
	if s == "" {
		return nil, fmt.Errorf("want a key such as Enter, a or Control+A")
	}
	c := &Chord{}
	for _, name := range chordNames(s) {
		k, err := keyNamed(name)
		if err != nil {
			return nil, err
		}
		if m, ok := modifierMask[k.Key]; ok {
			if c.mask&m == 0 {
				c.modifiers = append(c.modifiers, k)
				c.mask |= m
			}
			continue
		}
		if c.key != nil {
			return nil, fmt.Errorf("%q has two keys that are no modifiers, %q and %q: press them one after the other", s, c.key.Key, k.Key)
		}
		c.key = k
	}
	if c.key == nil { // Shift alone: its last modifier is the key
		last := len(c.modifiers) - 1
		c.key = c.modifiers[last]
		c.modifiers = c.modifiers[:last]
	}
	return c, nil
}

// Pastes reports whether a browser takes the combination for a command to paste,
// whatever else is held.
func (c *Chord) Pastes() bool {
	switch c.key.Code {
	case "KeyV":
		return c.mask&int64(kb.ModifierCtrl|kb.ModifierMeta) != 0
	case "Insert":
		return c.mask&int64(kb.ModifierShift) != 0
	}
	return c.key.Key == "Paste"
}

// Opens reports whether the combination may open a tab, with a link that has the focus.
func (c *Chord) Opens() bool {
	return c.key.Key == "Enter" && opensTabs(c.mask)
}

// opensTabs reports whether modifiers have a click on a link open a tab.
func opensTabs(mask int64) bool {
	return mask&int64(kb.ModifierCtrl|kb.ModifierMeta|kb.ModifierShift) != 0
}

// chordNames splits at the pluses that are not a key themselves.
func chordNames(s string) []string {
	var names []string
	for s != "" {
		i := strings.IndexByte(s[1:], '+') // the first byte is always part of a name
		if i < 0 {
			return append(names, s)
		}
		names = append(names, s[:i+1])
		s = s[i+2:]
		if s == "" {
			return append(names, "") // "Control+" wants a key
		}
	}
	return names
}

func keyNamed(name string) (*kb.Key, error) {
	if a, ok := aliases[name]; ok {
		name = a
	}
	if k := named[name]; k != nil {
		return k, nil
	}
	if r := []rune(name); len(r) == 1 {
		return keyOf(r[0]), nil
	}
	for n, k := range named { // a name in other letters
		if strings.EqualFold(n, name) {
			return k, nil
		}
	}
	for a, n := range aliases {
		if strings.EqualFold(a, name) {
			return keyNamed(n)
		}
	}
	return nil, UnknownKeyError(name)
}

// UnknownKeyError is the name of a key that no keyboard has.
type UnknownKeyError string

func (e UnknownKeyError) Error() string {
	return fmt.Sprintf("key %q is unknown: want a character or a name of KeyboardEvent.key such as Enter, Tab, ArrowDown or Control+A", string(e))
}

// keyOf is the key that a character is typed with. One that our keyboard lacks
// has a key on somebody's.
func keyOf(r rune) *kb.Key {
	if k := kb.Keys[r]; k != nil {
		return k
	}
	return &kb.Key{Key: string(r), Text: string(r), Unmodified: string(r), Print: true}
}

// KeyNames lists the names that a key can have.
func KeyNames() []string {
	names := make([]string, 0, len(named))
	for n := range named {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}

const (
	keyDown = input.DispatchKeyEventTypeKeyDown
	rawDown = input.DispatchKeyEventTypeRawKeyDown
	keyUp   = input.DispatchKeyEventTypeKeyUp
)

// event is one key going down or up while the modifiers in mask are held.
func event(kind input.DispatchKeyEventType, k *kb.Key, mask int64) input.DispatchKeyEventParams {
	e := input.DispatchKeyEventParams{
		Type: kind, Modifiers: mask, Key: k.Key, Code: k.Code, WindowsVirtualKeyCode: k.Windows, NativeVirtualKeyCode: k.Native,
	}
	if modifierMask[k.Key] != 0 {
		if strings.HasSuffix(k.Code, "Left") {
			e.Location = 1
		}
		// Pages get the number of the key, whichever of the two it is; the table has one for
		// each.
		if code := eitherSide[k.Key]; code != 0 {
			e.WindowsVirtualKeyCode, e.NativeVirtualKeyCode = code, code
		}
	}
	if kind == keyDown {
		e.Text, e.UnmodifiedText = k.Text, k.Unmodified
	}
	return e
}

// ParseModifiers reads modifiers that are held while something else is done, such as
// "Control+Shift".
func ParseModifiers(s string) (*Chord, error) {
	c, err := ParseChord(s)
	if err == nil && modifierMask[c.key.Key] == 0 {
		err = fmt.Errorf("%q is no modifier: want Alt, Control, Meta, Shift or several joined with +", c.key.Key)
	}
	if err != nil {
		return nil, err
	}
	c.modifiers, c.key = append(c.modifiers, c.key), nil
	return c, nil
}

// Mask is the bits of the modifiers, as the protocol has them.
func (c *Chord) Mask() int64 {
	if c == nil {
		return 0
	}
	return c.mask
}

// downs presses the modifiers, the first first.
func (c *Chord) downs() (out []input.DispatchKeyEventParams) {
	if c == nil {
		return nil
	}
	held := c.before
	for _, m := range c.modifiers {
		held |= modifierMask[m.Key]
		out = append(out, event(rawDown, m, held))
	}
	return out
}

// ups releases the modifiers, the last first.
func (c *Chord) ups() (out []input.DispatchKeyEventParams) {
	if c == nil {
		return nil
	}
	for i := len(c.modifiers) - 1; i >= 0; i-- {
		held := c.mask
		for _, m := range c.modifiers[i:] {
			held &^= modifierMask[m.Key]
		}
		out = append(out, event(keyUp, c.modifiers[i], held))
	}
	return out
}

// with is the chord where modifiers are held already, which it then does not press.
func (c *Chord) with(mask int64) *Chord {
	if mask == 0 {
		return c
	}
	all := &Chord{key: c.key, mask: c.mask | mask, before: mask}
	for _, m := range c.modifiers {
		if mask&modifierMask[m.Key] == 0 {
			all.modifiers = append(all.modifiers, m)
		}
	}
	return all
}

// events is the whole chord: modifiers down, the key down and up, modifiers up.
func (c *Chord) events() []input.DispatchKeyEventParams {
	down, up := c.keyEvents()
	return append(append(c.downs(), down, up), c.ups()...)
}

// keyEvents are those of the key itself.
func (c *Chord) keyEvents() (down, up input.DispatchKeyEventParams) {
	held := c.before
	for _, m := range c.modifiers {
		held |= modifierMask[m.Key]
	}
	k := c.key
	if held&int64(kb.ModifierShift) != 0 {
		k = shifted(k)
	} else if held != 0 {
		k = unshifted(k)
	} else if k.Shift && k.Print {
		held |= int64(kb.ModifierShift) // "A" is typed with Shift
	}
	// With Control, Alt or Meta held a key writes nothing.
	kind := keyDown
	if k.Text == "" || c.mask&^int64(kb.ModifierShift) != 0 {
		kind = rawDown
	}
	return event(kind, k, held|ownMask(k)), event(keyUp, k, held&^ownMask(k))
}

// ownMask is the bit of a key that is a modifier itself.
func ownMask(k *kb.Key) int64 { return modifierMask[k.Key] }

// shifted is the key that a letter's or digit's key gives with Shift.
func shifted(k *kb.Key) *kb.Key {
	if !k.Print || k.Shift || k.Code == "" {
		return k
	}
	for _, o := range kb.Keys {
		if o.Code == k.Code && o.Shift && o.Print && len([]rune(o.Key)) == 1 {
			return o
		}
	}
	return k
}

// unshifted is the key that a capital's key gives without Shift: Control+A is
// written with a capital as on the keyboard, and pages get an "a".
func unshifted(k *kb.Key) *kb.Key {
	if r := []rune(k.Key); len(r) == 1 && unicode.IsUpper(r[0]) {
		if o := kb.Keys[unicode.ToLower(r[0])]; o != nil && o.Code == k.Code {
			return o
		}
	}
	return k
}

// keysFor is what typing one character sends: a key's events, or nil for what is
// put in as text: a tab, whose key would leave the field, and other control
// characters.
func keysFor(r rune) []input.DispatchKeyEventParams {
	if r == '\n' {
		r = '\r'
	}
	k := keyOf(r)
	if !k.Print || k.Text == "" || r == '\t' || r != '\r' && unicode.IsControl(r) {
		return nil
	}
	var mask int64
	if k.Shift {
		mask = int64(kb.ModifierShift)
	}
	return []input.DispatchKeyEventParams{event(keyDown, k, mask), event(keyUp, k, mask)}
}

// Writes is the character that a chord writes, or nothing.
func (c *Chord) Writes() string {
	if c.mask&^int64(kb.ModifierShift) != 0 || !c.key.Print || c.key.Text == "" || c.key.Text == "\r" {
		return ""
	}
	return c.key.Text
}

// keysOf are those of a stroke that is one character.
func keysOf(stroke string) []input.DispatchKeyEventParams {
	r, size := utf8.DecodeRuneInString(stroke)
	if size < len(stroke) {
		return nil
	}
	return keysFor(r)
}

// Keys counts the characters of a text that are typed by keys of their own, and
// says whether the last one is. Of a long text, parts have none.
func Keys(text string, parts bool) (n int, last bool) {
	for stroke := range strokes(text, parts) {
		if last = keysOf(stroke) != nil; last {
			n++
		}
	}
	return n, last
}

// Keys that filling a field needs.
var (
	Backspace = &Chord{key: named["Backspace"]}
	End       = &Chord{key: named["End"]}

	All, DocumentEnd = chord("Control+A"), chord("Control+End")
	paste            = chord("Control+V")
)

func chord(s string) *Chord {
	c, err := ParseChord(s)
	if err != nil {
		panic(err)
	}
	return c
}
