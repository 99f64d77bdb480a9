package browser

import (
	"slices"
	"strings"
)

// throughProxy are Chromium's names for failures that may come from what the proxy
// did because of a server, and not from the server itself.
var throughProxy = []string{
	"net::ERR_TUNNEL_CONNECTION_FAILED", "net::ERR_RESPONSE_HEADERS_MULTIPLE_LOCATION", "net::ERR_EMPTY_RESPONSE",
	"net::ERR_CONTENT_LENGTH_MISMATCH", "net::ERR_INCOMPLETE_CHUNKED_ENCODING", downloadFailed,
}

// downloadFailed is the name for a download that broke off: the browser gives none.
const downloadFailed = "net::ERR_FAILED"

// SetExplain sets a function that explains why a request through the proxy failed:
// the browser's name for it, and a sentence. Both are empty if it does not know.
func (c *Context) SetExplain(explain func(url string) (name, text string)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.explain = explain
}

// explained returns the name of a request's failure, and a sentence where there is
// one.
func (c *Context) explained(url, name string) (string, string) {
	c.mu.Lock()
	explain := c.explain
	c.mu.Unlock()
	if explain == nil || !slices.Contains(throughProxy, name) {
		return name, ""
	}
	if better, text := explain(url); better != "" {
		return better, text
	}
	return name, ""
}

// explainedText is a line of the browser's with the better name in it.
func (c *Context) explainedText(url, text string) string {
	before, name, found := strings.Cut(text, "net::")
	if !found {
		return text
	}
	name, rest, _ := strings.Cut(name, " ")
	better, _ := c.explained(url, "net::"+name)
	return strings.TrimSpace(before + better + " " + rest)
}
