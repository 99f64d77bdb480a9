package browser

import (
	"bytes"
	"strconv"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
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
func unwrap(b []byte, m *cdproto.Message) bool {
	rest, ok := b, false
	var carried *jsonv2.Value
	if rest, ok = bytes.CutPrefix(b, []byte(`{"method":"`)); ok {
		n := bytes.IndexByte(rest, '"')
		if n < 0 || !plain(rest[:n]) {
			return false
		}
		m.Method = cdproto.MethodType(rest[:n])
		if rest, ok = bytes.CutPrefix(rest[n+1:], []byte(`,"params":`)); !ok {
			return false
		}
		carried = &m.Params
	} else if rest, ok = bytes.CutPrefix(b, []byte(`{"id":`)); ok {
		n := bytes.IndexByte(rest, ',')
		if n < 0 {
			return false
		}
		id, err := strconv.ParseInt(string(rest[:n]), 10, 64)
		if err != nil {
			return false
		}
		m.ID = id
		if rest, ok = bytes.CutPrefix(rest[n:], []byte(`,"result":`)); !ok {
			return false
		}
		carried = &m.Result
	}
	if !ok {
		return false
	}
	if id, in := sessionOf(rest); in {
		m.SessionID = id
		rest = rest[:len(rest)-len(sessionKey)-sessionLength-len(`"}`)]
	} else {
		rest, ok = bytes.CutSuffix(rest, []byte("}"))
	}
	if !ok || len(rest) < 2 || rest[0] != '{' || rest[len(rest)-1] != '}' {
		return false
	}
	*carried = bytes.Clone(rest)
	return true
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
