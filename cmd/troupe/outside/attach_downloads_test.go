package outside_test

import (
	"encoding/json"
	"strings"
	"testing"

	"troupe/testkit/need"
)

// TestDownloadsOfSessions: what a page sends to an attached client is kept, listed as soon as the client
// hears that it is complete, fetched over HTTP, and stays when the session ends.
func TestDownloadsOfSessions(t *testing.T) {
	need.All(t)
	t.Parallel()
	packages := attachPackages(t)
	k := newAttachKit(t)
	cmd, out, errs := attachScript(t, packages, "downloads.cjs", k.ticket(t, `{}`), k.site, k.base+"/v1/sessions/"+k.session+"/files", k.token)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, errs)
	}
	var seen map[string]any
	if err := json.Unmarshal(out.Bytes(), &seen); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for name, want := range map[string]any{"failure": nil, "first": "a downloaded file", "second": "a downloaded file", "listed": 2.0, "again": "file a downloaded file"} {
		if seen[name] != want {
			t.Errorf("%s is %v: want %v", name, seen[name], want)
		}
	}
	if text, _ := seen["save"].(string); text == "saved" {
		t.Error("saveAs works: docs/attach.md says that it does not")
	}
	var all sessionFiles
	k.do(t, "GET", "/v1/sessions/"+k.session+"/files", "", 200, &all)
	k.do(t, "DELETE", "/v1/sessions/"+k.session, "", 200, nil)
	if len(all.Files) != 2 || all.Files[0].Kind != "download" || all.Files[0].Size != 17 || all.Files[0].Name == "" {
		t.Fatalf("the files are %+v", all)
	}
	status, text := get(t, strings.TrimSuffix(k.base, "/"), "", "/files/"+all.Files[0].ID)
	if status != 200 || text != "a downloaded file" || !strings.HasSuffix(all.Files[0].URL, "/files/"+all.Files[0].ID) {
		t.Errorf("after the session, %s: %d %q", all.Files[0].URL, status, text)
	}
}
