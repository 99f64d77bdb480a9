package browser

import (
	"fmt"
	"slices"
)

// noBypass has loopback go through the proxy too: by itself a browser goes there
// directly.
const noBypass = "<-loopback>"

// noNames lets a browser look up no name itself: the proxy does. By itself it asks
// for the names of TURN servers, whose first labels could hold what a page knows.
const noNames = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"

// Flags is the command line of every browser. Each group says what it is for;
// what trades isolation for speed or memory is named in docs/security.md.
func Flags(o Options, profile string) []string {
	f := []string{
		"--headless",
		"--remote-debugging-pipe",
		"--user-data-dir=" + profile,

		// Nothing that Chromium does by itself: no updates, reports or guesses.
		"--no-first-run", "--no-default-browser-check", "--no-pings", "--disable-sync",
		"--disable-background-networking", "--disable-component-update", "--disable-default-apps",
		"--disable-domain-reliability", "--disable-client-side-phishing-detection", "--disable-breakpad",
		"--disable-crash-reporter", "--metrics-recording-only", "--disable-extensions",
		"--password-store=basic", "--use-mock-keychain", "--mute-audio",
		"--disable-prompt-on-repost", "--disable-search-engine-choice-screen",

		// Pages run at full speed whether or not a window shows them. How often one
		// may change its address stays limited, as for anybody who visits it: without
		// a limit, it could let no other word through to its browser.
		"--disable-background-timer-throttling", "--disable-backgrounding-occluded-windows",
		"--disable-renderer-backgrounding", "--disable-hang-monitor",

		// Input that comes before a page has painted for the first time is not dropped.
		"--allow-pre-commit-input",

		// There is a mouse: without one, pages choose what they have for fingers, and
		// rules for @media (hover: hover) never apply. The numbers are Blink's, for
		// hover (2) and a fine pointer (4).
		"--blink-settings=primaryHoverType=2,availableHoverTypes=2,primaryPointerType=4,availablePointerTypes=4",

		"--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none",
		fmt.Sprintf("--window-size=%d,%d", DefaultWidth, DefaultHeight),

		// Shared memory is 64 MB in many containers; files in the profile are not.
		"--disable-dev-shm-usage",

		// All traffic goes through the service's proxy, loopback included, and
		// nothing that a proxy cannot carry is spoken.
		"--proxy-server=" + o.Proxy, "--proxy-bypass-list=" + noBypass, "--disable-quic",
		"--force-webrtc-ip-handling-policy=disable_non_proxied_udp", noNames,
		// Where the browser knows no network (netlink_linux.go), calls would wait for one
		// without end. Loopback is one, and gives them no address, either.
		"--allow-loopback-in-peer-connection",

		// There is nothing to keep it for, and to clear it takes longer than all that sites
		// have stored.
		"--disable-gpu-shader-disk-cache",
		// DeferRendererTasksAfterInput stays on: after a key or a click, a page handles
		// nothing else before its next frame, reads included. So they see what the page
		// does in that frame.
		"--disable-features=BackForwardCache,RenderDocument,SpareRendererForSitePerProcess,PaintHolding,Translate," +
			"OptimizationHints,MediaRouter,DialMediaRouteProvider,AutofillServerCommunication,InterestFeedContentSuggestions," +
			"HttpsUpgrades,GlobalMediaControls,DestroyProfileOnBrowserClose,AcceptCHFrame",
		"--site-per-process",
	}
	if o.Proxy == "" {
		proxied := []string{"--proxy-server=", "--proxy-bypass-list=" + noBypass, noNames}
		f = slices.DeleteFunc(f, func(flag string) bool { return slices.Contains(proxied, flag) })
	}
	// Few processes for a browser that serves one worker. Measured in
	// docs/performance.md.
	if o.Renderers >= 0 {
		f = append(f, fmt.Sprintf("--renderer-process-limit=%d", max(1, o.Renderers)))
	}
	if !o.ApartGPU {
		f = append(f, "--in-process-gpu")
	}
	if !o.ApartNetwork {
		f = append(f, "--enable-features=NetworkServiceInProcess2,NetworkServiceInProcess")
	}
	if o.NoSandbox {
		f = append(f, "--no-sandbox")
	}
	return append(append(f, o.ExtraFlags...), blank)
}
