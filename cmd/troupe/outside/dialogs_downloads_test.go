package outside_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
)

// TestBesidesAreInEveryAnswer: dialogs, downloads and pictures are in the answer
// to a task, in the stored one that is given to a request that is repeated, and in
// that of a poll, and the files can be fetched.
func TestBesidesAreInEveryAnswer(t *testing.T) {
	t.Parallel()
	d := operatorCLI{t, filepath.Join(t.TempDir(), "data")}
	_, base := serve(t, d.data, "--workers=1", "--allow-private")
	token := d.says("token", "create", "--account=ada", "--plan=pro")
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/report" {
			w.Header().Set("Content-Disposition", `attachment; filename="report.pdf"`)
			_, _ = io.WriteString(w, "%PDF-1.4 a report")
			return
		}
		w.Header().Set("Content-Type", "text/html")
		_, _ = io.WriteString(w, "<p>x")
	}))
	t.Cleanup(site.Close)
	task := fmt.Sprintf(`"timeout":30000,"queueTimeout":20000,"actions":[{"open":%q},{"screenshot":"viewport"},{"evaluate":"return confirm('really?')"},{"open":%q},{"getText":"p"}]}`, site.URL, site.URL+"/report")
	send := func(body, key string) string {
		t.Helper()
		req, err := http.NewRequest("POST", base+"/v1/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer "+token)
		req.Header.Set("Content-Type", "application/json")
		if key != "" {
			req.Header.Set("Idempotency-Key", key)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	given := map[string]string{"the answer": send("{"+task, "one")}
	given["the answer again"] = send("{"+task, "one")
	if given["the answer again"] != given["the answer"] {
		t.Errorf("a request that is repeated is answered\n%s\nand before\n%s", given["the answer again"], given["the answer"])
	}
	started := send(`{"async":true,`+task, "")
	_, given["the poll"] = get(t, base, token, "/v1/get-result?wait=30000&taskId="+read(t, started).TaskID)
	for what, s := range given {
		var a struct {
			Data      string
			Dialogs   []struct{ Kind, Text, Answer string }
			Downloads []struct {
				Name, URL, Type string
				Size            int
			}
			Pictures []string
			Warnings []struct{ Message string }
		}
		if err := json.Unmarshal([]byte(s), &a); err != nil {
			t.Fatalf("%s: %v: %s", what, err, s)
		}
		if a.Data != "x" || fmt.Sprint(a.Dialogs) != "[{confirm really? accepted}]" || len(a.Downloads) != 1 || len(a.Pictures) != 1 ||
			!strings.Contains(fmt.Sprint(a.Warnings), `confirm dialog "really?" was accepted by default`) || strings.Contains(s, `"steps"`) {
			t.Errorf("%s: %s", what, s)
			continue
		}
		if f := a.Downloads[0]; f.Name != "report.pdf" || f.Type != "application/pdf" || f.Size != 17 {
			t.Errorf("%s has the download %+v", what, f)
		}
		for want, url := range map[string]string{"%PDF-1.4 a report": a.Downloads[0].URL, "\x89PNG": a.Pictures[0]} {
			if _, body := get(t, base, token, strings.TrimPrefix(url, base)); !strings.HasPrefix(body, want) {
				t.Errorf("%s: %s holds %.20q, want %q", what, url, body, want)
			}
		}
	}
}
