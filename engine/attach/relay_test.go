package attach

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// deafBrowser is a browser that answers only what it is told to.
type deafBrowser struct {
	mu   sync.Mutex
	sent []string
	ask  []func(Answer)
	kept []func()
}

func (b *deafBrowser) Context() string      { return "own" }
func (b *deafBrowser) Root() string         { return "ROOT" }
func (b *deafBrowser) DownloadPath() string { return "/secret" }
func (b *deafBrowser) Bounded() bool        { return false }
func (b *deafBrowser) MayShow(string) bool  { return true }
func (b *deafBrowser) Open(string)          {}
func (b *deafBrowser) Kept(_ string, then func()) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = append(b.kept, then)
}
func (b *deafBrowser) File(name string) (string, error) {
	switch name {
	case "a.txt":
		return "/secret/up-1/a.txt", nil
	case "large":
		return "", errors.New("too much")
	}
	return "", ErrNoFile
}
func (b *deafBrowser) Drop(string)          {}
func (b *deafBrowser) LetGo(string, string) {}
func (b *deafBrowser) Adopt(string, bool)   {}
func (b *deafBrowser) Hold(bool)            {}
func (b *deafBrowser) Resume(string)        {}
func (b *deafBrowser) Send(session, method string, params []byte, answered func(Answer)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.sent = append(b.sent, session+" "+method+" "+string(params))
	b.ask = append(b.ask, answered)
}

// script is a client that says what it is given, and hears.
type script struct {
	say   chan string
	mu    sync.Mutex
	heard []string
	block chan struct{} // nil: it takes what it is sent
}

func (s *script) Read(ctx context.Context) ([]byte, error) {
	select {
	case m, ok := <-s.say:
		if !ok {
			return nil, errors.New("left")
		}
		return []byte(m), nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (s *script) Write(b []byte) error {
	if s.block != nil {
		<-s.block
		return errors.New("too slow")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard = append(s.heard, string(b))
	return nil
}

func (s *script) all() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.heard, "\n")
}

// TestRelayBounds: a command without an answer fails after its time, one more than may wait is refused,
// and a client that sends nothing for too long is idle.
func TestRelayBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c, conn := &deafBrowser{}, &script{say: make(chan string)}, New()
		var why End
		var last time.Time
		began := time.Now()
		over := make(chan struct{})
		go func() {
			why, last = conn.Serve(t.Context(), c, b, 20*time.Minute, nil)
			close(over)
		}()
		for i := range MaxWaiting + 1 {
			c.say <- fmt.Sprintf(`{"id":%d,"method":"Browser.getVersion"}`, i+1)
		}
		synctest.Wait()
		if n := len(b.sent); n != MaxWaiting || !strings.Contains(c.all(), "1000 commands wait") {
			t.Errorf("%d were sent: %s", n, c.all())
		}
		b.ask[0](Answer{Whole: []byte(`{"id":77,"result":{"a":"x"},"sessionId":"ROOT"}`)})
		synctest.Wait()
		if !strings.Contains(c.all(), `{"id":1,"result":{"a":"x"}}`) {
			t.Errorf("the answer is %s", c.all())
		}
		time.Sleep(CommandTime + 2*time.Second)
		synctest.Wait()
		if n := strings.Count(c.all(), "has no answer after 5 minutes"); n != MaxWaiting-1 {
			t.Errorf("%d have failed", n)
		}
		<-over
		if took := time.Since(began); why != EndIdle || took < 20*time.Minute || took > 21*time.Minute || !last.Equal(began) {
			t.Errorf("it ended after %v: %s, last %v", took, why, last.Sub(began))
		}
	})
}

// TestSlowClientIsCutOff: a client that does not take what it is sent is ended, and holds up nobody.
func TestSlowClientIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c, conn := &deafBrowser{}, &script{say: make(chan string), block: make(chan struct{})}, New()
		over := make(chan End, 1)
		go func() {
			why, _ := conn.Serve(t.Context(), c, b, 0, nil)
			over <- why
		}()
		synctest.Wait()
		event := make([]byte, 1<<20)
		for range MaxUnread>>20 + 2 {
			conn.Hear(Event{Method: "Log.entryAdded", Whole: event})
		}
		close(c.block)
		if why := <-over; why != EndSlow {
			t.Errorf("it ended with %s", why)
		}
	})
}

// TestCompleteDownloadsWait: a client hears that a download is complete once it can be fetched, and
// never where it is on the machine.
func TestCompleteDownloadsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c, conn := &deafBrowser{}, &script{say: make(chan string)}, New()
		over := make(chan struct{})
		go func() {
			conn.Serve(t.Context(), c, b, 0, nil)
			close(over)
		}()
		synctest.Wait()
		for _, state := range []string{"inProgress", "completed"} {
			params := `{"guid":"g1","state":"` + state + `","filePath":"/secret/g1"}`
			conn.Hear(Event{Method: "Browser.downloadProgress", Params: []byte(params), Whole: []byte(`{"method":"Browser.downloadProgress","params":` + params + `,"sessionId":"ROOT"}`)})
		}
		synctest.Wait()
		if all := c.all(); !strings.Contains(all, "inProgress") || strings.Contains(all, "completed") || len(b.kept) != 1 {
			t.Errorf("before it is kept the client heard %s", all)
		}
		b.kept[0]()
		synctest.Wait()
		if all := c.all(); !strings.HasSuffix(all, `{"method":"Browser.downloadProgress","params":{"guid":"g1","state":"completed"}}`) {
			t.Errorf("then it heard %s", all)
		}
		close(c.say)
		<-over
	})
}

// TestEventsOfOthers: what is about another context is not told, and no session with it is opened.
func TestEventsOfOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, c, conn := &deafBrowser{}, &script{say: make(chan string)}, New()
		over := make(chan struct{})
		go func() {
			conn.Serve(t.Context(), c, b, 0, nil)
			close(over)
		}()
		synctest.Wait()
		tell := func(method, params string) {
			conn.Hear(Event{Method: method, Params: []byte(params), Whole: []byte(`{"method":"` + method + `","params":` + params + `,"sessionId":"ROOT"}`)})
		}
		for _, of := range []string{"other", "own"} {
			info := `"targetInfo":{"targetId":"T-` + of + `","type":"page","browserContextId":"` + of + `"}`
			tell("Target.targetCreated", `{`+info+`}`)
			tell("Target.attachedToTarget", `{"sessionId":"S-`+of+`",`+info+`,"waitingForDebugger":false}`)
			tell("Target.targetDestroyed", `{"targetId":"T-`+of+`"}`)
		}
		c.say <- `{"id":1,"method":"Runtime.evaluate","params":{"expression":"1"},"sessionId":"S-other"}`
		c.say <- `{"id":2,"method":"Runtime.evaluate","params":{"expression":"1"},"sessionId":"S-own"}`
		close(c.say)
		<-over
		if all := c.all(); strings.Contains(all, "T-other") || strings.Count(all, "T-own") != 3 || strings.Contains(all, "ROOT") || !strings.Contains(all, "Session with given id not found") {
			t.Errorf("it heard %s", all)
		}
		if len(b.sent) != 1 || !strings.HasPrefix(b.sent[0], "S-own Runtime.evaluate") {
			t.Errorf("the browser was sent %q", b.sent)
		}
	})
}
