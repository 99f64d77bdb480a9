package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/valyala/fasthttp"
)

// httpSide is a side of the measurement without browsers.
type httpSide struct {
	name, addr, token string
	cmd               *exec.Cmd
	stop              func()
}

// startHTTPSide starts this program again as one of the sides.
func startHTTPSide(name, kind, dir string) (*httpSide, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-http-side", kind, "-http-dir", dir)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	s := &httpSide{name: name, cmd: cmd, stop: func() {
		_ = in.Close()
		_ = cmd.Wait()
	}}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err == nil {
		_, err = fmt.Sscan(line, &s.addr, &s.token)
	}
	if err != nil {
		s.stop()
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return s, nil
}

const httpTask = `{"actions":[{"open":"https://example.com/text"},{"getText":"#h"}],"timeout":30000}`

// runHTTP measures what the service adds to HTTP: tasks of browsers that take
// no time, and polls, beside a handler that does nothing else.
func runHTTP(b *bench, p *part) error {
	dir, err := os.MkdirTemp("", "troupe-bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	data := filepath.Join(dir, "edge")
	if err := os.Mkdir(data, 0o700); err != nil {
		return err
	}
	// A task of an earlier life of the service is answered from the disk.
	old, err := lived(data)
	if err != nil {
		return err
	}
	edge, err := startHTTPSide("troupe", edgeSide, data)
	if err != nil {
		return err
	}
	defer edge.stop()
	plain, err := startHTTPSide("bare handler", bareSide, dir)
	if err != nil {
		return err
	}
	defer plain.stop()

	rounds, lasts := 5, 350*time.Millisecond
	if b.quick {
		rounds, lasts = 2, 150*time.Millisecond
	}
	p.say("%d rounds of %v each, in turn, over connections that stay open; processor time of the answering process. Ratios are troupe ÷ bare handler, medians over the rounds.", rounds, lasts)
	t := table{head: []string{"what", "clients", "side", "per second", "p50 µs", "p99 µs", "CPU µs", "rate ratio", "p50 more µs", "CPU ratio"}}
	for _, n := range []int{1, 16} {
		for _, w := range []struct {
			name string
			task func() (string, error)
		}{
			{"task", nil},
			{"poll, just ended", func() (string, error) { return ended(edge) }},
			{"poll, from the disk", func() (string, error) { return old, nil }},
		} {
			m := &httpWork{name: w.name, n: n, task: w.task, want: hollowResult}
			if err := m.measure(&t, []*httpSide{edge, plain}, rounds, lasts); err != nil {
				return err
			}
		}
	}
	p.add(t)
	return nil
}

// lived starts the service, lets it play an asynchronous task and ends it.
func lived(data string) (task string, err error) {
	s, err := startHTTPSide("troupe", edgeSide, data)
	if err != nil {
		return "", err
	}
	defer s.stop()
	return ended(s)
}

// ended plays an asynchronous task to its end.
func ended(s *httpSide) (task string, err error) {
	c, err := dialAll(s.addr, 1)
	if err != nil {
		return "", err
	}
	defer c.close()
	var answer fasthttp.Response
	var a struct{ TaskID, Status string }
	body := strings.TrimSuffix(httpTask, "}") + `,"async":true,"queueTimeout":10000}`
	if err := c.once(0, spell("POST", "/v1/", s.token, body), &answer); err != nil {
		return "", err
	}
	if err := json.Unmarshal(answer.Body(), &a); err != nil {
		return "", err
	}
	if err := c.once(0, spell("GET", "/v1/get-result?wait=10000&taskId="+a.TaskID, s.token, ""), &answer); err != nil {
		return "", err
	}
	if err := json.Unmarshal(answer.Body(), &a); err != nil || a.Status != "complete" {
		return "", fmt.Errorf("a task that takes no time does not end: %s", answer.Body())
	}
	return a.TaskID, nil
}

// httpWork is one request that is sent to all sides by so many clients.
type httpWork struct {
	name string
	n    int
	task func() (string, error) // to be polled; nil: one is sent
	want []byte
}

func (w *httpWork) request(s *httpSide) ([]byte, error) {
	if w.task == nil {
		return spell("POST", "/v1/", s.token, httpTask), nil
	}
	task, err := w.task()
	return spell("GET", "/v1/get-result?taskId="+task, s.token, ""), err
}

// round is what one side did in one round.
type round struct {
	rate, p50 float64 // per second, µs
}

func (w *httpWork) measure(t *table, sides []*httpSide, rounds int, lasts time.Duration) error {
	done := make([][]round, len(sides))
	took := make([][]time.Duration, len(sides))
	used := make([]float64, len(sides))
	for r := range rounds + 1 { // the first one warms up
		for i, s := range sides {
			request, err := w.request(s)
			if err != nil {
				return err
			}
			c, err := dialAll(s.addr, w.n)
			if err != nil {
				return err
			}
			before, began := cpu(s.cmd.Process.Pid), time.Now()
			list, err := c.hammer(request, w.want, lasts)
			lasted, after := time.Since(began), cpu(s.cmd.Process.Pid)
			c.close()
			if err != nil {
				return fmt.Errorf("%s, %s: %w", s.name, w.name, err)
			}
			if r == 0 {
				continue
			}
			used[i] += after - before
			done[i] = append(done[i], round{float64(len(list)) / lasted.Seconds(), micros(at(list, 50))})
			took[i] = append(took[i], list...)
		}
	}
	bare := len(sides) - 1
	for i, s := range sides {
		slices.Sort(took[i])
		each := used[i] * 1000 / float64(len(took[i]))
		row := []string{w.name, fmt.Sprint(w.n), s.name,
			fmt.Sprintf("%.0f", middle(done[i], func(j int) float64 { return done[i][j].rate })),
			fmt.Sprintf("%.0f", micros(at(took[i], 50))), fmt.Sprintf("%.0f", micros(at(took[i], 99))), fmt.Sprintf("%.1f", each)}
		if i != bare {
			row = append(row,
				fmt.Sprintf("%.2f", middle(done[i], func(j int) float64 { return done[i][j].rate / done[bare][j].rate })),
				fmt.Sprintf("%.0f", middle(done[i], func(j int) float64 { return done[i][j].p50 - done[bare][j].p50 })),
				fmt.Sprintf("%.1f", each/(used[bare]*1000/float64(len(took[bare])))))
		}
		t.row(row...)
	}
	return nil
}

// middle is the median over all rounds: one that somebody else's work disturbed
// does not count.
func middle[T any](rounds []T, of func(j int) float64) float64 {
	var all []float64
	for j := range rounds {
		all = append(all, of(j))
	}
	slices.Sort(all)
	return all[len(all)/2]
}

func micros(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1000 }
