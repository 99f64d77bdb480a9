package outside_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fasthttp/websocket"

	"troupe/testkit/need"
)

// rawClient speaks the protocol to a session by itself.
type rawClient struct {
	t    *testing.T
	ws   *websocket.Conn
	n    int
	seen []string // events
}

type rawAnswer struct {
	ID      int             `json:"id"`
	Method  string          `json:"method"`
	Session string          `json:"sessionId"`
	Result  json.RawMessage `json:"result"`
	Params  json.RawMessage `json:"params"`
	Error   struct {
		Code    int
		Message string
	}
}

func dialAttach(t *testing.T, address string, header http.Header) *rawClient {
	t.Helper()
	d := websocket.Dialer{HandshakeTimeout: hang}
	ws, answer, err := d.Dial(address, header)
	if err != nil {
		t.Fatalf("%v: %+v", err, answer)
	}
	t.Cleanup(func() { ws.Close() })
	return &rawClient{t: t, ws: ws}
}

// send sends a message as it is and waits for the answer with a number.
func (c *rawClient) send(message string, id int) rawAnswer {
	c.t.Helper()
	if err := c.ws.WriteMessage(websocket.TextMessage, []byte(message)); err != nil {
		c.t.Fatal(err)
	}
	return c.await(id)
}

func (c *rawClient) await(id int) rawAnswer {
	c.t.Helper()
	for {
		_ = c.ws.SetReadDeadline(time.Now().Add(hang))
		_, b, err := c.ws.ReadMessage()
		if err != nil {
			c.t.Fatalf("waiting for the answer to %d: %v", id, err)
		}
		var a rawAnswer
		if err := json.Unmarshal(b, &a); err != nil {
			c.t.Fatalf("%v: %s", err, b)
		}
		if a.Method == "" && a.ID == id {
			return a
		}
		c.seen = append(c.seen, string(b))
	}
}

// call sends a command.
func (c *rawClient) call(session, method, params string) rawAnswer {
	c.t.Helper()
	c.n++
	at := ""
	if session != "" {
		at = fmt.Sprintf(`,"sessionId":%q`, session)
	}
	if params == "" {
		params = "{}"
	}
	return c.send(fmt.Sprintf(`{"id":%d,"method":%q,"params":%s%s}`, c.n, method, params, at), c.n)
}

// page attaches to the session's page.
func (c *rawClient) page() (session, target string) {
	c.t.Helper()
	var all struct {
		TargetInfos []struct{ TargetID, Type string }
	}
	a := c.call("", "Target.getTargets", "")
	if err := json.Unmarshal(a.Result, &all); err != nil || len(all.TargetInfos) == 0 {
		c.t.Fatalf("%v: %+v", err, a)
	}
	for _, one := range all.TargetInfos {
		if one.Type == "page" {
			target = one.TargetID
		}
	}
	var made struct{ SessionID string }
	a = c.call("", "Target.attachToTarget", fmt.Sprintf(`{"targetId":%q,"flatten":true}`, target))
	if err := json.Unmarshal(a.Result, &made); err != nil || made.SessionID == "" {
		c.t.Fatalf("%v: %+v", err, a)
	}
	return made.SessionID, target
}

// TestWaysOutOfASession tries to get out of a session, by the browser itself and by a page: to files, to
// other contexts, to the machine, around the proxy and around the rules. Each is refused with its reason,
// and the session goes on.
func TestWaysOutOfASession(t *testing.T) {
	need.All(t)
	t.Parallel()
	k := newAttachKit(t)
	c := dialAttach(t, k.ticket(t, `{}`), nil)
	page, target := c.page()
	drop := filepath.Join(t.TempDir(), "out")
	type way struct{ at, method, params, why string }
	var ways []way
	both := func(method, params, why string) {
		ways = append(ways, way{"", method, params, why}, way{page, method, params, why})
	}
	atRoot := func(method, params, why string) { ways = append(ways, way{"", method, params, why}) }
	atPage := func(method, params, why string) { ways = append(ways, way{page, method, params, why}) }

	for _, address := range []string{
		"file:///etc/passwd", "FILE:///etc/passwd", " file:///etc/passwd", "\tfi\nle:///etc/passwd", "\u0001file:///etc/passwd", "file:/etc/passwd", "file:\\\\etc",
		"view-source:file:///etc/passwd", "view-source:http://127.0.0.1/", "chrome://version", "chrome://gpu", "chrome-untrusted://new-tab-page", "devtools://devtools/bundled/inspector.html",
		"about:version", "about:gpu", "chrome-extension://x/y", "filesystem:http://a/temporary/x", "isolated-app://x", "chrome-search://x", "ftp://127.0.0.1/", "javascript:alert(1)", "externalfile:x", "content://x",
	} {
		b, _ := json.Marshal(map[string]string{"url": address})
		atPage("Page.navigate", string(b), "about:blank")
		both("Target.createTarget", string(b), "about:blank")
	}
	both("Target.createTarget", `{"url":"/etc/passwd"}`, "has no scheme")
	both("Target.createTarget", `{"url":"about:blank","browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "not one of this connection's contexts")
	both("Target.createTarget", `{"url":"about:blank","hidden":true}`, `"hidden" is not open`)
	both("Target.createTarget", `{"url":5}`, "url must be a text")
	both("Target.createBrowserContext", `{"proxyServer":"direct://"}`, `"proxyServer" is not open`)
	both("Target.createBrowserContext", `{"proxyBypassList":"*"}`, `"proxyBypassList" is not open`)
	both("Target.createBrowserContext", `{"originsWithUniversalNetworkAccess":["http://a"]}`, `is not open`)
	both("Target.disposeBrowserContext", `{"browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "made no such context")
	both("Target.attachToTarget", `{"targetId":"0123456789ABCDEF0123456789ABCDEF","flatten":true}`, "no such target in this session")
	both("Target.attachToTarget", fmt.Sprintf(`{"targetId":%q}`, target), "flatten must be true")
	both("Target.attachToTarget", fmt.Sprintf(`{"targetId":%q,"flatten":false}`, target), "flatten must be true")
	both("Target.setAutoAttach", `{"autoAttach":true,"waitForDebuggerOnStart":false}`, "flatten must be true")
	both("Target.sendMessageToTarget", fmt.Sprintf(`{"sessionId":%q,"message":"{}"}`, page), "a way around")
	both("Target.exposeDevToolsProtocol", fmt.Sprintf(`{"targetId":%q}`, target), "pages would give commands")
	both("Target.setRemoteLocations", `{"locations":[{"host":"127.0.0.1","port":1}]}`, "beyond the session")
	both("Target.autoAttachRelated", fmt.Sprintf(`{"targetId":%q,"waitForDebuggerOnStart":false}`, target), "beyond the session")
	both("Target.closeTarget", `{"targetId":"0123456789ABCDEF0123456789ABCDEF"}`, "no such target")
	both("Target.activateTarget", `{"targetId":"0123456789ABCDEF0123456789ABCDEF"}`, "no such target")
	both("Target.getTargetInfo", `{"targetId":"0123456789ABCDEF0123456789ABCDEF"}`, "no such target")
	both("Target.detachFromTarget", `{"sessionId":"0123456789ABCDEF0123456789ABCDEF"}`, "not one of this connection's sessions")
	both("Target.detachFromTarget", fmt.Sprintf(`{"targetId":%q}`, target), "sessionId is missing")
	atPage("Target.attachToBrowserTarget", ``, "belongs to the browser")
	both("Browser.grantPermissions", `{"permissions":["geolocation"],"browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "contexts")
	both("Browser.resetPermissions", `{"browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "contexts")
	both("Browser.setPermission", `{"permission":{"name":"midi"},"setting":"granted","browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "contexts")
	both("Browser.setDownloadBehavior", `{"behavior":"allow","downloadPath":"/tmp","browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "contexts")
	both("Browser.cancelDownload", `{"guid":"x","browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "contexts")
	both("Browser.crash", ``, "ends or stops")
	both("Browser.crashGpuProcess", ``, "ends or stops")
	both("Browser.getBrowserCommandLine", ``, "the service's machine")
	both("Browser.getHistograms", ``, "the service's machine")
	both("Browser.executeBrowserCommand", `{"commandId":"openTabSearch"}`, "no window")
	both("Browser.addPrivacySandboxEnrollmentOverride", `{"url":"http://a"}`, "not among the commands")
	both("SystemInfo.getInfo", ``, "the service's machine")
	both("SystemInfo.getProcessInfo", ``, "the service's machine")
	both("SystemInfo.getFeatureState", `{"featureState":"x"}`, "the service's machine")
	both("Memory.prepareForLeakDetection", ``, "ends or stops")
	both("Memory.forciblyPurgeJavaScriptMemory", ``, "ends or stops")
	both("Memory.getBrowserSamplingProfile", ``, "ends or stops")
	both("Tracing.start", `{"categories":"*"}`, "what the browser does for the service")
	both("Tracing.requestMemoryDump", ``, "what the browser does for the service")
	both("Security.setIgnoreCertificateErrors", `{"ignore":true}`, "who they are")
	both("Storage.getCookies", `{"browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "contexts")
	both("Storage.setCookies", `{"cookies":[],"browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "contexts")
	both("Storage.clearCookies", `{"browserContextId":"0123456789ABCDEF0123456789ABCDEF"}`, "contexts")
	both("Extensions.loadUnpacked", `{"path":"/tmp"}`, "installs programs")
	both("PWA.install", `{"manifestId":"x"}`, "installs programs")
	both("Tethering.bind", `{"port":9999}`, "nobody has shown")
	both("Cast.enable", ``, "nobody has shown")
	both("DeviceAccess.enable", ``, "nobody has shown")
	both("BluetoothEmulation.enable", `{"state":"powered-on","leSupported":true}`, "nobody has shown")
	both("Network.loadNetworkResource", `{"url":"file:///etc/passwd","options":{"disableCache":true,"includeCredentials":true}}`, "past the rules")
	both("Network.setRequestInterception", `{"patterns":[]}`, "out of date")
	both("page.navigate", `{"url":"file:///etc/passwd"}`, "not among the commands")
	both("Page.navigate ", `{"url":"file:///etc/passwd"}`, "not among the commands")
	atRoot("Fetch.enable", ``, "belongs to a page")
	atRoot("IO.read", `{"handle":"1"}`, "belongs to a page")
	atRoot("Page.navigate", `{"url":"http://a"}`, "belongs to a page")
	atRoot("Runtime.evaluate", `{"expression":"1"}`, "belongs to a page")
	atRoot("Network.getAllCookies", ``, "belongs to a page")
	atPage("Page.crash", ``, "ends or stops")
	atPage("Page.getResourceContent", `{"frameId":"x","url":"file:///etc/passwd"}`, "files of the service's machine")
	atPage("Page.navigate", `{"url":"http://a","extra":1}`, `"extra" is not open`)
	atPage("DOM.setFileInputFiles", `{"files":["/etc/passwd"],"nodeId":1}`, "paths would be those of the service's machine")
	atPage("DOM.setFileInputFiles", `{"files":["/"],"backendNodeId":1}`, "paths would be those")
	atPage("DOM.setFileInputFiles", `{"files":"/etc/passwd","nodeId":1}`, "array of texts")
	atPage("DOM.getFileInfo", `{"objectId":"x"}`, "files of the service's machine")
	atPage("Input.dispatchDragEvent", `{"type":"drop","x":1,"y":1,"data":{"items":[],"files":["/etc/passwd"],"dragOperationsMask":1}}`, "paths would be those")
	for _, name := range []string{"troupe-file:../../../../etc/passwd", "/etc/passwd#troupe-file:", "/tmp/troupe-file:/etc/passwd", "troupe-file:", `troupe-file:..\\passwd`, "file:///etc/passwd"} {
		atPage("DOM.setFileInputFiles", `{"files":["`+name+`"],"nodeId":1}`, "paths would be those")
	}
	atPage("DOM.setFileInputFiles", `{"files":["troupe-file:none"],"nodeId":1}`, `no file "none"`)
	atPage("DOM.setFileInputFiles", `{"files":["troupe-file:..","troupe-file:passwd\u0000"],"nodeId":1}`, `no file ".."`)
	atPage("Input.dispatchDragEvent", `{"type":"drop","x":1,"y":1,"data":{"items":[],"files":["/x/troupe-file:none"],"dragOperationsMask":1}}`, `no file "none"`)
	atPage("Fetch.continueRequest", `{"requestId":"x","url":"file:///etc/passwd"}`, "must be http or https")
	atPage("Fetch.continueRequest", `{"requestId":"x","url":"chrome://gpu"}`, "must be http or https")
	atPage("FileSystem.getDirectory", `{}`, "storage past the page")
	atPage("IndexedDB.requestDatabaseNames", `{}`, "storage past the page")
	atPage("HeadlessExperimental.beginFrame", ``, "nobody has shown")
	atPage("ServiceWorker.enable", ``, "nobody has shown")

	t.Logf("%d ways", len(ways))
	if len(ways) < 100 {
		t.Errorf("there are %d ways: want 100", len(ways))
	}
	for _, w := range ways {
		a := c.call(w.at, w.method, w.params)
		if a.Error.Code == 0 || !strings.Contains(a.Error.Message, w.why) {
			t.Errorf("%s %s at the page: %v, result %s, error %+v: want %q", w.method, w.params, w.at != "", a.Result, a.Error, w.why)
		}
	}

	// Messages that two readers read differently.
	for name, message := range map[string]string{
		"two methods":       `{"id":%d,"method":"Browser.getVersion","method":"SystemInfo.getInfo"}`,
		"two addresses":     `{"id":%d,"method":"Page.navigate","params":{"url":"about:blank","url":"file:///etc/passwd"},"sessionId":"` + page + `"}`,
		"escaped twin":      `{"id":%d,"method":"Page.navigate","params":{"url":"about:blank","ur\u006c":"file:///etc/passwd"},"sessionId":"` + page + `"}`,
		"params of a list":  `{"id":%d,"method":"Page.navigate","params":[],"sessionId":"` + page + `"}`,
		"another member":    `{"id":%d,"method":"Browser.getVersion","browserContextId":"x"}`,
		"not our session":   `{"id":%d,"method":"Page.navigate","params":{"url":"about:blank"},"sessionId":"0123456789ABCDEF0123456789ABCDEF"}`,
		"a method in caps":  `{"id":%d,"METHOD":"SystemInfo.getInfo"}`,
		"several in a list": `[{"id":%d,"method":"SystemInfo.getInfo"}]`,
	} {
		c.n++
		if err := c.ws.WriteMessage(websocket.TextMessage, fmt.Appendf(nil, message, c.n)); err != nil {
			t.Fatal(err)
		}
		_ = c.ws.SetReadDeadline(time.Now().Add(hang))
		_, b, err := c.ws.ReadMessage()
		if err != nil || !strings.Contains(string(b), `"error"`) {
			t.Errorf("%s: %v, %s", name, err, b)
		}
	}

	// Everything is asked for: nothing of the service's own tab is told, and no path.
	own := c.call("", "Target.getTargetInfo", fmt.Sprintf(`{"targetId":%q}`, target))
	var mine struct {
		TargetInfo struct{ BrowserContextID string }
	}
	if err := json.Unmarshal(own.Result, &mine); err != nil || mine.TargetInfo.BrowserContextID == "" {
		t.Fatalf("%v: %+v", err, own)
	}
	c.seen = nil
	for _, at := range []string{"", page} {
		c.call(at, "Target.setDiscoverTargets", `{"discover":true,"filter":[{}]}`)
		c.call(at, "Target.setAutoAttach", `{"autoAttach":true,"waitForDebuggerOnStart":true,"flatten":true,"filter":[{}]}`)
		c.seen = append(c.seen, string(c.call(at, "Target.getTargets", `{"filter":[{}]}`).Result))
		if a := c.call(at, "Browser.setDownloadBehavior", fmt.Sprintf(`{"behavior":"allow","downloadPath":%q,"eventsEnabled":true}`, drop)); a.Error.Code != 0 {
			t.Errorf("downloads: %+v", a.Error)
		}
	}
	c.call(page, "Page.navigate", fmt.Sprintf(`{"url":%q}`, k.site+"/file"))
	heard := func(event, of string) bool {
		return slices.ContainsFunc(c.seen, func(e string) bool { return strings.Contains(e, event) && strings.Contains(e, of) })
	}
	until(t, "a download has begun and is over", func() bool {
		c.call("", "Browser.getVersion", "") // what has happened comes before the answer
		return heard("downloadWillBegin", "") && heard("downloadProgress", `"completed"`)
	})
	for _, e := range c.seen {
		for _, part := range strings.Split(e, `"browserContextId":"`)[1:] {
			if !strings.HasPrefix(part, mine.TargetInfo.BrowserContextID) {
				t.Errorf("another context is told of: %s", e)
			}
		}
		if strings.Contains(e, "filePath") || strings.Contains(e, "/tmp/") {
			t.Errorf("a path is told: %s", e)
		}
	}
	if _, err := os.Stat(drop); err == nil {
		t.Error("the download went where the client wanted it")
	}
	if a := c.call(page, "Runtime.evaluate", `{"expression":"6*7"}`); !strings.Contains(string(a.Result), "42") {
		t.Errorf("the session does not go on: %+v", a)
	}
}
