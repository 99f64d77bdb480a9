package access

import (
	"net/netip"
	"slices"
	"strings"

	"github.com/valyala/fasthttp"
)

// forwarded lists the addresses that proxies have written into a request, the one nearest
// to the service first. One that is no address ends the list: what stands behind it nobody
// vouches for. X-Forwarded-For is read where it is there, and Forwarded (RFC 7239) else:
// most proxies keep the first, and hand on whatever a client writes into the second.
func forwarded(h *fasthttp.RequestHeader) []netip.Addr {
	name, read := fasthttp.HeaderXForwardedFor, func(element string) string { return element }
	if len(h.PeekAll(name)) == 0 {
		name, read = fasthttp.HeaderForwarded, forOf
	}
	var all []netip.Addr
	lines := h.PeekAll(name)
	for _, line := range slices.Backward(lines) {
		for _, element := range slices.Backward(splitQuoted(string(line), ',')) {
			if strings.TrimSpace(element) == "" { // RFC 9110 5.6.1: such elements of a list are none
				continue
			}
			a, ok := parseNode(read(element))
			if !ok {
				return all
			}
			all = append(all, a)
		}
	}
	return all
}

// forOf is the node that an element of Forwarded names as the sender.
func forOf(element string) string {
	for _, pair := range splitQuoted(element, ';') {
		name, value, _ := strings.Cut(pair, "=")
		if strings.EqualFold(strings.TrimSpace(name), "for") {
			return value
		}
	}
	return ""
}

// parseNode reads the address of a node: alone, with a port, in brackets, in quotes.
func parseNode(s string) (netip.Addr, bool) {
	s = strings.TrimSpace(s)
	if n := len(s); n >= 2 && s[0] == '"' && s[n-1] == '"' {
		s = strings.TrimSpace(unquoted(s[1 : n-1]))
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return a, true
	}
	if inner, found := strings.CutPrefix(s, "["); found {
		address, port, closed := strings.Cut(inner, "]")
		a, err := netip.ParseAddr(address)
		return a, err == nil && closed && a.Is6() && (port == "" || isPort(port))
	}
	address, port, _ := strings.Cut(s, ":")
	a, err := netip.ParseAddr(address)
	return a, err == nil && isPort(":"+port)
}

// isPort reports whether a text is a port behind an address. RFC 7239 lets proxies hide it
// behind a name that begins with an underscore.
func isPort(s string) bool {
	s, colon := strings.CutPrefix(s, ":")
	hidden := strings.HasPrefix(s, "_")
	if !colon || s == "" || !hidden && len(s) > 5 {
		return false
	}
	for _, c := range s {
		if c >= '0' && c <= '9' || hidden && (c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || strings.ContainsRune("._-", c)) {
			continue
		}
		return false
	}
	return true
}

// splitQuoted splits at a separator outside quotes. It reads from the end, where the proxy
// wrote that is trusted: a quote that a client leaves open swallows nothing of it.
func splitQuoted(s string, at byte) []string {
	var parts []string
	end, quoted := len(s), false
	for i := len(s) - 1; i >= 0; i-- {
		switch {
		case s[i] == '"' && !(quoted && escaped(s, i)):
			quoted = !quoted
		case s[i] == at && !quoted:
			parts, end = append(parts, s[i+1:end]), i
		}
	}
	parts = append(parts, s[:end])
	slices.Reverse(parts)
	return parts
}

// escaped reports whether a backslash makes a character part of its text.
func escaped(s string, i int) bool {
	n := 0
	for i--; i >= 0 && s[i] == '\\'; i-- {
		n++
	}
	return n%2 == 1
}

func unquoted(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
