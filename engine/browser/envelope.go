package browser

import (
	"bytes"
	"strconv"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/target"
)

// sessionKey is what comes before the session in a message of the browser, which is its
// last member.
const (
	sessionKey    = `,"sessionId":"`
	sessionLength = 32
)

// unwrap takes a message of the browser apart as the browser writes it: an answer or an
// event, what it carries, and the session at its end. What is carried is not looked into,
// for nobody wants most events. It reports false for anything else, which is to be read as
// JSON: errors, too.
//
// No page can make a message look like another one. What is carried ends with a brace,
// so a session before the last brace is a member of the message itself.
func unwrap(b []byte) (m cdproto.Message, ok bool) {
	if id, in := sessionOf(b); in {
		m.SessionID = id
		b = b[:len(b)-len(sessionKey)-sessionLength-len(`"}`)]
	} else if b, ok = bytes.CutSuffix(b, []byte("}")); !ok {
		return m, false
	}
	carried := &m.Params
	rest, ok := bytes.CutPrefix(b, []byte(`{"method":"`))
	if ok {
		var name []byte
		name, rest, ok = bytes.Cut(rest, []byte(`","params":`))
		m.Method = cdproto.MethodType(name)
		ok = ok && plain(name)
	} else if rest, ok = bytes.CutPrefix(b, []byte(`{"id":`)); ok {
		carried = &m.Result
		var number []byte
		number, rest, ok = bytes.Cut(rest, []byte(`,"result":`))
		id, err := strconv.ParseInt(string(number), 10, 64)
		m.ID = id
		ok = ok && err == nil
	}
	if !ok || len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' {
		return m, false
	}
	*carried = bytes.Clone(rest)
	return m, true
}

func sessionOf(b []byte) (target.SessionID, bool) {
	b, ok := bytes.CutSuffix(b, []byte(`"}`))
	if !ok || len(b) < len(sessionKey)+sessionLength {
		return "", false
	}
	key, id := b[len(b)-sessionLength-len(sessionKey):len(b)-sessionLength], b[len(b)-sessionLength:]
	return target.SessionID(id), string(key) == sessionKey && plain(id)
}

// plain reports whether a text has only letters, digits and dots.
func plain(b []byte) bool {
	for _, c := range b {
		if (c|0x20 < 'a' || c|0x20 > 'z') && (c < '0' || c > '9') && c != '.' {
			return false
		}
	}
	return true
}
