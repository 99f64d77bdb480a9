package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"troupe/engine/browser"
	"troupe/engine/egress"
)

// rawServer plays tasks in the tabs of raw clients.
type rawServer struct {
	after func(*raw) error // each answer, or the last one of a session, before the next task; nil: nothing
	free  chan *raw

	mu       sync.Mutex
	next     int
	sessions map[string]*raw
	jobs     map[string]chan []byte
}

type rawTask struct {
	Actions []map[string]json.RawMessage
	Async   bool
	Config  struct{ Trace bool }
	Session struct {
		ID              string
		Preserve, Close bool
	}
}

// serveRaw runs the raw client as a server of its own, so that its processor
// time can be counted, until its standard input is closed. Its browsers go out
// through a proxy of the service's kind in the same process, or directly.
func serveRaw(path string, after func(*raw) error, direct, frames bool, tabs int) error {
	dir, err := os.MkdirTemp("", "troupe-raw")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o711); err != nil {
		return err
	}
	through := ""
	if !direct {
		proxy, err := egress.Start(egress.Config{AllowPrivate: true, Log: zerolog.Nop()})
		if err != nil {
			return err
		}
		defer proxy.Close()
		proxy.Admit(browser.Options{}.User())
		through = proxy.Addr()
	}
	s := &rawServer{after: after, free: make(chan *raw, tabs), sessions: map[string]*raw{}, jobs: map[string]chan []byte{}}
	for range tabs {
		r, stop, err := openRaw(path, dir, through, frames)
		if err != nil {
			return err
		}
		defer stop()
		s.free <- r
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(l.Addr())
	go http.Serve(l, http.HandlerFunc(s.serve))
	io.Copy(io.Discard, os.Stdin)
	return nil
}

func (s *rawServer) serve(w http.ResponseWriter, req *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if req.Method == http.MethodGet {
		id := req.URL.Query().Get("taskId")
		s.mu.Lock()
		job := s.jobs[id]
		delete(s.jobs, id)
		s.mu.Unlock()
		w.Write(<-job)
		return
	}
	var task rawTask
	json.NewDecoder(req.Body).Decode(&task)
	if !task.Async {
		answer, r := s.play(&task)
		w.Write(answer)
		if f, ok := w.(http.Flusher); ok {
			f.Flush()
		}
		s.release(r)
		return
	}
	job := make(chan []byte, 1)
	s.mu.Lock()
	s.next++
	id := strconv.Itoa(s.next)
	s.jobs[id] = job
	s.mu.Unlock()
	fmt.Fprintf(w, `{"success":true,"async":true,"taskId":%q}`, id)
	go func() {
		answer, r := s.play(&task)
		job <- answer
		s.release(r)
	}()
}

// play returns the answer, and the tab if no session keeps it.
func (s *rawServer) play(task *rawTask) ([]byte, *raw) {
	id := task.Session.ID
	var r *raw
	if id == "" {
		r = <-s.free
	} else {
		s.mu.Lock()
		r = s.sessions[id]
		s.mu.Unlock()
	}
	var last json.RawMessage
	var steps []step
	for _, a := range task.Actions {
		var o struct{ Iframe struct{ URL string } }
		if len(a["options"]) > 0 {
			json.Unmarshal(a["options"], &o)
			delete(a, "options")
		}
		for name, v := range a {
			start := time.Now()
			last = r.act(name, v, o.Iframe.URL)
			steps = append(steps, step{name, float64(time.Since(start).Microseconds()) / 1000})
		}
	}
	told := []byte("null")
	if task.Config.Trace {
		told, _ = json.Marshal(steps)
	}
	if len(last) == 0 {
		last = json.RawMessage(`{"success":true}`)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if task.Session.Close {
		delete(s.sessions, id)
	} else if task.Session.Preserve {
		s.next++
		id = strconv.Itoa(s.next)
		s.sessions[id] = r
	}
	answer := fmt.Appendf(nil, `{"success":true,"status":"complete","sessionId":%q,"data":%s,"steps":%s}`, id, last, told)
	if s.sessions[id] == r {
		r = nil
	}
	return answer, r
}

func (s *rawServer) release(r *raw) {
	switch {
	case r == nil:
	case s.after == nil:
		s.free <- r
	default:
		go func() {
			if err := s.after(r); err != nil {
				fmt.Fprintln(os.Stderr, "bench:", err)
				os.Exit(1)
			}
			s.free <- r
		}()
	}
}
