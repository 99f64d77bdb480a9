package browser

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"regexp"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// truncator reads a message that is longer than the buffer, and cuts the texts in it
// as they come.
type truncator struct {
	in   *bufio.Reader
	b    []byte // what was read and not yet looked at
	last bool   // nothing of the message comes after b

	out  []byte // the message with its texts cut
	long []byte // the one text that may be long, as it is without escapes
	cut  bool   // that text was too long, or the message was

	whole []byte // the message as it comes; nil: nobody wants it, or it is too large

	bytes int // of fields that are bytes, so far, in base64

	key   string // of the text that comes
	value bool   // that text is no name
	array bool   // it is one of several
	start int    // of the text in out
	room  int    // for it in out
	most  int    // of it in long; zero: it is not the long one
	over  bool   // it was longer than that
}

// more reads on, and reports whether there is anything.
func (s *truncator) more() (bool, error) {
	for len(s.b) == 0 && !s.last {
		b, err := s.in.ReadSlice(0)
		switch {
		case err == nil:
			b, s.last = b[:len(b)-1], true
		case errors.Is(err, io.EOF):
			return false, io.ErrUnexpectedEOF
		case !errors.Is(err, bufio.ErrBufferFull):
			return false, err
		}
		s.b = b
		s.copy(b)
	}
	return len(s.b) > 0, nil
}

// copy adds to the message as it comes.
func (s *truncator) copy(b []byte) {
	if s.whole == nil {
		return
	}
	if len(s.whole)+len(b) > maxWhole {
		s.whole = nil
		return
	}
	s.whole = append(s.whole, b...)
}

// run gives the message.
func (s *truncator) run() ([]byte, error) {
	for {
		more, err := s.more()
		if err != nil {
			return nil, err
		}
		if !more {
			return s.out, nil
		}
		n := bytes.IndexByte(s.b, '"')
		if n < 0 {
			n = len(s.b)
		}
		s.between(s.b[:n])
		if s.b = s.b[n:]; len(s.b) > 0 {
			s.b = s.b[1:]
			if err := s.text(); err != nil {
				return nil, err
			}
		}
		if len(s.out) > s.limit() {
			return s.drop()
		}
	}
}

// limit is how long the message may be without its long text.
func (s *truncator) limit() int {
	if s.isAnswer() {
		return maxAnswer
	}
	return maxEvent
}

func (s *truncator) isAnswer() bool { return bytes.HasPrefix(s.out, []byte(`{"id":`)) }

// between takes what stands between texts. A text with a colon behind it is the
// name of what follows.
func (s *truncator) between(b []byte) {
	if n := len(s.out); s.start > 0 && n-s.start < 50 {
		if t := bytes.TrimLeft(b, " \t\r\n"); len(t) > 0 && t[0] == ':' {
			s.key = string(s.out[s.start : n-1])
		}
	}
	if len(b) > 0 {
		s.start = 0
	}
	if t := bytes.TrimSpace(b); len(t) > 0 {
		switch last := t[len(t)-1]; {
		case last == '[':
			s.value, s.array = true, true
		case len(t) == 1 && last == ',' && s.array:
			s.value = true
		default:
			s.value, s.array = last == ':', false
		}
	}
	s.out = append(s.out, b...)
}

// text takes a text, up to the quote at its end.
func (s *truncator) text() error {
	s.out = append(s.out, '"')
	s.start, s.room, s.most, s.over = len(s.out), maxText, 0, false
	switch answer := s.isAnswer(); {
	case answer && s.long == nil:
		s.most = maxLong[s.key]
	case !answer && s.key == "data": // a picture that a page was asked for
		s.room = maxPicture
	case !answer && s.value && byteFields[s.key]:
		s.room = min(s.room, maxBytes-s.bytes)
	}
	for {
		more, err := s.more()
		if err != nil || !more {
			return err
		}
		n := 0 // these stand close together in what the page script gives
		for n < len(s.b) && s.b[n] != '"' && s.b[n] != '\\' {
			n++
		}
		s.plain(s.b[:n])
		if s.b = s.b[n:]; len(s.b) == 0 {
			continue
		}
		c := s.b[0]
		s.b = s.b[1:]
		if c == '"' {
			break
		}
		if len(s.b) > 0 && s.b[0] != 'u' {
			s.short()
			continue
		}
		if err := s.escape(); err != nil {
			return err
		}
	}
	isBytes := s.value && byteFields[s.key] && !s.isAnswer()
	if s.room < 0 && isBytes && isBase64(s.out[s.start:]) {
		s.out = s.out[:len(s.out)-(len(s.out)-s.start)%4] // so that the rest can be decoded
	} else if s.room < 0 {
		s.out = append(s.out, "…"...)
	} else if s.most > 0 {
		s.long = nil // all of it is in out
	}
	if isBytes {
		s.bytes += (len(s.out) - s.start + 3) / 4 * 4
	}
	if s.over {
		s.long, s.cut = []byte{}, true
	}
	s.out = append(s.out, '"')
	return nil
}

// byteFields are the names of fields in events that are bytes, in base64. One that is cut in
// the middle of a character, or that ends with a mark for people, could not be decoded, and the
// event would be lost with it.
var byteFields = map[string]bool{
	"bytes": true, "data": true, "credentialId": true, "privateKey": true, "userHandle": true, "largeBlob": true, "cmtgKeys": true, "body": true, "payloadData": true,
}

func isBase64(b []byte) bool {
	for _, c := range b {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '+' && c != '/' {
			return false
		}
	}
	return true
}

// plain takes a part of a text that has no escapes.
func (s *truncator) plain(b []byte) {
	s.keep(b)
	if s.room < 0 {
		return
	}
	n := len(b)
	if n > s.room {
		for n = s.room; n > 0 && !utf8.RuneStart(b[n]); n-- { // no character is cut in two
		}
	}
	s.out = append(s.out, b[:n]...)
	if s.room -= n; n < len(b) {
		s.room = -1
	}
}

// short takes an escape of one letter, from behind the backslash on.
func (s *truncator) short() {
	c := s.b[0]
	s.b = s.b[1:]
	s.keep(unescaped[c : int(c)+1])
	if s.room >= 2 {
		s.out, s.room = append(s.out, '\\', c), s.room-2
	} else {
		s.room = -1
	}
}

// escape takes an escape, or two that make one character, from behind the
// backslash on.
func (s *truncator) escape() error {
	raw := []byte{'\\'}
	var r rune
	for high := rune(0); ; {
		c, err := s.next()
		if err != nil {
			return err
		}
		raw = append(raw, c)
		if c != 'u' {
			if high != 0 {
				s.keep([]byte(half))
			}
			r = rune(unescaped[c])
			break
		}
		for range 4 {
			if c, err = s.next(); err != nil {
				return err
			}
			raw = append(raw, c)
		}
		u, err := strconv.ParseUint(string(raw[len(raw)-4:]), 16, 16)
		if err != nil {
			u = utf8.RuneError
		}
		if high != 0 {
			if r = utf16.DecodeRune(high, rune(u)); r == utf8.RuneError {
				s.keep([]byte(half))
				r = rune(u)
			}
			break
		}
		if r = rune(u); r < 0xD800 || r > 0xDBFF { // not the first half of two
			break
		}
		if more, err := s.more(); err != nil {
			return err
		} else if !more || s.b[0] != '\\' { // half a character
			break
		}
		high, s.b, raw = r, s.b[1:], append(raw, '\\')
	}
	s.keep(utf8.AppendRune(nil, r))
	if s.room >= len(raw) {
		s.out, s.room = append(s.out, raw...), s.room-len(raw)
	} else {
		s.room = -1
	}
	return nil
}

var unescaped = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func (s *truncator) next() (byte, error) {
	more, err := s.more()
	if err != nil {
		return 0, err
	}
	if !more {
		return 0, io.ErrUnexpectedEOF
	}
	c := s.b[0]
	s.b = s.b[1:]
	return c, nil
}

// keep adds to the long text.
func (s *truncator) keep(b []byte) {
	if s.most == 0 || s.over {
		return
	}
	if s.over = len(s.long)+len(b) > s.most; s.over {
		s.long = nil
		return
	}
	if n := len(s.long); n+len(b) > cap(s.long) {
		s.long = slices.Grow(s.long, max(len(b), min(n, s.most-n)))
	}
	s.long = append(s.long, b...)
}

// half stands for a character that was cut in two.
const half = "\uFFFD"

var (
	heading = regexp.MustCompile(`^\{"(?:id":\d+|method":"[\w.]+")`)
	address = regexp.MustCompile(`,"sessionId":"\w+"\}$`)
	// asking is the head of an event that has to be answered, with what names it.
	asking = regexp.MustCompile(`^\{"method":"Fetch\.\w+","params":\{"requestId":"[\w.-]+"`)
)

// drop reads the rest of a message that is too large, and gives it without all but
// what it is and for whom.
func (s *truncator) drop() ([]byte, error) {
	s.cut, s.long = true, nil
	head := heading.Find(s.out)
	tail := append([]byte(nil), s.out[len(s.out)-min(len(s.out), 100):]...)
	for {
		more, err := s.more()
		if err != nil {
			return nil, err
		}
		if !more {
			break
		}
		tail = append(tail, s.b...)
		tail = append(tail[:0], tail[max(0, len(tail)-100):]...)
		s.b = nil
	}
	if head == nil {
		return nil, nil
	}
	if named := asking.Find(s.out); named != nil {
		head = append(bytes.Clone(named), '}')
	}
	if a := address.Find(tail); a != nil {
		return append(bytes.Clone(head), a...), nil
	}
	return append(bytes.Clone(head), '}'), nil
}
