package egress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"strconv"
	"strings"

	"github.com/elazarl/goproxy"
)

// serve is the handler of everything that browsers send.
func (p *Proxy) serve(w http.ResponseWriter, r *http.Request) {
	r.Context().Value(connKey{}).(*inside).served.Store(true)
	if r.Method == http.MethodConnect {
		p.proxy.ServeHTTP(tunnel{w}, r)
		return
	}
	s := &stream{ResponseWriter: w, uri: r.RequestURI, head: r.Method == http.MethodHead}
	defer s.end()
	p.proxy.ServeHTTP(s, r.WithContext(context.WithValue(r.Context(), streamKey{}, s)))
	if s.broken.Load() {
		s.flushHead()
		panic(http.ErrAbortHandler) // the client must not take it for whole
	}
}

// poolOf returns the connections to servers that a request may use.
func poolOf(r *http.Request) *pool { return r.Context().Value(connKey{}).(*inside).pool }

type streamKey struct{}

// forwarder sets up goproxy. It forwards requests and makes tunnels; what is
// dialled, and how answers are streamed, is ours.
func (p *Proxy) forwarder() *goproxy.ProxyHttpServer {
	g := goproxy.NewProxyHttpServer()
	g.Logger = debug{p.log}
	g.Tr = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
		return nil, errors.New("connections are made by the door's own transport")
	}}
	g.ConnectDial = nil // goproxy takes it from the environment
	g.ConnectDialWithReq = func(r *http.Request, network, address string) (net.Conn, error) {
		return poolOf(r).dial(r.Context(), network, address)
	}
	g.KeepAcceptEncoding = true
	g.ConnectionErrHandler = func(w io.Writer, ctx *goproxy.ProxyCtx, err error) {
		f := failureOf(ctx.Req.URL.Hostname(), err)
		fmt.Fprintf(w, "HTTP/1.1 %d %s\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
			f.status(), http.StatusText(f.status()), len(f.Text)+1, f.Text+"\n")
	}
	g.NonproxyHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		twoLocations(w.Header(), "net::ERR_INVALID_URL")
		http.Error(w, "this is a proxy for browsers", http.StatusBadRequest)
	})
	g.OnRequest().DoFunc(func(r *http.Request, ctx *goproxy.ProxyCtx) (*http.Request, *http.Response) {
		if r.URL.Scheme != "http" || r.URL.Host == "" {
			return r, failing(r, http.StatusBadRequest, Failure{Net: "net::ERR_INVALID_URL", Text: "only http is forwarded, and CONNECT for the rest"})
		}
		p.log.Debug().Str("method", r.Method).Str("host", r.URL.Host).Msg("forward") // paths and queries may hold what a form was filled with
		asSent(r)
		r.Close = signsIn(r.Header) // what the browser said was between it and the proxy
		hopByHop(r.Header)
		if _, there := r.Header["User-Agent"]; !there {
			r.Header["User-Agent"] = []string{""} // or net/http would name itself
		}
		ctx.RoundTripper = goproxy.RoundTripperFunc(p.roundTrip)
		return r, nil
	})
	return g
}

// roundTrip sends a request on, and turns errors into what makes a browser
// report an error.
func (p *Proxy) roundTrip(r *http.Request, _ *goproxy.ProxyCtx) (*http.Response, error) {
	s := r.Context().Value(streamKey{}).(*stream)
	pool, name, key := poolOf(r), hostName(r.URL.Hostname()), urlKey(r.URL, s.uri)
	wantsSocket := isToken(r.Header["Upgrade"], "websocket")
	var used *outside
	resp, err := pool.transport.RoundTrip(r.WithContext(httptrace.WithClientTrace(r.Context(), &httptrace.ClientTrace{
		GotConn: func(i httptrace.GotConnInfo) { used, _ = i.Conn.(*outside) },
	})))
	if err == nil && resp.StatusCode == http.StatusSwitchingProtocols && !(wantsSocket && isToken(resp.Header["Upgrade"], "websocket")) {
		resp.Body.Close() // what comes next would be taken for answers to what nobody asked
		err = errSwitched
	}
	if err != nil {
		if r.Context().Err() != nil || errors.Is(err, net.ErrClosed) { // nobody is there any more
			s.abandon()
			return nil, err
		}
		f := noAnswer(name, err, used != nil && used.ended.Load())
		if no := (*dialError)(nil); !errors.As(err, &no) {
			pool.failures.note(key, f)
			p.log.Debug().Str("host", name).Err(err).Msg("no answer")
		}
		return failing(r, f.status(), f), nil
	}
	pool.failures.clear(key)
	hopByHop(resp.Header)
	for _, k := range []string{"Content-Type", "Date"} {
		if _, there := resp.Header[k]; !there {
			resp.Header[k] = nil // or net/http would make one up
		}
	}
	if resp.StatusCode != http.StatusSwitchingProtocols {
		resp.Body = &watched{resp.Body, s, func(err error) {
			if r.Context().Err() == nil && !errors.Is(err, net.ErrClosed) {
				pool.failures.note(key, brokenOff(resp, name, err))
			}
		}}
	}
	return resp, nil
}

// failing answers for a server that was not reached, or that gave no answer. See
// the package's comment for the two Locations.
func failing(r *http.Request, status int, f Failure) *http.Response {
	resp := plain(r, status, f.Text)
	twoLocations(resp.Header, f.Net)
	return resp
}

// twoLocations has Chromium report an error.
func twoLocations(h http.Header, name string) {
	h["Location"] = []string{"about:blank#" + name, "about:blank#unreachable"}
}

func plain(r *http.Request, status int, text string) *http.Response {
	return &http.Response{
		Status: http.StatusText(status), StatusCode: status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Header: http.Header{
			"Content-Type":           {"text/plain; charset=utf-8"},
			"Content-Length":         {strconv.Itoa(len(text) + 1)},
			"X-Content-Type-Options": {"nosniff"},
			"Cache-Control":          {"no-store"},
			"Connection":             {"close"},
		},
		ContentLength: int64(len(text) + 1),
		Body:          io.NopCloser(strings.NewReader(text + "\n")),
	}
}

// asSent keeps the path as the browser spelled it. (net/url escapes some
// characters that browsers do not.)
func asSent(r *http.Request) {
	_, rest, ok := strings.Cut(r.RequestURI, "://")
	at := strings.IndexAny(rest, "/?#")
	if !ok || at < 0 || rest[at] != '/' {
		return
	}
	path, _, _ := strings.Cut(rest[at:], "?")
	if path != r.URL.EscapedPath() && !strings.HasPrefix(path, "//") {
		r.URL.Opaque = path
	}
}

// signsIn reports whether a request signs in for its whole connection, as NTLM
// does and Negotiate may. That connection must serve nobody else: connections to
// servers are shared, and the next user would be taken for the one who signed in.
func signsIn(h http.Header) bool {
	for _, field := range h["Authorization"] {
		scheme, _, _ := strings.Cut(textproto.TrimString(field), " ")
		if strings.EqualFold(scheme, "NTLM") || strings.EqualFold(scheme, "Negotiate") {
			return true
		}
	}
	return false
}

// hopByHop removes the fields that hold for one connection only. A WebSocket's
// handshake keeps what makes it one.
func hopByHop(h http.Header) {
	upgrade := isToken(h["Connection"], "upgrade") && isToken(h["Upgrade"], "websocket")
	for _, field := range h["Connection"] {
		for name := range strings.SplitSeq(field, ",") {
			h.Del(textproto.TrimString(name))
		}
	}
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
	} {
		delete(h, name)
	}
	if upgrade {
		h["Connection"], h["Upgrade"] = []string{"Upgrade"}, []string{"websocket"}
	}
}

func isToken(fields []string, token string) bool {
	for _, field := range fields {
		for t := range strings.SplitSeq(field, ",") {
			if strings.EqualFold(textproto.TrimString(t), token) {
				return true
			}
		}
	}
	return false
}
