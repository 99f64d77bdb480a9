package outside_test

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// These tests are named after the advisories that other services had: what went
// wrong there is tried here, on the whole service with a real browser.

// TestCVE_2026_44439 (PlaywrightCapture): what a page does by itself does not
// reach what the request's own address could not.
func TestCVE_2026_44439(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	worker := func(js string) string { return "new Worker(URL.createObjectURL(new Blob([`" + js + "`])))" }
	ways := []struct{ name, html string }{
		{"fetch", `<script>fetch('{{T}}',{mode:'no-cors'})</script>`},
		{"XMLHttpRequest", `<script>x=new XMLHttpRequest;x.open('POST','{{T}}');x.send('x')</script>`},
		{"beacon", `<script>navigator.sendBeacon('{{T}}','x')</script>`},
		{"fetch that outlives the page", `<script>addEventListener('pagehide',()=>fetch('{{T}}',{keepalive:true,mode:'no-cors'}));setTimeout(()=>location='/?h=next',100)</script>`},
		{"image", `<img src="{{T}}">`},
		{"image of SVG", `<svg><image href="{{T}}"/></svg>`},
		{"script", `<script src="{{T}}"></script>`},
		{"module", `<script type=module>import '{{T}}'</script>`},
		{"style sheet", `<link rel=stylesheet href="{{T}}">`},
		{"import of a style sheet", `<style>@import url("{{T}}");</style>`},
		{"background", `<div style="width:9px;height:9px;background:url({{T}})"></div>`},
		{"font", `<style>@font-face{font-family:f;src:url("{{T}}")}</style><p style="font-family:f">x</p>`},
		{"video", `<video src="{{T}}" autoplay muted></video>`},
		{"track", `<video src="data:video/mp4,"><track default src="{{T}}"></video><audio autoplay src="{{T}}"></audio>`},
		{"object", `<object data="{{T}}"></object>`},
		{"embed", `<embed src="{{T}}" type="text/html">`},
		{"frame", `<iframe src="{{T}}"></iframe>`},
		{"frame in a frame", `<iframe srcdoc="<iframe src='{{T}}'></iframe>"></iframe>`},
		{"sandboxed frame", `<iframe sandbox="allow-scripts" srcdoc="<script>fetch('{{T}}',{mode:'no-cors'})</script>"></iframe>`},
		{"frame of a data URL", `<iframe src="data:text/html,<img src='{{T}}'>"></iframe>`},
		{"form", `<form action="{{T}}"><input name=a value=b></form><script>document.forms[0].submit()</script>`},
		{"form that posts", `<form method=post action="{{T}}" enctype="text/plain"><input name=a value=b></form><script>document.forms[0].submit()</script>`},
		{"form that posts, redirected as it is", `<form method=post action="{{R}}&code=307"><input name=a value=b></form><script>document.forms[0].submit()</script>`},
		{"report of a policy", `<iframe src="{{C}}"></iframe>`},
		{"fetch of an empty window", `<script>const w=open('about:blank');w.fetch('{{T}}',{mode:'no-cors'})</script>`},
		{"worker of a worker", `<script>` + worker("new Worker(URL.createObjectURL(new Blob([\"fetch('{{T}}',{mode:'no-cors'})\"])))") + `</script>`},
		{"worklet", `<script>CSS.paintWorklet?CSS.paintWorklet.addModule('{{T}}').catch(()=>{}):fetch('{{T}}',{mode:'no-cors'});new AudioContext().audioWorklet?.addModule('{{T}}').catch(()=>{})</script>`},
		{"meta refresh", `<meta http-equiv=refresh content="0;url={{T}}">`},
		{"navigation", `<script>location='{{T}}'</script>`},
		{"window", `<script>open('{{T}}')</script>`},
		{"link", `<a href="{{T}}">x</a><script>document.links[0].click()</script>`},
		{"link that pings", `<a href="#x" ping="{{T}}">x</a><script>document.links[0].click()</script>`},
		{"prefetch", `<link rel=prefetch href="{{T}}">`},
		{"preload", `<link rel=preload as=image href="{{T}}">`},
		{"preload of a module", `<link rel=modulepreload href="{{T}}">`},
		{"WebSocket", `<script>new WebSocket('{{T}}'.replace('http','ws'))</script>`},
		{"EventSource", `<script>new EventSource('{{T}}')</script>`},
		{"worker", `<script>` + worker("fetch('{{T}}',{mode:'no-cors'})") + `</script>`},
		{"script of a worker", `<script>` + worker("importScripts('{{T}}')") + `</script>`},
		{"WebSocket of a worker", `<script>` + worker("new WebSocket('{{T}}'.replace('http','ws'))") + `</script>`},
		{"shared worker", `<script>new SharedWorker(URL.createObjectURL(new Blob(["fetch('{{T}}',{mode:'no-cors'})"])))</script>`},
		{"redirect", `<script>location='{{R}}'</script>`},
		{"redirect of an image", `<img src="{{R}}">`},
		{"redirect of a fetch", `<script>fetch('{{R}}',{mode:'no-cors'})</script>`},
		{"service worker", `<script>navigator.serviceWorker.register('{{S}}',{scope:'/'})</script>`},
		{"script of a service worker", `<script>navigator.serviceWorker.register('{{I}}',{scope:'/x'})</script>`},
	}
	for i, w := range ways {
		target := f.target(i + 1)
		html := strings.NewReplacer("{{T}}", target, "{{R}}", f.redirect(target), "{{C}}", f.page("<img src=x>")+"&csp="+url.QueryEscape("img-src 'none'; report-uri "+target),
			"{{S}}", f.script("fetch('"+target+"',{mode:'no-cors'})"), "{{I}}", f.script("importScripts('"+target+"')")).Replace(w.html)
		f.during(f.page(html), func() { f.refused(w.name, i+1) })
		if f.reached.Load() != 0 {
			t.Fatalf("%s reached it", w.name)
		}
	}
}

// TestCVE_2026_42595 and CVE-2026-42596, GHSA-4vmc-gm8v-m35h (Gotenberg): this
// machine and what is near it, in every notation.
func TestCVE_2026_42595(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	hosts := []string{
		"127.0.0.1", "127.1", "127.0.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.1.", "127.255.255.254", "0.0.0.0", "0",
		"localhost", "LOCALHOST", "localhost.", "a.localhost", "%6c%6f%63alhost", "127%2e0%2e0%2e1", "①②⑦.⓪.⓪.①", "127。0。0。1",
		"[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:127.0.0.1]", "[::127.0.0.1]",
		"[64:ff9b::127.0.0.1]", "[64:ff9b:1::7f00:1]", "[2002:7f00:1::]", "[2001:0:7f00:1::]", "[fe80::1]", "[fd00:ec2::254]",
		"169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "10.0.0.1", "172.16.0.1", "192.168.0.1", "100.64.0.1", "224.0.0.1", "255.255.255.255",
		"[fe80::1%25lo]", "[::1%25lo]", "[::ffff:0:127.0.0.1]", "[fec0::1]", "[ff02::1]", "0x7f.0x0.0x0.0x1", "0177.0.0.01", "127.0.0.1..", "127.0.0.1%00", "127.0.0.1%2500.example", "127.0.0.1<x>", "127.0.0.1^", "[::1",
		"ⓛⓞⓒⓐⓛⓗⓞⓢⓣ", "ｌｏｃａｌｈｏｓｔ", "localhoſt", "loc\u00adalhost", "１２７.０.０.１", "127．0．0．1", "0x7ｆ.1", "ip6-localhost", "localhost.localdomain",
		"user:pw@127.0.0.1", "127.0.0.2@127.0.0.1", "127.0.0.2%2f@127.0.0.1", "127.0.0.1#@127.0.0.2", "127.0.0.1\\@127.0.0.2",
	}
	for i, h := range hosts { // one by one: a fault in one is no answer about the others
		if !need.Nth(i, 6) {
			continue
		}
		for _, port := range []string{":" + f.port, ""} {
			status, p := f.do(act{"open": "http://" + h + port + "/"}, act{"evaluate": "return document.documentElement.innerText"})
			if status == 400 {
				continue
			}
			if status != 200 || len(p.Errors) == 0 || p.Errors[0].Code != "navigation_failed" && p.Errors[0].Code != "invalid_value" || strings.Contains(string(p.Data), "secret") {
				t.Errorf("%s%s: %d %+v", h, port, status, p)
			}
		}
	}
	if n := f.reached.Load(); n != 0 {
		t.Errorf("it was reached %d times", n)
	}
}

// TestCVE_2024_56800 and CVE-2025-57818, CVE-2026-32857 (Firecrawl): a redirect
// leads nowhere that the first address could not.
func TestCVE_2024_56800(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	again := func(to string) string { return f.redirect(f.redirect(to)) }
	for i, address := range []string{f.redirect(f.target(1)), again(f.target(2)), f.redirect("//" + f.address(3)), f.redirect("http://0x7f.1.0.4:" + f.port)} {
		status, p := f.do(act{"open": address}, act{"evaluate": "return document.documentElement.innerText"})
		if status != 200 || len(p.Errors) == 0 || p.Errors[0].Code != "navigation_failed" || strings.Contains(string(p.Data), "secret") {
			t.Errorf("%s: %d %+v", address, status, p)
		}
		f.refused(address, i+1)
	}
	for i, address := range []string{f.redirect(f.target(11)), again(f.target(12)), f.redirect("//" + f.address(13))} {
		status, p := f.do(act{"open": f.page("<input type=file>")}, act{"uploadFile": []any{"input", address}})
		if status != 200 || len(p.Errors) != 1 || !strings.Contains(p.Errors[0].Error, "outbound rules") {
			t.Errorf("uploadFile from %s: %d %+v", address, status, p)
		}
		f.refused("uploadFile from "+address, i+11)
	}
	for _, to := range []string{"file:///etc/passwd", "chrome://version", "view-source:file:///etc/passwd", "data:text/html,root:", "javascript:document.write('root:')"} {
		_, p := f.do(act{"open": f.redirect(to)}, act{"evaluate": "return document.documentElement.innerText"})
		if len(p.Errors) == 0 || strings.Contains(string(p.Data), "root:") {
			t.Errorf("redirected to %s: %+v", to, p)
		}
	}
}

// TestCVE_2026_39383, GHSA-5vh4-rgv7-p9g4 and GHSA-pjrr-jgp4-v2fm, -pcrp-7g9h-7qhp
// (Gotenberg): what the service fetches by itself goes by the same rules.
func TestCVE_2026_39383(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	for _, address := range []string{f.target(1), "http://0x7f.1:" + f.port + "/", "http://localhost:" + f.port, "http://[::ffff:127.0.0.1]:" + f.port, "http://169.254.169.254/latest/meta-data/"} {
		status, p := f.do(act{"open": f.page("<input type=file>")}, act{"uploadFile": []any{"input", address}}, act{"evaluate": "return document.querySelector('input').files.length"})
		if status != 200 || len(p.Errors) != 1 || p.Errors[0].Code != "navigation_failed" || string(p.Data) != "0" {
			t.Errorf("%s: %d %+v", address, status, p)
		}
	}
	f.refused("uploadFile", 1)
	if status, p := f.do(act{"open": f.page("<input type=file>")}, act{"uploadFile": []any{"input", f.site + "/?h=x"}}, act{"evaluate": "return document.querySelector('input').files.length"}); status != 200 || string(p.Data) != "1" {
		t.Errorf("what is allowed: %d %+v", status, p)
	}
}

// TestCVE_2024_21527 and CVE-2024-40639, GHSA-rh2x-ccvw-q7r3, GHSA-jjwv-57xh-xr6r
// (Gotenberg): files of the machine, and pages of the browser itself, in every
// spelling: by an action, and by a page.
func TestCVE_2024_21527(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	addresses := []string{
		"file:///etc/passwd", "FILE:///etc/passwd", "fIlE:/etc/passwd", "file:etc/passwd", "file://localhost/etc/passwd", " file:///etc/passwd", "\tfile:///etc/passwd", "fi\nle:///etc/passwd", "file\t:///etc/passwd",
		"\x00file:///etc/passwd", "\\\\localhost/etc/passwd", "//localhost/etc/passwd", "/etc/passwd",
		"view-source:file:///etc/passwd", "View-Source:http://127.0.0.1/", "chrome://version", "CHROME://version", "chrome-untrusted://terminal", "devtools://devtools/bundled/inspector.html", "filesystem:file:///etc/passwd",
		"about:version", "about:about", "javascript:1", "data:text/html,x", "blob:null/1", "ftp://127.0.0.1/", "ws://127.0.0.1/", "chrome-extension://a/b", "jar:file:///etc/passwd!/",
	}
	for _, a := range addresses {
		status, p := f.do(act{"open": a}, act{"openNewTab": a}, act{"uploadFile": []any{"input", a}})
		if status != 400 || len(p.Details) < 3 || p.Details[0].Path != "/actions/0/open" || p.Details[1].Path != "/actions/1/openNewTab" || !strings.HasPrefix(p.Details[len(p.Details)-1].Path, "/actions/2/uploadFile/1") {
			t.Errorf("%q: %d %+v", a, status, p)
		}
	}
	// What a page gives is known only later.
	actions := []any{act{"open": f.page("x")}}
	for _, a := range addresses {
		actions = append(actions, act{"evaluate": "return " + quoted(a), "options": act{"save": "a"}}, act{"open": "${a}"})
	}
	status, p := f.do(append(actions, act{"evaluate": "return location.href"})...)
	if status != 200 || len(p.Errors) != len(addresses) || !strings.Contains(string(p.Data), f.site) {
		t.Errorf("addresses that pages gave: %d %+v", status, p)
	}

	look := "let s=location.protocol+document.title+document.documentElement.innerText;for(let i=0;i<frames.length;i++)try{s+=frames[i].document.documentElement.innerText}catch{};return s"
	for i, a := range []string{
		"file:///etc/passwd", "fIlE:/etc/passwd", "file://localhost/etc/passwd", "fi\nle:///etc/passwd", "\\\\localhost/etc/passwd",
		"View-Source:file:///etc/passwd", "chrome://version", "devtools://devtools/bundled/inspector.html", "filesystem:file:///etc/passwd", "about:version",
	} {
		if !need.Nth(i, 6) {
			continue
		}
		html := strings.NewReplacer("{{a}}", a, "{{q}}", quoted(a)).Replace(`<iframe src="{{a}}"></iframe><iframe srcdoc="<iframe src='{{a}}'></iframe>"></iframe><object data="{{a}}"></object><a href="{{a}}">x</a><form action="{{a}}"><button>go</button></form>
			<script>for(const go of [()=>open({{q}}),()=>location={{q}},()=>location.assign({{q}}),()=>document.links[0].click(),()=>document.forms[0].submit(),()=>fetch({{q}}).then(r=>r.text()).then(t=>document.title=t,()=>{})])try{go()}catch{}</script><meta http-equiv=refresh content="0;url={{a}}">`)
		_, p := f.do(act{"open": f.page(html)}, act{"evaluate": look})
		if s := string(p.Data); strings.Contains(s, "root:") || strings.Contains(s, "Chromium") || strings.HasPrefix(s, `"file`) || strings.HasPrefix(s, `"chrome:`) || strings.HasPrefix(s, `"devtools`) {
			t.Errorf("a page that goes to %q shows %.300s", a, s)
		}
	}
}

func quoted(s string) string {
	b, _ := json.Marshal(s) // a string is always JSON
	return string(b)
}

// TestNothingGoesAroundTheProxy: WebRTC finds no address of this machine, and no
// packet of UDP leaves: not for WebRTC, nor for QUIC.
//
// Promise: All traffic of browsers goes through the outbound proxy (docs/security.md).
func TestNothingGoesAroundTheProxy(t *testing.T) {
	t.Parallel()
	f := newGuardedService(t)
	gather := `const seen=[], pc=new RTCPeerConnection({iceServers:[{urls:['stun:127.0.0.1:P','stun:127.0.0.2:P','turn:127.0.0.1:P','turn:127.0.0.1:P?transport=tcp','turn:localhost:P?transport=udp'].slice(0,1)},
			{urls:['stun:127.0.0.2:P','stun:localhost:P']},{urls:['turn:127.0.0.1:P','turn:127.0.0.1:P?transport=tcp'],username:'a',credential:'b'}]});
		pc.createDataChannel('x'); pc.addTransceiver('audio');
		pc.onicecandidate=e=>{ if(e.candidate) seen.push(e.candidate.candidate) };
		const done=new Promise(r=>pc.onicegatheringstatechange=()=>pc.iceGatheringState==='complete'&&r());
		await pc.setLocalDescription(await pc.createOffer());
		await Promise.race([done,new Promise(r=>setTimeout(r,8000))]);
		return {state:pc.iceGatheringState,seen,sdp:pc.localDescription.sdp.split('\r\n').filter(l=>/^(a=candidate|c=)/.test(l))}`
	status, p := f.do(act{"open": f.page("x")}, act{"evaluate": strings.ReplaceAll(gather, ":P", ":"+f.port), "options": act{"timeout": 10000}})
	var found struct {
		State string
		Seen  []string
		SDP   []string
	}
	if err := json.Unmarshal(p.Data, &found); err != nil || status != 200 || found.State == "" {
		t.Fatalf("%d %+v: %v", status, p, err)
	}
	for _, c := range found.Seen {
		if c != "" && !strings.Contains(c, "0.0.0.0") {
			t.Errorf("a candidate: %s", c)
		}
	}
	for _, l := range found.SDP {
		if !strings.Contains(l, "0.0.0.0") && l != "c=IN IP4 0.0.0.0" {
			t.Errorf("the offer has %s", l)
		}
	}
	quic := `const t=new WebTransport('https://127.0.0.1:P/'); const ended=t.closed.then(()=>'closed',e=>String(e)); return await Promise.race([t.ready.then(()=>'ready',e=>String(e)),ended,new Promise(r=>setTimeout(()=>r('nothing'),6000))])`
	if _, p := f.do(act{"open": f.page("x")}, act{"evaluate": strings.ReplaceAll(quic, ":P", ":"+f.port), "options": act{"timeout": 9000}}); len(p.Errors) > 0 || !strings.Contains(string(p.Data), "rror") {
		t.Errorf("WebTransport: %s", p.Data)
	}
	if n := f.packets.Load(); n != 0 {
		t.Errorf("%d packets of UDP came", n)
	}
}
