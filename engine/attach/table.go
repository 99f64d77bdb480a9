package attach

import (
	"slices"
	"strings"
)

// The table of commands. A client may send what is in it, and nothing else.

// place is the kind of session in which a command may be sent.
type place int

const (
	anywhere place = iota
	atRoot         // the browser itself
	inPage         // a page, a frame, a worker
)

// rule lets some commands of a domain through.
type rule struct {
	names string // of the commands, with spaces between them
	where place
	note  string // for the documents: what is checked or replaced

	only   string                           // the parameters that it may have; empty: any
	check  func(*relay, *command) error     // refuses the command, changes it, or answers it
	answer func(*relay, []byte) (any, bool) // the result in the place of the browser's
}

// domain is the rules of a domain of the protocol.
type domain struct {
	name  string
	rules []rule
}

// forbidden says why commands are refused that people send all the same, and what to do instead.
type forbidden struct{ names, why, instead string }

const (
	addressNote = "`url` is http, https, data, blob or about:blank, and within the session's sites"
	contextNote = "The context is the session's, unless `browserContextId` names one that the client made"
	targetNote  = "only pages, frames and workers of the session"
)

// commands is the table. It is filled at the start: checks lead to it themselves.
var commands []domain

func init() {
	commands = []domain{
		{"Accessibility", []rule{{names: "disable enable getAXNodeAndAncestors getChildAXNodes getFullAXTree getPartialAXTree getRootAXNode queryAXTree", where: inPage}}},
		{"Audits", []rule{{names: "disable enable", where: inPage}}},
		{"Browser", []rule{
			{names: "getVersion"},
			{names: "close", where: atRoot, note: "closes the connection; the session stays", check: closeBrowser},
			{names: "setDownloadBehavior", note: "Files go where the service keeps them: `behavior` and `downloadPath` are replaced, except `deny`. " + contextNote, only: "behavior browserContextId downloadPath eventsEnabled", check: downloads},
			{names: "grantPermissions resetPermissions setPermission cancelDownload", note: contextNote, check: ownContext},
			{names: "getWindowForTarget", note: targetNote, check: ownTargetOrSelf},
			{names: "setWindowBounds", note: "does nothing: the browser has no window", check: answersNothing},
		}},
		{"Console", []rule{{names: "clearMessages disable enable", where: inPage}}},
		{"CSS", []rule{{names: "disable enable forcePseudoState getComputedStyleForNode getInlineStylesForNode getMatchedStylesForNode getPlatformFontsForNode getStyleSheetText startRuleUsageTracking stopRuleUsageTracking takeCoverageDelta", where: inPage}}},
		{"Debugger", []rule{{names: "disable enable evaluateOnCallFrame getScriptSource pause removeBreakpoint resume setAsyncCallStackDepth setBlackboxPatterns setBreakpoint setBreakpointByUrl setBreakpointsActive setPauseOnExceptions setSkipAllPauses stepInto stepOut stepOver", where: inPage}}},
		{"DeviceOrientation", []rule{{names: "clearDeviceOrientationOverride setDeviceOrientationOverride", where: inPage}}},
		{"DOM", []rule{
			{names: "describeNode disable discardSearchResults enable focus getAttributes getBoxModel getContentQuads getDocument getElementByRelation getFlattenedDocument getFrameOwner getNodeForLocation getOuterHTML getSearchResults getTopLayerElements performSearch pushNodesByBackendIdsToFrontend querySelector querySelectorAll removeAttribute removeNode requestChildNodes requestNode resolveNode scrollIntoViewIfNeeded setAttributeValue setAttributesAsText setNodeName setNodeValue setOuterHTML", where: inPage},
			{names: "setFileInputFiles", where: inPage, note: giveNote, only: "files nodeId backendNodeId objectId", check: fileInputs},
		}},
		{"DOMDebugger", []rule{{names: "getEventListeners", where: inPage}}},
		{"DOMSnapshot", []rule{{names: "captureSnapshot disable enable", where: inPage}}},
		{"DOMStorage", []rule{{names: "clear disable enable getDOMStorageItems removeDOMStorageItem setDOMStorageItem", where: inPage}}},
		{"Emulation", []rule{{names: "canEmulate clearDeviceMetricsOverride clearGeolocationOverride clearIdleOverride resetPageScaleFactor setAutoDarkModeOverride setAutomationOverride setCPUThrottlingRate setDefaultBackgroundColorOverride setDeviceMetricsOverride setDocumentCookieDisabled setEmitTouchEventsForMouse setEmulatedMedia setEmulatedVisionDeficiency setFocusEmulationEnabled setGeolocationOverride setHardwareConcurrencyOverride setIdleOverride setLocaleOverride setPageScaleFactor setScriptExecutionDisabled setScrollbarsHidden setTimezoneOverride setTouchEmulationEnabled setUserAgentOverride", where: inPage}}},
		{"Fetch", []rule{
			{names: "continueResponse continueWithAuth disable enable failRequest fulfillRequest getResponseBody takeResponseBodyAsStream", where: inPage},
			{names: "continueRequest", where: inPage, note: "`url`, where it is changed, must be http or https; in a session with sites or rules for requests it may not be changed", check: continueRequest},
		}},
		{"HeapProfiler", []rule{{names: "collectGarbage disable enable", where: inPage}}},
		{"Input", []rule{
			{names: "cancelDragging emulateTouchFromMouseEvent imeSetComposition insertText setIgnoreInputEvents setInterceptDrags synthesizePinchGesture synthesizeScrollGesture synthesizeTapGesture dispatchTouchEvent", where: inPage},
			{names: "dispatchKeyEvent dispatchMouseEvent", where: inPage, note: "keys and buttons that are down are released when the client leaves", check: remembersInput},
			{names: "dispatchDragEvent", where: inPage, note: "the same for `data.files`", check: dragged},
		}},
		{"Inspector", []rule{{names: "disable enable", where: inPage}}},
		{"IO", []rule{{names: "close read resolveBlob", where: inPage}}},
		{"Log", []rule{{names: "clear disable enable startViolationsReport stopViolationsReport", where: inPage}}},
		{"Network", []rule{{names: "clearBrowserCache clearBrowserCookies deleteCookies disable emulateNetworkConditions emulateNetworkConditionsByRule enable getAllCookies getCookies getRequestPostData getResponseBody overrideNetworkState searchInResponseBody setBlockedURLs setBypassServiceWorker setCacheDisabled setCookie setCookies setExtraHTTPHeaders setUserAgentOverride streamResourceContent", where: inPage}}},
		{"Overlay", []rule{{names: "disable enable hideHighlight highlightNode highlightQuad highlightRect setShowViewportSizeOnResize", where: inPage}}},
		{"Page", []rule{
			{names: "addScriptToEvaluateOnNewDocument bringToFront captureScreenshot captureSnapshot close createIsolatedWorld disable enable getAppManifest getFrameTree getLayoutMetrics getNavigationHistory getResourceTree handleJavaScriptDialog reload removeScriptToEvaluateOnNewDocument resetNavigationHistory screencastFrameAck setBypassCSP setDocumentContent setFontFamilies setFontSizes setInterceptFileChooserDialog setLifecycleEventsEnabled setPrerenderingAllowed setWebLifecycleState startScreencast stopLoading stopScreencast printToPDF", where: inPage},
			{names: "navigate", where: inPage, note: addressNote, only: "url referrer transitionType frameId referrerPolicy", check: ownAddress},
			{names: "navigateToHistoryEntry", where: inPage},
			{names: "setDownloadBehavior", where: inPage, note: "does nothing: files go where the service keeps them", check: answersNothing},
		}},
		{"Performance", []rule{{names: "disable enable getMetrics setTimeDomain", where: inPage}}},
		{"PerformanceTimeline", []rule{{names: "enable", where: inPage}}},
		{"Preload", []rule{{names: "disable enable", where: inPage}}},
		{"Profiler", []rule{{names: "disable enable getBestEffortCoverage setSamplingInterval start startPreciseCoverage stop stopPreciseCoverage takePreciseCoverage", where: inPage}}},
		{"Runtime", []rule{
			{names: "addBinding awaitPromise callFunctionOn compileScript disable discardConsoleEntries enable evaluate getExceptionDetails getHeapUsage getIsolateId getProperties globalLexicalScopeNames queryObjects releaseObject releaseObjectGroup removeBinding runScript setAsyncCallStackDepth setCustomObjectFormatterEnabled setMaxCallStackSizeToCapture terminateExecution", where: inPage},
			{names: "runIfWaitingForDebugger", check: resumes},
		}},
		{"Security", []rule{{names: "disable enable", where: inPage}}},
		{"Storage", []rule{
			{names: "clearCookies getCookies setCookies", note: contextNote, check: ownContext},
			{names: "clearDataForOrigin clearDataForStorageKey getStorageKey getStorageKeyForFrame getUsageAndQuota", where: inPage},
		}},
		{"Target", []rule{
			{names: "getBrowserContexts", note: "answers with those that the client made", check: listContexts},
			{names: "createBrowserContext", note: "without `proxyServer` and other parameters that lead elsewhere; refused in a session with sites or rules for requests, which would not hold in it; ends with the connection", only: "disposeOnDetach", check: createContext, answer: madeContext},
			{names: "disposeBrowserContext", note: "only a context that the client made", only: "browserContextId", check: disposeContext},
			{names: "createTarget", note: addressNote + ". " + contextNote, only: "url left top width height windowState browserContextId enableBeginFrameControl newWindow background forTab focus", check: createTarget},
			{names: "getTargets", note: targetNote, answer: ownTargets},
			{names: "getTargetInfo", note: targetNote, only: "targetId", check: ownTargetOrSelf, answer: ownTargetInfo},
			{names: "activateTarget closeTarget", note: targetNote, only: "targetId", check: ownTarget},
			{names: "attachToTarget", note: targetNote + "; `flatten` must be true", only: "targetId flatten", check: attachToTarget},
			{names: "attachToBrowserTarget", where: atRoot},
			{names: "detachFromTarget", note: "only a session of the client", only: "sessionId targetId", check: ownSession},
			{names: "setAutoAttach", note: "`flatten` must be true", only: "autoAttach waitForDebuggerOnStart flatten filter", check: autoAttach},
			{names: "setDiscoverTargets", note: "the events are those of the session's targets", only: "discover filter"},
			{names: "getDevToolsTarget", note: "answers that there is none", check: answersNothing},
		}},
	}
	index = map[string]*rule{}
	for i := range commands {
		for k := range commands[i].rules {
			for _, name := range strings.Fields(commands[i].rules[k].names) {
				index[commands[i].name+"."+name] = &commands[i].rules[k]
			}
		}
	}
}

// index finds the rule of a command.
var index map[string]*rule

// refused has reasons for commands and domains that are not in the table. Of several that fit, the
// longest name decides.
var refused = []forbidden{
	{"Browser.crash Browser.crashGpuProcess Page.crash Memory", "it ends or stops the browser's processes", "to end a session, send DELETE /v1/sessions/{sessionId}"},
	{"Browser.getBrowserCommandLine Browser.getHistogram Browser.getHistograms SystemInfo", "it shows the service's machine", "Browser.getVersion names the browser"},
	{"Browser.executeBrowserCommand Browser.setDockTile Browser.setContentsSize", "the browser has no window", "set the size of a page with Emulation.setDeviceMetricsOverride"},
	{"Tracing", "a trace shows what the browser does for the service", "use the client's own trace, or Profiler and Performance"},
	{"Target.sendMessageToTarget", "it is a way around the rules for commands", "attach with flatten: true, and send commands with sessionId"},
	{"Target.exposeDevToolsProtocol", "pages would give commands to the browser", "use Runtime.addBinding"},
	{"Target.setRemoteLocations Target.autoAttachRelated Target.openDevTools", "it reaches beyond the session", "use Target.setAutoAttach"},
	{"Target.attachToBrowserTarget", "it belongs to the browser", "send it without sessionId"},
	{"Security.setIgnoreCertificateErrors Security.setOverrideCertificateErrors Security.handleCertificateError", "sites must show who they are", "the operator adds certificates: see docs/operations.md"},
	{"Network.setRequestInterception Network.continueInterceptedRequest", "it is out of date", "use Fetch.enable"},
	{"Network.loadNetworkResource", "it requests addresses past the rules for pages", "call fetch in the page"},
	{"DOM.getFileInfo Page.getResourceContent Page.searchInResource", "it can show files of the service's machine", "call fetch in the page"},
	{"FileSystem CacheStorage IndexedDB", "it reaches storage past the page", "read it by a script in the page"},
	{"Extensions PWA", "it installs programs in the browser", "there is no way to"},
	{"Fetch IO", "at the browser itself it reaches all requests", "send it to the session of a page"},
	{"Autofill BackgroundService BluetoothEmulation Cast DeviceAccess FedCm HeadlessExperimental LayerTree Media Ads CrashReportContext DigitalCredentials EventBreakpoints ServiceWorker SmartCardEmulation Tethering WebAudio WebAuthn WebMCP", "nobody has shown that it stays within the session", "tell the project what you need it for"},
}

// reason is why a command is refused that is not in the table.
func reason(method string, r *rule) forbidden {
	if r != nil {
		if r.where == atRoot {
			return forbidden{method, "it belongs to the browser", "send it without sessionId"}
		}
		return forbidden{method, "it belongs to a page", "send it with the sessionId of a page"}
	}
	name, _, _ := strings.Cut(method, ".")
	for _, want := range []string{method, name} {
		for _, f := range refused {
			if slices.Contains(strings.Fields(f.names), want) {
				return forbidden{method, f.why, f.instead}
			}
		}
	}
	return forbidden{method, "it is not among the commands that a client may send", "see docs/attach-commands.md for those"}
}
