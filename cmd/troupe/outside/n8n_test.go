package outside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var n8nProgram = flag.String("n8n", "", "the program n8n, with which TestRecipesInN8n executes the workflows of docs/recipes/n8n.md")

// TestRecipesInN8n executes the workflows of the documents in a real n8n, as its
// user would: each is imported as it stands, with the address of the service and
// a credential for it.
func TestRecipesInN8n(t *testing.T) {
	t.Parallel()
	if *n8nProgram == "" {
		t.Skip("there is no -n8n=PATH")
	}
	c, base := serve(t, t.TempDir(), "--log-level=error")
	token := tokenLine.FindStringSubmatch(c.out.String())
	if token == nil {
		t.Fatal("the first start shows no token")
	}
	n := newN8N(t)
	n.runs(t, "import:credentials", "--input="+n.file(t, []any{map[string]any{
		"id": "credential", "name": "Troupe", "type": "httpHeaderAuth", "data": map[string]string{"name": "Authorization", "value": "Bearer " + token[1]}}}))
	flows := map[string]bool{}
	for _, b := range blocksOf(t, "../../../docs/recipes/n8n.md") {
		var f map[string]any
		if err := json.Unmarshal([]byte(strings.ReplaceAll(b.text, described, base)), &f); err != nil {
			t.Fatal(err)
		}
		for _, node := range f["nodes"].([]any) {
			if node := node.(map[string]any); node["parameters"].(map[string]any)["authentication"] != nil {
				node["credentials"] = map[string]any{"httpHeaderAuth": map[string]string{"id": "credential", "name": "Troupe"}}
			}
		}
		f["id"] = strings.ReplaceAll(f["name"].(string), " ", "")
		flows[f["id"].(string)] = true
		n.runs(t, "import:workflow", "--input="+n.file(t, []any{f}))
	}
	for _, row := range []struct {
		flow, node string
		items      int
		want       string // in the JSON of the first
		picture    bool
	}{
		{"Products", "Each product", 12, `{"name":"Oak Lamp","price":"€49.00"}`, false},
		{"Picture", "Fetch it", 1, `"success":true`, true},
		{"Upload", "Send it", 1, `"data":"letter.txt (17 bytes)"`, false},
		{"Longjob", "Fetch the picture", 1, `"status":"complete"`, true},
		{"Errors", "Tell somebody", 1, `"code":"element_not_found"`, false},
	} {
		t.Run(row.flow, func(t *testing.T) {
			got := n.executes(t, row.flow)[row.node]
			if len(got) != row.items || !strings.Contains(asJSON(got[0].JSON), row.want) {
				t.Fatalf("%s gives %d items, want %d with %s:\n%s", row.node, len(got), row.items, row.want, asJSON(got))
			}
			var answer struct{ Data struct{ URL string } }
			if !row.picture {
				return
			}
			if err := json.Unmarshal([]byte(asJSON(got[0].JSON)), &answer); err != nil {
				t.Fatal(err)
			}
			_, picture := fetch(t, answer.Data.URL, "")
			if b := got[0].Binary["data"]; b.MimeType != "image/png" || b.Bytes != len(picture) || http.DetectContentType([]byte(picture)) != "image/png" {
				t.Errorf("the binary is %+v, and the picture has %d bytes", b, len(picture))
			}
		})
		delete(flows, row.flow)
	}
	if len(flows) > 0 {
		t.Errorf("nothing is said of what these give: %v", flows)
	}
}

// An n8n is its program and a folder of its own.
type n8n struct{ dir string }

func newN8N(t *testing.T) n8n { return n8n{t.TempDir()} }

// file writes what is to be imported.
func (n n8n) file(t *testing.T, v any) string {
	t.Helper()
	path := filepath.Join(n.dir, "import.json")
	if err := os.WriteFile(path, []byte(asJSON(v)), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// runs carries out a command of n8n, which tells nobody of it.
func (n n8n) runs(t *testing.T, args ...string) []byte {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, *n8nProgram, args...)
	cmd.Env = append(os.Environ(), "NO_PROXY=127.0.0.1", "N8N_USER_FOLDER="+n.dir, "N8N_DIAGNOSTICS_ENABLED=false", "N8N_VERSION_NOTIFICATIONS_ENABLED=false",
		"N8N_TEMPLATES_ENABLED=false", "N8N_LISTEN_ADDRESS=127.0.0.1", "N8N_COMMUNITY_PACKAGES_ENABLED=false", "N8N_RUNNERS_ENABLED=false")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("n8n %s: %v: %s", args[0], err, out)
	}
	return out
}

// An item is what nodes hand to each other.
type item struct {
	JSON   map[string]any
	Binary map[string]struct {
		MimeType string
		Bytes    int
	}
}

// executes executes a workflow, and tells what each node gave in its last run.
func (n n8n) executes(t *testing.T, id string) map[string][]item {
	t.Helper()
	out := n.runs(t, "execute", "--id="+id)
	var whole struct {
		Data struct {
			ResultData struct {
				Error   any
				RunData map[string][]struct {
					Data struct{ Main [][]item }
				}
			}
		}
	}
	at := bytes.Index(out, []byte("\n{"))
	if at < 0 || json.NewDecoder(bytes.NewReader(out[at:])).Decode(&whole) != nil || whole.Data.ResultData.Error != nil {
		t.Fatalf("the execution of %s says: %s", id, out)
	}
	all := map[string][]item{}
	for node, runs := range whole.Data.ResultData.RunData {
		for _, way := range runs[len(runs)-1].Data.Main {
			all[node] = append(all[node], way...)
		}
	}
	if len(all) == 0 {
		t.Fatal(fmt.Errorf("no node of %s ran: %s", id, out))
	}
	return all
}
