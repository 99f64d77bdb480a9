package browser

import (
	"regexp"
	"strings"

	"github.com/chromedp/cdproto/emulation"
)

// chromiumIn is how a user agent names the browser's version.
var chromiumIn = regexp.MustCompile(`Chrome/([0-9.]+)`)

// androidIn has the version of Android and the name of the device.
var androidIn = regexp.MustCompile(`Android ([0-9.]+); (.*?)(?: Build/[^;)]*)?\) AppleWebKit`)

// identity is what pages and servers are told of the browser: the user agent of the
// device, and the languages of the locale.
func (s *Surroundings) identity() emulation.SetUserAgentOverrideParams {
	var p emulation.SetUserAgentOverrideParams
	if s.Locale != "" {
		p.AcceptLanguage = s.Locale
		if language, _, regional := strings.Cut(s.Locale, "-"); regional {
			p.AcceptLanguage += "," + language
		}
	}
	if s.Device == nil || s.Device.UserAgent == "" {
		return p
	}
	p.UserAgent = s.Device.UserAgent
	switch {
	case strings.Contains(p.UserAgent, "iPhone;"):
		p.Platform = "iPhone"
	case strings.Contains(p.UserAgent, "iPad;"):
		p.Platform = "iPad"
	case strings.Contains(p.UserAgent, "Android"):
		p.Platform = "Linux armv81"
	}
	if chromiumIn.MatchString(p.UserAgent) {
		s.clientHints(&p)
	}
	return p
}

// clientHints fills in what only Chromium tells. The version is that of the browser that
// there is: presets have old ones.
func (s *Surroundings) clientHints(p *emulation.SetUserAgentOverrideParams) {
	_, full, _ := strings.Cut(s.version.Product, "/")
	major, _, _ := strings.Cut(full, ".")
	p.UserAgent = chromiumIn.ReplaceAllString(p.UserAgent, "Chrome/"+major+".0.0.0")
	m := androidIn.FindStringSubmatch(p.UserAgent)
	if m == nil {
		return
	}
	brands := func(version, other string) []*emulation.UserAgentBrandVersion {
		return []*emulation.UserAgentBrandVersion{{Brand: "Chromium", Version: version}, {Brand: "Not?A_Brand", Version: other}}
	}
	p.UserAgentMetadata = &emulation.UserAgentMetadata{
		Brands: brands(major, "24"), FullVersionList: brands(full, "24.0.0.0"), Platform: "Android", PlatformVersion: m[1], Model: m[2],
		Mobile: strings.Contains(p.UserAgent, "Mobile"),
	}
}
