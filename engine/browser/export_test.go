package browser

import "context"

// RehearseHands is rehearseHands, for the tests from outside.
func (t *Tab) RehearseHands(ctx context.Context) (well int, err error) { return t.rehearseHands(ctx) }

// AskedToLeave is the browser's word that the page was asked to leave.
func (t *Tab) AskedToLeave() {
	t.event("Page.frameRequestedNavigation", []byte(`{"frameId":"`+string(t.id)+`","reason":"formSubmissionGet","url":"http://a.test/","disposition":"currentTab"}`))
}

func ForgetHelp() { helped.Store(false) }
