package demo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

type visitor struct {
	*http.Client
	t   *testing.T
	url string
}

func visit(t *testing.T) visitor {
	s := httptest.NewServer(Handler())
	t.Cleanup(s.Close)
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return visitor{&http.Client{Jar: jar}, t, s.URL}
}

func (v visitor) read(resp *http.Response, err error) (int, string) {
	v.t.Helper()
	if err != nil {
		v.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return resp.StatusCode, string(b)
}

func (v visitor) open(path string) (int, string) { v.t.Helper(); return v.read(v.Get(v.url + path)) }

func (v visitor) login(user, password string) (int, string) {
	v.t.Helper()
	return v.read(v.PostForm(v.url+"/login", url.Values{"user": {user}, "password": {password}}))
}

func count(page, pattern string) int { return len(regexp.MustCompile(pattern).FindAllString(page, -1)) }

func TestProducts(t *testing.T) {
	v := visit(t)
	seen := map[string]bool{}
	path := "/"
	for page := 1; path != ""; page++ {
		status, body := v.open(path)
		if !strings.Contains(body, fmt.Sprintf(`<span id="page">Page %d of 3</span>`, page)) {
			t.Fatalf("%s: %d, not page %d", path, status, page)
		}
		cards := count(body, `<li class="product"`)
		if page == 1 && cards < 24 {
			t.Fatalf("%d products on the first page", cards)
		}
		for _, part := range []string{`<h3>[^<]+</h3>`, `<p class="price">€\d+\.\d\d</p>`, `<a class="link" href="/product/\d+">`, `<img src="data:image/svg[^"]+" alt="[^"]+"`} {
			if count(body, part) != cards {
				t.Errorf("%s: %d of %d cards have %s", path, count(body, part), cards, part)
			}
		}
		for _, m := range regexp.MustCompile(`<h3>([^<]+)</h3>`).FindAllStringSubmatch(body, -1) {
			seen[m[1]] = true
		}
		path = ""
		if m := regexp.MustCompile(`id="next" rel="next" href="([^"]+)"`).FindStringSubmatch(body); m != nil {
			path = m[1]
		}
	}
	if len(seen) != len(catalogue) {
		t.Fatalf("paging showed %d of %d products", len(seen), len(catalogue))
	}
	for _, page := range []string{"-1", "0", "x", "99999999999999999999"} {
		if status, body := v.open("/?page=" + page); status != 200 || count(body, `class="product"`) == 0 {
			t.Errorf("page %s: %d", page, status)
		}
	}
}

func TestSearch(t *testing.T) {
	v := visit(t)
	for q, want := range map[string]int{"lamp": 6, "OAK lamp": 1, "hill sheep": 10, "nothing like it": 0, "": 24} {
		_, body := v.open("/?q=" + url.QueryEscape(q))
		if got := count(body, `<li class="product"`); got != want {
			t.Errorf("%q: %d products, want %d", q, got, want)
		}
	}
	_, body := v.open("/?q=" + url.QueryEscape(`"><script>alert(1)</script>`))
	if strings.Contains(body, "<script>alert") || !strings.Contains(body, "&lt;script&gt;alert") {
		t.Error("the query is not escaped")
	}
	if _, body := v.open("/?q=a"); !strings.Contains(body, `href="/?page=2&amp;q=a"`) {
		t.Error("the next page forgets the query")
	}
}

func TestProductPages(t *testing.T) {
	v := visit(t)
	for _, p := range []product{catalogue[0], catalogue[len(catalogue)-1]} {
		status, body := v.open(p.Link)
		if status != 200 || !strings.Contains(body, "<h1>"+p.Name+"</h1>") || !strings.Contains(body, p.Price) {
			t.Errorf("%s: %d", p.Link, status)
		}
	}
	for _, path := range []string{"/product/0", "/product/61", "/product/x", "/product/", "/nothing", "/../etc/passwd"} {
		if status, body := v.open(path); status != 404 || !strings.Contains(body, `class="missing"`) {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestLogin(t *testing.T) {
	v := visit(t)
	_, form := v.open("/login")
	for _, id := range []string{"user", "password", "login"} {
		if !strings.Contains(form, `id="`+id+`"`) {
			t.Errorf("the form has no #%s", id)
		}
	}
	for _, try := range [][2]string{{"ann", "wrong"}, {"ann", ""}, {"", "demo"}, {strings.Repeat("x", 65), "demo"}} {
		if status, body := v.login(try[0], try[1]); status != 401 || !strings.Contains(body, `class="error"`) || strings.Contains(body, "Signed in") {
			t.Errorf("login as %.10q with %q: %d", try[0], try[1], status)
		}
	}
	if _, body := v.open("/account"); !strings.Contains(body, `id="login"`) {
		t.Error("a stranger sees the account")
	}
	if status, body := v.login("<b>ann", "demo"); status != 200 || !strings.Contains(body, `<span id="user-name">&lt;b&gt;ann</span>`) {
		t.Fatalf("after the login: %d", status)
	}
	if _, body := v.open("/account"); !strings.Contains(body, "Welcome back, &lt;b&gt;ann.") || count(body, `class="order"`) != 3 {
		t.Error("the account is not there")
	}
	other := visitor{&http.Client{}, t, v.url}
	if _, body := other.open("/"); strings.Contains(body, "Signed in") {
		t.Error("another visitor is signed in too")
	}
	u, _ := url.Parse(v.url)
	old := v.Jar.Cookies(u)
	v.read(v.PostForm(v.url+"/logout", nil))
	v.Jar.SetCookies(u, old) // as somebody would who kept the cookie
	if _, body := v.open("/"); strings.Contains(body, "Signed in") {
		t.Error("signed in after signing out")
	}
}

func TestVisitorsAreBounded(t *testing.T) {
	var v visitors
	request := func(key string) *http.Request {
		r := httptest.NewRequest("GET", "/", nil)
		r.AddCookie(&http.Cookie{Name: cookie, Value: key})
		return r
	}
	first := v.enter("first")
	v.leave(request(v.enter("left")))
	var last string
	for range 3 * maxVisitors {
		last = v.enter("more")
	}
	if len(v.names) > maxVisitors || len(v.order) > maxVisitors {
		t.Fatalf("%d visitors, %d in order", len(v.names), len(v.order))
	}
	if v.user(request(first)) != "" || v.user(request(last)) != "more" {
		t.Fatal("the oldest should be forgotten, and the newest not")
	}
}

func TestContact(t *testing.T) {
	v := visit(t)
	_, form := v.open("/contact")
	for _, input := range []string{`id="name"`, `type="email"`, `<select id="topic"`, `type="checkbox"`, `type="radio"`, `<textarea id="message"`, `type="date"`, `type="file"`} {
		if !strings.Contains(form, input) {
			t.Errorf("the form has no %s", input)
		}
	}
	if strings.Contains(form, `id="result"`) {
		t.Error("a result before anything was sent")
	}
	var b bytes.Buffer
	m := multipart.NewWriter(&b)
	for name, value := range map[string]string{
		"name": "Ann <b>", "email": "ann@example.com", "topic": "praise", "reply": "phone", "urgent": "yes", "date": "2026-12-24", "message": "two\nlines", "other": "unasked",
	} {
		m.WriteField(name, value)
	}
	f, _ := m.CreateFormFile("file", "a<i>.txt")
	io.WriteString(f, "12345")
	m.Close()
	status, body := v.read(v.Post(v.url+"/contact", m.FormDataContentType(), &b))
	for _, want := range []string{
		`id="result"`, `data-field="name">Ann &lt;b&gt;<`, `data-field="email">ann@example.com<`, `data-field="topic">praise<`, `data-field="reply">phone<`,
		`data-field="urgent">yes<`, `data-field="date">2026-12-24<`, `data-field="file">a&lt;i&gt;.txt (5 bytes)<`, "data-field=\"message\">two\nlines<",
	} {
		if status != 200 || !strings.Contains(body, want) {
			t.Errorf("%d, without %s", status, want)
		}
	}
	if strings.Contains(body, "unasked") {
		t.Error("a field that the form has not is shown")
	}
	if status, body := v.read(v.PostForm(v.url+"/contact", url.Values{"name": {"Bob"}})); status != 200 || !strings.Contains(body, `data-field="name">Bob<`) {
		t.Errorf("sent without a file: %d", status)
	}
	big := "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n" + strings.Repeat("x", maxUpload) + "\r\n--x--\r\n"
	if status, body := v.read(v.Post(v.url+"/contact", "multipart/form-data; boundary=x", strings.NewReader(big))); status != 400 || !strings.Contains(body, `class="error"`) {
		t.Errorf("too large a file: %d", status)
	}
}

func TestLive(t *testing.T) {
	v := visit(t)
	if _, body := v.open("/live"); !strings.Contains(body, `src="/live.js"`) || strings.Contains(body, `class="hit"`) {
		t.Error("the page should load its content by script")
	}
	if _, js := v.open("/live.js"); !strings.Contains(js, "'/api/products'") || !strings.Contains(js, "200)") {
		t.Error("the script does not ask for the products after 200 ms")
	}
	_, body := v.open("/api/products")
	var answer struct {
		Products []struct {
			ID               int
			Name, Price, URL string
		}
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Products) != len(catalogue) {
		t.Fatalf("%d products, %v", len(answer.Products), err)
	}
	if p := answer.Products[0]; p.ID != 1 || p.Name != "Oak Lamp" || p.URL != "/product/1" || p.Price != "€49.00" {
		t.Errorf("the first is %+v", p)
	}
	if _, body := v.open("/api/products?q=zzz"); strings.TrimSpace(body) != `{"products":[]}` {
		t.Errorf("nothing found is %s", body)
	}
}

// Everything comes from here, and pages hold together.
func TestEndless(t *testing.T) {
	v := visit(t)
	if _, body := v.open("/endless"); !strings.Contains(body, `src="/endless.js"`) || strings.Contains(body, `class="item"`) {
		t.Error("the page should load its content by script")
	}
	seen := map[int]bool{}
	for page, want := range map[string]int{"1": perPage, "2": perPage, "3": len(catalogue) - 2*perPage, "4": 0, "-1": perPage, "9223372036854775807": 0} {
		_, body := v.open("/api/products?page=" + page)
		var answer struct{ Products []struct{ ID int } }
		if err := json.Unmarshal([]byte(body), &answer); err != nil || len(answer.Products) != want {
			t.Errorf("page %s has %d products, want %d: %v", page, len(answer.Products), want, err)
		}
		for _, p := range answer.Products {
			seen[p.ID] = true
		}
	}
	if len(seen) != len(catalogue) {
		t.Errorf("the pages show %d products of %d", len(seen), len(catalogue))
	}
}

func TestPagesAreSelfContained(t *testing.T) {
	v := visit(t)
	v.login("ann", "demo")
	for _, path := range []string{"/", "/?q=zzz", "/product/1", "/login", "/account", "/contact", "/live", "/nothing"} {
		resp, err := v.Get(v.url + path)
		if err != nil {
			t.Fatal(err)
		}
		policy := resp.Header.Get("Content-Security-Policy")
		_, body := v.read(resp, nil)
		if !strings.HasPrefix(policy, "default-src 'self'") || regexp.MustCompile(`(src|href)="(https?:)?//`).MatchString(body) {
			t.Errorf("%s asks for something from elsewhere", path)
		}
		if count(body, `<h1>`) != 1 || !strings.Contains(body, `<html lang="en">`) || !strings.HasSuffix(strings.TrimSpace(body), "</html>") {
			t.Errorf("%s is no whole page", path)
		}
		if strings.Contains(body, "ZgotmplZ") || strings.Contains(body, "<no value>") {
			t.Errorf("%s has a hole", path)
		}
		for _, id := range regexp.MustCompile(`<label for="([^"]+)"`).FindAllStringSubmatch(body, -1) {
			if count(body, `id="`+id[1]+`"`) != 1 {
				t.Errorf("%s: the label for %q has no input", path, id[1])
			}
		}
	}
	if resp, err := v.Get(v.url + "/style.css"); err != nil || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/css") {
		t.Errorf("no style: %v", err)
	} else {
		resp.Body.Close()
	}
}
