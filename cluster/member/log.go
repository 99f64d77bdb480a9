package member

import (
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/scarce"
)

// engineLog writes the engine's messages to our log. Its notices help only to find a
// fault.
type engineLog struct {
	log      zerolog.Logger
	rejected *rejectedConnections
	broken   *rejectedConnections // those that broke off before
}

// unverified begins the engine's warning of a configuration whose own check is the only
// one.
const unverified = "TLS certificate chain and hostname of solicited routes will not be verified"

// handshakeFirst begins the engine's warning that clients have to show a certificate before
// anything else: worker nodes do.
const handshakeFirst = "Clients that are not using \"TLS Handshake First\""

func newEngineLog(log zerolog.Logger) engineLog {
	return engineLog{log,
		&rejectedConnections{log: log, every: time.Minute, says: "connections to the port for nodes were turned away: they did not show that they have the nodes' secret"},
		&rejectedConnections{log: log, every: time.Minute, says: "connections between nodes broke off before both sides had shown who they are: the network is cut or slow, a node stops, or somebody connects and says nothing"},
	}
}

func (l engineLog) Noticef(f string, a ...any) { l.say(l.log.Debug(), f, a) }
func (l engineLog) Warnf(f string, a ...any)   { l.warn(zerolog.WarnLevel, f, a) }
func (l engineLog) Fatalf(f string, a ...any)  { l.say(l.log.Error(), f, a) }
func (l engineLog) Errorf(f string, a ...any)  { l.warn(zerolog.ErrorLevel, f, a) }
func (l engineLog) Debugf(f string, a ...any)  { l.say(l.log.Trace(), f, a) }
func (l engineLog) Tracef(string, ...any)      {}

// warn leaves it to strangers to say that somebody without the nodes' secret has
// connected: anybody may, as often as they like.
//
// The engine also warns that it does not verify certificates (the identity does) and of what
// worker nodes do.
func (l engineLog) warn(level zerolog.Level, f string, a []any) {
	if strings.HasPrefix(f, unverified) || strings.HasPrefix(f, handshakeFirst) {
		return
	}
	if text := fmt.Sprintf(f, a...); strings.Contains(text, "TLS") && strings.Contains(text, "handshake") {
		if brokeOff(text) {
			l.broken.add(text)
		} else {
			l.rejected.add(text)
		}
		return
	} else if strings.Contains(text, syscall.EMFILE.Error()) || strings.Contains(text, syscall.ENFILE.Error()) {
		_ = scarce.Note("accept a node", syscall.EMFILE)
	}
	l.say(l.log.WithLevel(level), f, a)
}

// brokeOff reports whether a handshake ended because the network did, or because nothing was
// heard: that says nothing about the secret of the other side. A side that refuses the other
// one says so, and a stranger that does not speak TLS says something else.
func brokeOff(text string) bool {
	for _, part := range broken {
		if strings.Contains(text, part) {
			return true
		}
	}
	return false
}

// broken are parts of errors of the network, as Go and the engine spell them.
var broken = []string{
	"timeout", "deadline exceeded", "EOF", "use of closed network connection", "closed pipe",
	syscall.ECONNRESET.Error(), syscall.EPIPE.Error(), syscall.ETIMEDOUT.Error(), syscall.ECONNABORTED.Error(), syscall.ECONNREFUSED.Error(),
	syscall.EHOSTUNREACH.Error(), syscall.ENETUNREACH.Error(), syscall.ENETDOWN.Error(), syscall.EHOSTDOWN.Error(), syscall.ENOTCONN.Error(),
}

func (engineLog) say(e *zerolog.Event, f string, a []any) {
	if e.Enabled() {
		e.Str("from", "nats").Msg(fmt.Sprintf(f, a...))
	}
}

// rejectedConnections says of connections that did not get as far as a node's that there were
// some: the first one at once, and all others of a minute in one line.
type rejectedConnections struct {
	log   zerolog.Logger
	every time.Duration
	says  string

	mu     sync.Mutex
	count  int // since the last line
	last   string
	silent bool // until the minute is over
}

func (s *rejectedConnections) add(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.count++
	if s.last = text; len(s.last) > 300 {
		s.last = s.last[:300]
	}
	if !s.silent {
		s.tell()
	}
}

// tell writes the line, and lets the next one wait.
func (s *rejectedConnections) tell() {
	s.log.Warn().Str("from", "nats").Int("count", s.count).Str("last", s.last).
		Msg(s.says)
	s.count, s.silent = 0, true
	time.AfterFunc(s.every, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.silent = false; s.count > 0 {
			s.tell()
		}
	})
}
