package outside_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"

	"troupe/testkit/wait"
)

// Bounds of what is sent, as docs/limits.md has them.
const (
	largestTask  = 1 << 20
	largestFlow  = 256 << 10
	largestJSON  = 64 << 10
	largestState = 8 << 20
)

// numbers is the JSON of a list of numbers that a task or flow of so many bytes has room for:
// nothing else of that size takes as much memory when it is read.
func numbers(size int) string {
	n := min(size/2, 131_000) // values that a request may have
	list := `[` + strings.Repeat("1,", n-200) + `1]`
	return list
}

// padded fills a body up to what may be sent.
func padded(body string, size int) string {
	return body + strings.Repeat(" ", max(0, size-len(body)))
}

// task is a list of actions of the largest size, which does nothing.
func task(rest string, size int) string {
	return padded(`{"actions":[{"set":{"n":`+numbers(size)+`}}]`+rest+`}`, size)
}

// text is what does not get smaller when it is packed.
func text(size int) string {
	r := rand.New(rand.NewPCG(1, 2))
	b := make([]byte, size)
	for i := range b {
		b[i] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"[r.IntN(64)]
	}
	return string(b)
}

func state() string {
	return `{"cookies":[],"origins":[{"origin":"https://a.test","localStorage":[{"name":"a","value":"` + text(largestState-200) + `"}]}]}`
}

// largeResult is the largest result of a task but for some room.
const largeResult = `{"evaluate":"return 'x'.repeat(15*1048576)"}`

// made sends a request of the preparations.
func (k *besieged) makes(want int, method, path, body string, headers ...string) map[string]any {
	k.t.Helper()
	var a map[string]any
	if status := k.ask(method, path, k.eve, body, &a, headers...); status != want {
		k.t.Errorf("%s %s: %d %.500v", method, path, status, a)
	}
	return a
}

// field finds a field of an answer, or of an object in it.
func field(a map[string]any, name string) string {
	if v, ok := a[name]; ok {
		return fmt.Sprint(v)
	}
	for _, v := range a {
		if inner, ok := v.(map[string]any); ok {
			if found := field(inner, name); found != "" {
				return found
			}
		}
	}
	return ""
}

func (k *besieged) flows() {
	k.once("flows", func() string {
		for i := range 15 {
			k.makes(200, "PUT", fmt.Sprintf("/v1/flows/large-%d", i), task("", largestFlow-64))
		}
		return "large-0"
	})
}

func (k *besieged) profiles() {
	k.once("profiles", func() string {
		for i := range 3 {
			k.makes(200, "PUT", fmt.Sprintf("/v1/profiles/large-%d", i), state())
		}
		return "large-0"
	})
}

// result is a task that has ended with the largest result.
func (k *besieged) result() string {
	return k.once("result", func() string {
		id := field(k.makes(200, "POST", "/v1/", `{"async":true,"queueTimeout":120000,"actions":[`+largeResult+`]}`), "taskId")
		k.makes(200, "GET", "/v1/get-result?wait=60000&taskId="+id, "")
		return id
	})
}

const repeated = `{"queueTimeout":120000,"actions":[` + largeResult + `]}`

// key is an Idempotency-Key whose answer is of the largest size.
func (k *besieged) key() string {
	return k.once("key", func() string {
		k.makes(200, "POST", "/v1/", repeated, "Idempotency-Key: once")
		return "once"
	})
}

// batch is one whose results are large.
func (k *besieged) batch() string {
	return k.once("batch", func() string {
		id := field(k.makes(202, "POST", "/v1/batches", padded(`{"task":{"actions":[`+largeResult+`]},"items":[{"n":1},{"n":2}]}`, largestTask)), "batchId")
		k.makes(200, "GET", "/v1/batches/"+id+"?wait=60000", "")
		return id
	})
}

// lines are a batch with items of the largest size, of which each has a task of the largest.
func lines(items int) string {
	one := `{"n":"` + strings.Repeat("x", 256<<10-64) + `"}` + "\n"
	return `{"task":{"actions":[{"set":{"n":` + numbers(200_000) + `}},{"evaluate":"throw 1"}]}}` + "\n" + strings.Repeat(one, items)
}

// failed is a batch whose items have failed.
func (k *besieged) failed() string {
	return k.once("failed", func() string {
		id := field(k.makes(202, "POST", "/v1/batches", lines(8), "Content-Type: application/x-ndjson"), "batchId")
		k.makes(200, "GET", "/v1/batches/"+id+"?wait=60000", "")
		return id
	})
}

// paused is a batch that waits, for one row alone.
func (k *besieged) paused(what string) string {
	return k.once(what, func() string {
		id := field(k.makes(202, "POST", "/v1/batches", `{"task":{"actions":[{"wait":500}]},"items":[{"n":1},{"n":2},{"n":3}]}`), "batchId")
		k.makes(200, "POST", "/v1/batches/"+id+"/pause", "{}")
		return id
	})
}

// dropped is a batch that was cancelled at once.
func (k *besieged) dropped() string {
	return k.once("dropped", func() string {
		id := field(k.makes(202, "POST", "/v1/batches", lines(40), "Content-Type: application/x-ndjson"), "batchId")
		k.makes(200, "POST", "/v1/batches/"+id+"/cancel", "{}")
		k.makes(200, "GET", "/v1/batches/"+id+"?wait=60000", "")
		return id
	})
}

// schedules are some of the largest size, which have no runs.
func (k *besieged) schedules() {
	k.once("schedules", func() string {
		for i := range 20 {
			k.makes(201, "POST", "/v1/schedules", fmt.Sprintf(`{"scheduleId":"large-%d","paused":true,"every":3600000,"task":%s}`, i, task("", 900_000)))
		}
		return "large-0"
	})
}

// notice is one that waits, with a large result.
func (k *besieged) notice() string {
	return k.once("notice", func() string {
		for range 2 {
			k.makes(200, "POST", "/v1/", `{"async":true,"queueTimeout":120000,"actions":[{"evaluate":"return 'x'.repeat(900000)"}],"notify":[{"url":"http://demo.troupe.test/hook","include":"result"}]}`)
		}
		var list struct{ Notices []struct{ NoticeID string } }
		wait.Until(k.t, "a notice waits", func() bool {
			k.ask("GET", "/v1/notices?status=waiting", k.eve, "", &list) // nobody receives them
			return len(list.Notices) > 0
		})
		return list.Notices[0].NoticeID
	})
}

// endpoints are as many as there may be, with addresses of the largest size.
func (k *besieged) endpoint() string {
	return k.once("endpoint", func() string {
		id := ""
		for i := range 20 {
			id = field(k.makes(200, "POST", "/v1/endpoints", fmt.Sprintf(`{"url":"http://demo.troupe.test/hook/%d/%s"}`, i, strings.Repeat("x", 1900))), "endpointId")
		}
		return id
	})
}

// file is a download of the largest size but for some room.
func (k *besieged) file() string {
	return k.once("file", func() string {
		a := k.makes(200, "POST", "/v1/", `{"queueTimeout":120000,"actions":[{"open":"http://demo.troupe.test/"},{"evaluate":"const a=document.createElement('a');a.href=URL.createObjectURL(new Blob([new Uint8Array(24*1048576)]));a.download='f.bin';a.click()"},{"wait":3000}]}`)
		b, _ := json.Marshal(a)
		_, rest, ok := strings.Cut(string(b), k.base)
		if !ok {
			k.t.Fatalf("no file was kept: %.500s", b)
		}
		path, _, _ := strings.Cut(rest, `"`)
		return path
	})
}

// recent are the last tasks of the account, with results as large as they are remembered.
func (k *besieged) recent() string {
	id := ""
	for range 10 {
		id = field(k.makes(200, "POST", "/v1/", `{"queueTimeout":120000,"actions":[{"set":{"a":1}},{"evaluate":"return 'x'.repeat(1000)"}]}`), "taskId")
	}
	return id
}

// session is one that shows a page.
func (k *besieged) session() string {
	return field(k.makes(200, "POST", "/v1/", `{"queueTimeout":120000,"session":{"preserve":true},"actions":[{"open":"http://demo.troupe.test/"}]}`), "sessionId")
}

// tool is a call of a tool.
func tool(name, arguments string) func(*besieged) string {
	return func(*besieged) string {
		return padded(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"`+name+`","arguments":`+arguments+`}}`, largestTask)
	}
}

func says(body string, size int) func(*besieged) string {
	return func(*besieged) string { return padded(body, size) }
}

func at(path string) func(*besieged) string { return func(*besieged) string { return path } }

// closeSessions ends what the account's sessions hold.
func (k *besieged) closeSessions() {
	list, _ := k.makes(200, "GET", "/v1/workers", "")["workers"].([]any)
	for _, one := range list {
		if id, _ := one.(map[string]any)["sessionId"].(string); id != "" {
			k.ask("POST", "/v1/", k.eve, `{"session":{"id":"`+id+`","close":true}}`, nil)
		}
	}
}
