package egress

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"os"
	"sync"
	"syscall"
	"time"
)

// Failure is why a connection could not be made.
type Failure struct {
	Refused bool   // by the rules
	Net     string // how Chromium calls such an error, such as "net::ERR_NAME_NOT_RESOLVED"
	Text    string // for people; says nothing of what a name resolved to
}

// failures remembers the last failure of each host for a short time.
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
	mostFailed  = 1024
)

// dialError is an error of making a connection.
type dialError struct {
	Failure
	err error
}

func (e *dialError) Error() string { return e.Text }
func (e *dialError) Unwrap() error { return e.err }

func (f *failures) note(name, port string, why Failure) {
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
	f.last[name+":"+port] = failed{why, now}
}

func (f *failures) clear(name, port string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.last, name+":"+port)
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
	v, ok := f.last[hostName(u.Hostname())+":"+port]
	if !ok || time.Since(v.at) > rememberFor {
		return Failure{}, false
	}
	return v.Failure, true
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
