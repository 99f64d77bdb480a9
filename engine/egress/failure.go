package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Failure is why a connection could not be made, or why its server gave no whole
// answer.
type Failure struct {
	Refused bool   // by the rules
	Net     string // how Chromium calls such an error, such as "net::ERR_NAME_NOT_RESOLVED"
	Text    string // for people; says nothing of what a name resolved to
}

// failures remembers the last failure of each host, and of each address whose
// server was reached, for a short time.
type failures struct {
	mu   sync.Mutex
	last map[string]failed
}

type failed struct {
	Failure
	at time.Time
}

const (
	rememberFor = 30 * time.Second
	mostFailed  = 256
)

// dialError is an error of making a connection.
type dialError struct {
	Failure
	err error
}

func (e *dialError) Error() string { return e.Text }
func (e *dialError) Unwrap() error { return e.err }

func (f *failures) note(key string, why Failure) {
	f.mu.Lock()
	defer f.mu.Unlock()
	now := time.Now()
	if len(f.last) >= mostFailed {
		for k, v := range f.last {
			if now.Sub(v.at) > rememberFor || len(f.last) >= mostFailed {
				delete(f.last, k)
			}
		}
	}
	if f.last == nil {
		f.last = map[string]failed{}
	}
	f.last[key] = failed{why, now}
}

func (f *failures) clear(key string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.last, key)
}

func (f *failures) find(raw string) (Failure, bool) {
	u, err := url.Parse(raw)
	if err != nil {
		return Failure{}, false
	}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "ws": "80"}[u.Scheme]
	}
	if port == "" {
		port = "443"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	host := hostKey(hostName(u.Hostname()), port)
	v := f.last[host]
	if u.Scheme == "http" {
		if answered, ok := f.last[host+pathOf(raw)]; ok && answered.at.After(v.at) {
			v = answered
		}
	}
	if v.at.IsZero() || time.Since(v.at) > rememberFor {
		return Failure{}, false
	}
	return v.Failure, true
}

// hostKey and urlKey are what failures are remembered under.
func hostKey(name, port string) string { return name + ":" + port }

func urlKey(u *url.URL, raw string) string {
	port := u.Port()
	if port == "" {
		port = "80"
	}
	return hostKey(hostName(u.Hostname()), port) + pathOf(raw)
}

// maxKey bounds the memory that an address takes. Of two that agree so far, the
// last failure is told.
const maxKey = 2048

// pathOf is an address's path and query as they are spelled.
func pathOf(raw string) string {
	raw, _, _ = strings.Cut(raw, "#")
	_, rest, _ := strings.Cut(raw, "://")
	at := strings.IndexAny(rest, "/?")
	if at < 0 {
		return "/"
	}
	path := rest[at:]
	if path[0] == '?' {
		path = "/" + path
	}
	return path[:min(len(path), maxKey)]
}

// failureOf puts an error of dialling into the words of a browser.
func failureOf(name string, err error) Failure {
	var dns *net.DNSError
	var known *dialError
	var between *upstreamError
	switch {
	case errors.As(err, &known):
		return known.Failure
	case errors.Is(err, ErrRefused):
		return Failure{true, "net::ERR_BLOCKED_BY_ADMINISTRATOR", "the address of " + name + " is " + ErrRefused.Error()}
	case errors.As(err, &between):
		return Failure{false, between.net, between.Error()}
	case errors.Is(err, errOnlyHTTP):
		return Failure{false, "net::ERR_CONNECTION_REFUSED", name + ": " + errOnlyHTTP.Error()}
	case errors.As(err, &dns) && !dns.IsTimeout:
		return Failure{false, "net::ERR_NAME_NOT_RESOLVED", "the name " + name + " cannot be resolved"}
	case errors.Is(err, syscall.ECONNREFUSED):
		return Failure{false, "net::ERR_CONNECTION_REFUSED", name + " refused the connection"}
	case errors.Is(err, syscall.ECONNRESET):
		return Failure{false, "net::ERR_CONNECTION_RESET", name + " reset the connection"}
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return Failure{false, "net::ERR_ADDRESS_UNREACHABLE", name + " cannot be reached from here"}
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), timedOut(err):
		return Failure{false, "net::ERR_CONNECTION_TIMED_OUT", "connecting to " + name + " took too long"}
	}
	return Failure{false, "net::ERR_CONNECTION_FAILED", "no connection to " + name}
}

// errSwitched: a server has switched protocols when nobody asked for that.
var errSwitched = errors.New("the server has switched protocols unasked")

// noAnswer is the failure of a server that was reached, and may have closed the
// connection.
func noAnswer(name string, err error, closed bool) Failure {
	switch {
	case errors.As(err, new(*dialError)):
		return failureOf(name, err)
	case strings.Contains(err.Error(), "response headers exceeded"):
		return Failure{false, "net::ERR_RESPONSE_HEADERS_TOO_BIG", name + " sent a head of more than " + strconv.Itoa(maxHead>>10) + " KiB"}
	case reset(err):
		return Failure{false, "net::ERR_CONNECTION_RESET", name + " reset the connection before it answered"}
	case strings.Contains(err.Error(), "multiple Content-Length"):
		return Failure{false, "net::ERR_RESPONSE_HEADERS_MULTIPLE_CONTENT_LENGTH", name + " named several lengths for its answer"}
	case errors.Is(err, io.EOF), strings.Contains(err.Error(), "server closed idle connection"):
		return Failure{false, "net::ERR_EMPTY_RESPONSE", name + " closed the connection without an answer"}
	case timedOut(err):
		return Failure{false, "net::ERR_TIMED_OUT", name + " took too long"}
	case closed:
		return Failure{false, "net::ERR_RESPONSE_HEADERS_TRUNCATED", name + " closed the connection within the head of its answer"}
	}
	return Failure{false, "net::ERR_INVALID_HTTP_RESPONSE", name + " answered with something that is not HTTP"}
}

// brokenOff is the failure of an answer whose head has come.
func brokenOff(resp *http.Response, name string, err error) Failure {
	chunked := slices.Contains(resp.TransferEncoding, "chunked")
	switch {
	case reset(err):
		return Failure{false, "net::ERR_CONNECTION_RESET", name + " reset the connection within its answer"}
	case chunked && errors.Is(err, io.ErrUnexpectedEOF):
		return Failure{false, "net::ERR_INCOMPLETE_CHUNKED_ENCODING", name + " closed the connection within its answer"}
	case chunked:
		return Failure{false, "net::ERR_INVALID_CHUNKED_ENCODING", name + " sent an answer whose chunks are not well-formed"}
	case errors.Is(err, io.ErrUnexpectedEOF):
		return Failure{false, "net::ERR_CONTENT_LENGTH_MISMATCH", name + " closed the connection before all of its answer was sent"}
	}
	return Failure{false, "net::ERR_CONNECTION_CLOSED", "the answer of " + name + " broke off"}
}

func reset(err error) bool {
	return errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

func timedOut(err error) bool {
	var t interface{ Timeout() bool }
	return errors.As(err, &t) && t.Timeout()
}

// status is what a failed request is answered with.
func (f Failure) status() int {
	if f.Refused {
		return http.StatusForbidden
	}
	return http.StatusBadGateway
}
