package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image/png"
	"io"
	"net/http"
	"os"
	"strings"
)

// work is one workload. It sends its requests through a client, which takes the
// time, and finds out whether each answer is right.
type work struct {
	name, what string
	run        func(c *client, base string) error
}

// works are what is measured. Their pages are in site.go.
var works = []work{
	{"W1", "open, getText", one(func(b string) string {
		return `{"open":"` + b + `/text"},{"getText":"#h"}`
	}, is(`"Hello, bench"`))},
	{"W2", "open, extractAll of 100 × 3 fields", one(func(b string) string {
		return `{"open":"` + b + `/cards"},{"extractAll":[".card",{"title":"h3","price":".price","link":["a","href"]}]}`
	}, hasCards)},
	{"W3", "open, fill 5 characters, fill 10, click, wait for what a fetch adds, getText", one(func(b string) string {
		return `{"open":"` + b + `/login"},{"fill":["#user","alice"]},{"fill":["#pass","secret1234"]},{"click":"#go"},{"waitForElement":".hello"},{"getText":".hello"}`
	}, is(`"Hello alice 10"`))},
	{"W4", "open, PNG of 1280 × 720", one(func(b string) string {
		return `{"open":"` + b + `/picture"},{"screenshot":"viewport"}`
	}, isPicture)},
	{"W5", "open, 20 evaluate", one(func(b string) string {
		list := make([]string, 20)
		for i := range list {
			list[i] = fmt.Sprintf(`{"evaluate":"return document.title + %d"}`, i)
		}
		return `{"open":"` + b + `/text"},` + strings.Join(list, ",")
	}, is(`"W119"`))},
	{"W6", "a session: 10 requests of open, getText, evaluate", playSession},
	{"W7", "open, a loop over 100 elements with 2 getText each", one(func(b string) string {
		return `{"open":"` + b + `/cards"},{"loop":{"each":".card","do":[` +
			`{"getText":"$this h3","options":{"push":"titles"}},{"getText":"$this .price","options":{"push":"prices"}}]}}`
	}, hasLists)},
	{"W8", "W1 as an asynchronous task: start, then a long poll", playLater},
}

// one is a workload of one request.
func one(actions func(base string) string, right func(*client, json.RawMessage) error) func(*client, string) error {
	return func(c *client, base string) error {
		a, err := c.post(`{` + c.config + `"actions":[` + actions(base) + `]}`)
		if err != nil {
			return err
		}
		return right(c, a.Data)
	}
}

func is(want string) func(*client, json.RawMessage) error {
	return func(_ *client, d json.RawMessage) error {
		if string(d) != want {
			return fmt.Errorf("want %s, not %.200s", want, d)
		}
		return nil
	}
}

func hasCards(_ *client, d json.RawMessage) error {
	var list []struct{ Title, Price, Link string }
	if err := json.Unmarshal(d, &list); err != nil || len(list) != 100 {
		return fmt.Errorf("want 100 products, not %.200s", d)
	}
	for i, p := range list {
		if p.Title != fmt.Sprint("Product ", i) || p.Price != fmt.Sprint(i, ".99") || p.Link != fmt.Sprint("/p/", i) {
			return fmt.Errorf("product %d is %v", i, p)
		}
	}
	return nil
}

func hasLists(_ *client, d json.RawMessage) error {
	var lists struct{ Titles, Prices []string }
	if err := json.Unmarshal(d, &lists); err != nil || len(lists.Titles) != 100 || len(lists.Prices) != 100 {
		return fmt.Errorf("want 100 titles and 100 prices, not %.200s", d)
	}
	for i := range lists.Titles {
		if lists.Titles[i] != fmt.Sprint("Product ", i) || lists.Prices[i] != fmt.Sprint(i, ".99") {
			return fmt.Errorf("element %d gave %q and %q", i, lists.Titles[i], lists.Prices[i])
		}
	}
	return nil
}

// isPicture looks at the picture where the answer says that it is.
func isPicture(c *client, d json.RawMessage) error {
	b, err := made(c, d)
	if err != nil {
		return err
	}
	size, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil || size.Width != 1280 || size.Height != 720 {
		return fmt.Errorf("want a picture of 1280 × 720, not %d × %d: %w", size.Width, size.Height, err)
	}
	return nil
}

// made reads the file whose address an answer has.
func made(c *client, d json.RawMessage) ([]byte, error) {
	var a struct{ URL string }
	if err := json.Unmarshal(d, &a); err != nil || a.URL == "" {
		return nil, fmt.Errorf("want the address of a file, not %.200s", d)
	}
	if path, ok := strings.CutPrefix(a.URL, "file://"); ok {
		defer os.Remove(path)
		return os.ReadFile(path)
	}
	req, err := http.NewRequestWithContext(c.ctx, http.MethodGet, a.URL, nil)
	if err != nil {
		return nil, err
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the file's address answers %d", res.StatusCode)
	}
	return io.ReadAll(res.Body)
}

// playSession keeps a worker for ten requests. Each of them counts in the page's
// storage, which only one and the same browser context can continue.
func playSession(c *client, base string) error {
	const requests = 10
	session := `"preserve":true`
	for i := 1; i <= requests; i++ {
		count := "return localStorage.n = 1 + Number(localStorage.n)"
		if i == 1 {
			count = "return localStorage.n = 1"
		}
		if i == requests {
			session += `,"close":true`
		}
		a, err := c.post(`{"actions":[{"open":"` + base + `/text"},{"getText":"#h"},{"evaluate":"` + count + `"}],"session":{` + session + `}}`)
		if err != nil {
			return err
		}
		if string(a.Data) != fmt.Sprint(i) {
			return fmt.Errorf("request %d of a session counts %.100s", i, a.Data)
		}
		if i == 1 {
			session = `"id":"` + a.SessionID + `"`
		}
	}
	return nil
}

func playLater(c *client, base string) error {
	a, err := c.post(`{"async":true,"actions":[{"open":"` + base + `/text"},{"getText":"#h"}]}`)
	if err != nil {
		return err
	}
	if a, err = c.poll(a.TaskID); err != nil {
		return err
	}
	if a.Status != "complete" {
		return fmt.Errorf("an asynchronous task is %q", a.Status)
	}
	return is(`"Hello, bench"`)(c, a.Data)
}
