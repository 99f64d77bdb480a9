package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"time"
)

// side is one of what is compared: a server in a process of its own.
type side struct {
	name   string
	url    string
	token  string
	cmd    *exec.Cmd
	client *http.Client
	stop   func()
}

func newClient() *http.Client {
	return &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64, DisableCompression: true}, Timeout: 2 * time.Minute}
}

// startService starts the service with everything in place: tokens, admission,
// actors, isolation, the outbound proxy.
func startService(bin, dir string, workers int) (*side, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	token, err := exec.Command(bin, "token", "create", "--data", dir, "--account", "bench", "--plan", "pro").Output()
	if err != nil {
		return nil, fmt.Errorf("making a token: %w: %s", err, stderrOf(err))
	}
	addr := fmt.Sprintf("127.0.0.1:%d", port)
	cmd := exec.Command(bin, "serve", "--listen", addr, "--data", dir, "--workers", fmt.Sprint(workers), "--allow-private", "--log-level", "error")
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting the service: %w", err)
	}
	s := &side{name: "troupe", url: "http://" + addr + "/v1/", token: strings.TrimSpace(string(token)), cmd: cmd, client: newClient()}
	s.stop = func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	}
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		res, err := http.Get("http://" + addr + "/readyz")
		if err == nil {
			res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return s, nil
			}
		}
		if time.Now().After(end) {
			s.stop()
			return nil, errors.New("starting the service: it is not ready after 30 s")
		}
	}
}

func stderrOf(err error) string {
	var e *exec.ExitError
	if errors.As(err, &e) {
		return string(e.Stderr)
	}
	return ""
}

// startRaw starts this program again as the raw client.
func startRaw(name, browserPath string, clean bool) (*side, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-raw", "-browser", browserPath, fmt.Sprintf("-clean=%v", clean))
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
		return nil, fmt.Errorf("starting the raw client: %w", err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, fmt.Errorf("starting the raw client: it ended at once: %w", err)
	}
	return &side{name: name, url: "http://" + strings.TrimSpace(line) + "/v1/", cmd: cmd, client: newClient(), stop: func() {
		in.Close()
		cmd.Wait()
	}}, nil
}

// do sends one task and checks its answer.
func (s *side) do(w work, base string) (time.Duration, error) {
	req, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(w.body(base)))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if s.token != "" {
		req.Header.Set("Authorization", "Bearer "+s.token)
	}
	start := time.Now()
	res, err := s.client.Do(req)
	if err != nil {
		return 0, err
	}
	b, err := io.ReadAll(res.Body)
	res.Body.Close()
	took := time.Since(start)
	if err != nil {
		return 0, err
	}
	var a struct {
		Success bool            `json:"success"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(b, &a); err != nil || !a.Success || !w.right(bytes.TrimSpace(a.Data)) {
		return 0, fmt.Errorf("%s gave a wrong answer to %s: %d %.300s", s.name, w.name, res.StatusCode, b)
	}
	return took, nil
}

func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}
