package attach

import (
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// nothing is the result of commands that have none.
var nothing = struct{}{}

func answersNothing(_ *relay, c *command) error {
	c.result = nothing
	return nil
}

func closeBrowser(r *relay, c *command) error {
	c.result = nothing
	r.closes.Store(true)
	return nil
}

// ownContext lets a command about a context through. One that names none means the session's: the
// browser would take its own.
func ownContext(r *relay, c *command) error {
	id, there, err := c.text("browserContextId")
	switch {
	case err != nil:
		return err
	case !there && c.session.root:
		return c.set("browserContextId", r.browser.Context())
	case there && !r.mayContext(id):
		return errContext
	}
	return nil
}

var errContext = errors.New("browserContextId is not one of this connection's contexts: leave it out to mean the session's")

func downloads(r *relay, c *command) error {
	if err := ownContext(r, c); err != nil {
		return err
	}
	if _, there := c.params["browserContextId"]; !there {
		if err := c.set("browserContextId", r.browser.Context()); err != nil {
			return err
		}
	}
	behavior, _, err := c.text("behavior")
	if err != nil {
		return err
	}
	delete(c.params, "downloadPath")
	c.changed = true
	if behavior == "deny" {
		return nil
	}
	if err := c.set("behavior", "allowAndName"); err != nil {
		return err
	}
	return c.set("downloadPath", r.browser.DownloadPath())
}

func listContexts(r *relay, c *command) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	made := []string{}
	for id := range r.made {
		made = append(made, id)
	}
	c.result = map[string]any{"browserContextIds": made, "defaultBrowserContextId": r.browser.Context()}
	return nil
}

func createContext(r *relay, c *command) error {
	if r.browser.Bounded() {
		return errors.New("the session has sites or rules for requests, which would not hold in another context: use the one that is there")
	}
	r.mu.Lock()
	many := len(r.made) >= maxContexts
	r.mu.Unlock()
	if many {
		return fmt.Errorf("the connection has %d contexts already: dispose of some", maxContexts)
	}
	return c.set("disposeOnDetach", true)
}

func madeContext(r *relay, result []byte) (any, bool) {
	var made struct {
		ID string `json:"browserContextId"`
	}
	if json.Unmarshal(result, &made) == nil && made.ID != "" {
		r.adopt(made.ID, true)
	}
	return nil, false
}

func disposeContext(r *relay, c *command) error {
	id, _, err := c.text("browserContextId")
	if err != nil {
		return err
	}
	r.mu.Lock()
	mine := r.made[id]
	r.mu.Unlock()
	switch {
	case id == r.browser.Context():
		return errors.New("this is the session's own context: to end the session, send DELETE /v1/sessions/{sessionId}")
	case !mine:
		return errors.New("this connection made no such context")
	}
	r.adopt(id, false)
	return nil
}

func createTarget(r *relay, c *command) error {
	if err := ownAddress(r, c); err != nil {
		return err
	}
	id, there, err := c.text("browserContextId")
	switch {
	case err != nil:
		return err
	case !there:
		return c.set("browserContextId", r.browser.Context())
	case !r.mayContext(id):
		return errContext
	}
	return nil
}

func ownAddress(r *relay, c *command) error {
	address, there, err := c.text("url")
	switch {
	case err != nil:
		return err
	case !there:
		return errors.New("url is missing")
	case address == "" && c.Method == "Target.createTarget":
		return c.set("url", "about:blank")
	}
	if err := addressFault(address); err != nil {
		return err
	}
	if !r.browser.MayShow(address) {
		return fmt.Errorf("%q is not on one of the session's sites", short(address))
	}
	return nil
}

func continueRequest(r *relay, c *command) error {
	address, there, err := c.text("url")
	if err != nil || !there {
		return err
	}
	if name, _, ok := scheme(address); !ok || name != "http" && name != "https" {
		return errors.New("the scheme of url must be http or https")
	}
	if r.browser.Bounded() {
		return errors.New("the session has sites or rules for requests, which would not see another address: answer with Fetch.fulfillRequest, or leave url out")
	}
	return nil
}

func attachToTarget(r *relay, c *command) error {
	flat, err := c.yes("flatten")
	if err != nil {
		return err
	}
	if !flat {
		return errors.New("flatten must be true: other sessions are a way around the rules for commands")
	}
	return ownTarget(r, c)
}

func autoAttach(r *relay, c *command) error {
	on, err := c.yes("autoAttach")
	if err != nil {
		return err
	}
	flat, err := c.yes("flatten")
	if err != nil {
		return err
	}
	holds, err := c.yes("waitForDebuggerOnStart")
	if err != nil {
		return err
	}
	if on && !flat {
		return errors.New("flatten must be true: other sessions are a way around the rules for commands")
	}
	if c.session.root {
		r.browser.Hold(on && holds)
	}
	return nil
}

func ownSession(r *relay, c *command) error {
	id, there, err := c.text("sessionId")
	switch {
	case err != nil:
		return err
	case !there:
		return errors.New("sessionId is missing: targetId alone is out of date")
	}
	delete(c.params, "targetId")
	c.changed = true
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[id] == nil || id == "" {
		return errors.New("sessionId is not one of this connection's sessions")
	}
	return nil
}

func ownTargetOrSelf(r *relay, c *command) error {
	if _, there, err := c.text("targetId"); err != nil || !there {
		return err
	}
	return ownTarget(r, c)
}

// ownTarget asks the browser where a target belongs that the relay has not heard of yet.
func ownTarget(r *relay, c *command) error {
	id, _, err := c.text("targetId")
	if err != nil {
		return err
	}
	r.mu.Lock()
	known := r.targets[id]
	r.mu.Unlock()
	if known {
		return nil
	}
	var found struct {
		Info targetInfo `json:"targetInfo"`
	}
	if r.ask("Target.getTargetInfo", map[string]any{"targetId": id}, &found) != nil || !r.own(&found.Info) {
		return errors.New("there is no such target in this session: Target.getTargets lists those that there are")
	}
	return nil
}

// targetInfo is what is read of a target.
type targetInfo struct {
	ID      string `json:"targetId"`
	Type    string `json:"type"`
	Context string `json:"browserContextId"`
}

// own reports whether a target is the client's to see, and remembers it then.
func (r *relay) own(t *targetInfo) bool {
	if t.ID == "" || !r.mayContext(t.Context) {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.targets) < maxTargets {
		r.targets[t.ID] = true
	}
	return true
}

func ownTargets(r *relay, result []byte) (any, bool) {
	var all struct {
		Infos []jsontext.Value `json:"targetInfos"`
	}
	own := []jsontext.Value{}
	if json.Unmarshal(result, &all, lenient) == nil {
		for _, raw := range all.Infos {
			var t targetInfo
			if json.Unmarshal(raw, &t, lenient) == nil && r.own(&t) {
				own = append(own, raw)
			}
		}
	}
	return map[string]any{"targetInfos": own}, true
}

// ownTargetInfo hides a target that is not the client's, whatever the command has named.
func ownTargetInfo(r *relay, result []byte) (any, bool) {
	var found struct {
		Info targetInfo `json:"targetInfo"`
	}
	if json.Unmarshal(result, &found, lenient) == nil && (found.Info.Type == "browser" || r.own(&found.Info)) {
		return nil, false
	}
	return map[string]any{"targetInfo": map[string]any{"targetId": "", "type": "other", "title": "", "url": "", "attached": false, "canAccessOpener": false}}, true
}

func resumes(r *relay, c *command) error {
	if c.session.target != "" {
		r.browser.Resume(c.session.target)
	}
	return nil
}
