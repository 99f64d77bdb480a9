package browser

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/emulation"
)

// Surroundings are what pages find around them: the device, the place, the language. A
// zero field leaves what the browser has by itself.
type Surroundings struct {
	Device        *Device           `json:"device,omitempty"`
	Locale        string            `json:"locale,omitempty"`   // such as de-DE
	Timezone      string            `json:"timezone,omitempty"` // such as Europe/Berlin
	Geolocation   *Geolocation      `json:"geolocation,omitempty"`
	ColorScheme   string            `json:"colorScheme,omitempty"`
	ReducedMotion string            `json:"reducedMotion,omitempty"`
	Permissions   map[string]string `json:"permissions,omitempty"` // granted, denied or prompt, by name
	JavaScript    *bool             `json:"javascript,omitempty"`

	version browser.GetVersionResult // of the browser, where a device has a name for itself
}

// Device is a screen, and the name that pages are told.
type Device struct {
	Name      string  `json:"name,omitempty"` // of a preset; empty: own numbers
	Width     int     `json:"width"`
	Height    int     `json:"height"`
	Scale     float64 `json:"scale"`  // device pixels for each CSS pixel
	Mobile    bool    `json:"mobile"` // heeds the viewport of pages, as phones do
	Touch     bool    `json:"touch"`
	Landscape bool    `json:"landscape,omitempty"`
	UserAgent string  `json:"userAgent,omitempty"` // empty: the browser's own
}

// Geolocation is a place on the earth.
type Geolocation struct {
	Latitude  float64 `json:"latitude"`
	Longitude float64 `json:"longitude"`
	Accuracy  float64 `json:"accuracy"` // meters
}

// Surround gives the context's pages these surroundings in place of those that they had:
// the open ones, those that come, their frames and workers. A device that is another one
// than before also sets the size of pages.
func (c *Context) Surround(ctx context.Context, s *Surroundings) error {
	c.Touch()
	if s.Device != nil && s.Device.UserAgent != "" {
		if err := c.b.root.call(ctx, browser.CommandGetVersion, nil, &s.version); err != nil {
			return fmt.Errorf("reading the browser's version: %w", err)
		}
	}
	c.mu.Lock()
	before := c.around
	c.around = s
	if s.Device != nil && (before == nil || before.Device == nil || *before.Device != *s.Device) {
		c.width, c.height = s.Device.Width, s.Device.Height
	}
	tabs, workers := slices.Clone(c.tabs), slices.Clone(c.workers)
	c.mu.Unlock()
	c.attends()
	for _, w := range workers {
		s.worker(w) // it may have ended
	}
	var sent []*pending
	for _, name := range slices.Sorted(maps.Keys(s.Permissions)) {
		sent = append(sent, c.b.root.send(browser.CommandSetPermission, browser.SetPermissionParams{
			Permission: &browser.PermissionDescriptor{Name: name}, Setting: browser.PermissionSetting(s.Permissions[name]), BrowserContextID: c.id,
		}))
	}
	for _, t := range tabs {
		t.remote.watch()
		sent = append(sent, s.page(t)...)
		for _, f := range t.remote.sessions() {
			sent = append(sent, s.process(f)...)
		}
	}
	for _, p := range sent {
		if err := p.wait(ctx, nil); err != nil && !alreadyThere(err) {
			return fmt.Errorf("setting what pages find around them: %w", err)
		}
	}
	return nil
}

// Surrounded are the surroundings that Surround has set; nil: none.
func (c *Context) Surrounded() *Surroundings {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.around
}

// alreadyThere reports whether another page of the same process has set it: a locale and
// a timezone are those of a process.
func alreadyThere(err error) bool { return strings.Contains(err.Error(), "already in effect") }

// page sends a tab what holds for it as a whole, and for its main frame.
func (s *Surroundings) page(t *Tab) (sent []*pending) {
	w, h := t.context.Size()
	if s.Device != nil {
		sent = append(sent, t.sendSize(w, h))
	}
	if g := s.Geolocation; g != nil {
		sent = append(sent, t.s.send(emulation.CommandSetGeolocationOverride, emulation.SetGeolocationOverrideParams{
			Latitude: &g.Latitude, Longitude: &g.Longitude, Accuracy: &g.Accuracy,
		}))
	}
	return append(sent, s.process(t.s)...)
}

// process sends a process what holds for its part of a page.
func (s *Surroundings) process(to *session) (sent []*pending) {
	if s.Device != nil {
		touch := emulation.SetTouchEmulationEnabledParams{Enabled: s.Device.Touch}
		if s.Device.Touch {
			touch.MaxTouchPoints = maxTouches
		}
		sent = append(sent, to.send(emulation.CommandSetTouchEmulationEnabled, touch))
	}
	if s.ColorScheme != "" || s.ReducedMotion != "" {
		var features []*emulation.MediaFeature
		for _, f := range []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: s.ColorScheme}, {Name: "prefers-reduced-motion", Value: s.ReducedMotion}} {
			if f.Value != "" {
				features = append(features, f)
			}
		}
		sent = append(sent, to.send(emulation.CommandSetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}))
	}
	if s.JavaScript != nil {
		sent = append(sent, to.send(emulation.CommandSetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !*s.JavaScript}))
	}
	return append(sent, s.worker(to)...)
}

// maxTouches is how many fingers a screen tells apart.
const maxTouches = 5

// worker sends what also holds where there is no document.
func (s *Surroundings) worker(to *session) (sent []*pending) {
	if s.Locale != "" || s.Device != nil && s.Device.UserAgent != "" {
		sent = append(sent, to.send(emulation.CommandSetUserAgentOverride, s.identity()))
	}
	return append(sent, s.zone(to)...)
}

// zone sends what a process has only once.
func (s *Surroundings) zone(to *session) (sent []*pending) {
	if s.Locale != "" {
		sent = append(sent, to.send(emulation.CommandSetLocaleOverride, emulation.SetLocaleOverrideParams{Locale: s.Locale}))
	}
	if s.Timezone != "" {
		sent = append(sent, to.send(emulation.CommandSetTimezoneOverride, emulation.SetTimezoneOverrideParams{TimezoneID: s.Timezone}))
	}
	return sent
}

// Bounds of rezone.
const (
	rezoneTries = 10
	rezoneWait  = 20 * time.Millisecond
)

// rezone sets the locale and the time zone of the tabs again after one was closed, whose
// process they may have been set for. The process may still have to notice that. Until
// then it refuses, and also where a further tab of it has them set, which is as good.
func (c *Context) rezone(ctx context.Context) {
	s := c.Surrounded()
	if s == nil {
		return
	}
	for range rezoneTries {
		refused := false
		for _, t := range c.Tabs() {
			for _, p := range s.zone(t.s) {
				if err := p.wait(ctx, nil); err != nil && alreadyThere(err) {
					refused = true
				}
			}
		}
		if !refused {
			return
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(rezoneWait):
		}
	}
}

// shape gives a page the screen of the device, which is as large as the page.
func (d *Device) shape(p *emulation.SetDeviceMetricsOverrideParams) {
	p.DeviceScaleFactor, p.Mobile, p.ScreenWidth, p.ScreenHeight = d.Scale, d.Mobile, p.Width, p.Height
	if !d.Mobile {
		return
	}
	p.ScreenOrientation = &emulation.ScreenOrientation{Type: emulation.ScreenOrientationTypePortraitPrimary}
	if d.Landscape || d.Width > d.Height {
		p.ScreenOrientation = &emulation.ScreenOrientation{Type: emulation.ScreenOrientationTypeLandscapePrimary, Angle: 90}
	}
}
