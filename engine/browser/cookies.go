package browser

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/storage"

	"troupe/engine/host"
)

// Cookie is a cookie of a context.
type Cookie struct {
	Name     string  `json:"name"`
	Value    string  `json:"value"`
	URL      string  `json:"url,omitempty"` // where it is set from, when it is set
	Domain   string  `json:"domain,omitempty"`
	Path     string  `json:"path,omitempty"`
	Secure   bool    `json:"secure,omitempty"`
	HTTPOnly bool    `json:"httpOnly,omitempty"`
	SameSite string  `json:"sameSite,omitempty"`
	Session  bool    `json:"session,omitempty"`
	Expires  float64 `json:"expires,omitempty"` // seconds since the epoch
	// Partition is that of the pages that it is kept for alone; nil: it is for all.
	Partition *Partition `json:"partitionKey,omitempty"`
}

// Partition is the page around what has set a cookie.
type Partition struct {
	Site     string `json:"topLevelSite"`
	Ancestor bool   `json:"hasCrossSiteAncestor"` // another site is between them, or the cookie's own site is another
}

func (p *Partition) key() *network.CookiePartitionKey {
	if p == nil {
		return nil
	}
	return &network.CookiePartitionKey{TopLevelSite: p.Site, HasCrossSiteAncestor: p.Ancestor}
}

func partitionOf(k *network.CookiePartitionKey) *Partition {
	if k == nil {
		return nil
	}
	return &Partition{k.TopLevelSite, k.HasCrossSiteAncestor}
}

// SentTo reports whether the browser would send the cookie to an address.
func (c Cookie) SentTo(u *url.URL) bool {
	name := strings.ToLower(u.Hostname())
	domain := strings.ToLower(c.Domain)
	if d, wide := strings.CutPrefix(domain, "."); wide {
		if name != d && !strings.HasSuffix(name, "."+d) {
			return false
		}
	} else if name != domain {
		return false
	}
	if c.Secure && u.Scheme != "https" && !host.Local(u.Hostname()) {
		return false
	}
	path := u.EscapedPath()
	if path == "" {
		path = "/"
	}
	if !strings.HasPrefix(path, c.Path) {
		return false
	}
	return len(path) == len(c.Path) || strings.HasSuffix(c.Path, "/") || path[len(c.Path)] == '/'
}

// CookieJar is the cookies of a context. They are in the browser.
type CookieJar struct{ context *Context }

// All lists all cookies of the context.
func (jar *CookieJar) All(ctx context.Context) ([]Cookie, error) {
	var res storage.GetCookiesResult
	if err := jar.context.b.root.call(ctx, storage.CommandGetCookies, storage.GetCookiesParams{BrowserContextID: jar.context.id}, &res); err != nil {
		return nil, fmt.Errorf("reading the cookies: %w", err)
	}
	out := make([]Cookie, 0, len(res.Cookies))
	for _, k := range res.Cookies {
		out = append(out, Cookie{Name: k.Name, Value: k.Value, Domain: k.Domain, Path: k.Path, Secure: k.Secure, HTTPOnly: k.HTTPOnly,
			SameSite: string(k.SameSite), Session: k.Session, Expires: k.Expires, Partition: partitionOf(k.PartitionKey)})
	}
	return out, nil
}

// ErrCookie says that the browser does not take a cookie.
var ErrCookie = errors.New("the browser refuses a cookie")

// Set sets one cookie.
func (jar *CookieJar) Set(ctx context.Context, k Cookie) error {
	return jar.set(ctx, []Cookie{k})
}

func (jar *CookieJar) set(ctx context.Context, all []Cookie) error {
	params := storage.SetCookiesParams{BrowserContextID: jar.context.id}
	for _, k := range all {
		p := &network.CookieParam{Name: k.Name, Value: k.Value, URL: k.URL, Domain: k.Domain, Path: k.Path, Secure: k.Secure, HTTPOnly: k.HTTPOnly,
			SameSite: network.CookieSameSite(k.SameSite), PartitionKey: k.Partition.key()}
		if !k.Session && k.Expires > 0 {
			p.Expires = cdp.TimeSinceEpoch(k.Expires)
		}
		params.Cookies = append(params.Cookies, p)
	}
	jar.context.Touch()
	err := jar.context.b.root.call(ctx, storage.CommandSetCookies, params, nil)
	var refused *cdproto.Error
	if errors.As(err, &refused) {
		return fmt.Errorf("%w: %s", ErrCookie, refused.Message)
	}
	return err
}

// Delete deletes the cookies given.
func (jar *CookieJar) Delete(ctx context.Context, all []Cookie) error {
	t, err := jar.context.Tab(ctx)
	if err != nil {
		return err
	}
	var sent []*pending
	for _, k := range all {
		sent = append(sent, t.s.send(network.CommandDeleteCookies, network.DeleteCookiesParams{Name: k.Name, Domain: k.Domain, Path: k.Path, PartitionKey: k.Partition.key()}))
	}
	for _, p := range sent {
		if err := p.wait(ctx, nil); err != nil {
			return fmt.Errorf("deleting a cookie: %w", err)
		}
	}
	return nil
}

// Clear deletes all cookies of the context.
func (jar *CookieJar) Clear(ctx context.Context) error {
	if err := jar.context.b.root.call(ctx, storage.CommandClearCookies, storage.ClearCookiesParams{BrowserContextID: jar.context.id}, nil); err != nil {
		return fmt.Errorf("deleting the cookies: %w", err)
	}
	return nil
}

// Touch notes that a task may have left something behind.
func (c *Context) Touch() {
	c.mu.Lock()
	c.used = true
	c.mu.Unlock()
}
