package browser

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// oneAtATime gives what it reads in pieces of random lengths.
type oneAtATime struct{ r io.Reader }

func (o oneAtATime) Read(b []byte) (int, error) { return o.r.Read(b[:1+rand.IntN(len(b))]) }

func (oneAtATime) Close() error { return nil }

// received reads one message.
func received(t *testing.T, text string) *message {
	t.Helper()
	m, err := newWire(oneAtATime{strings.NewReader(text + "\x00" + `{"id":7}` + "\x00")}, nil).read()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// quoted is a string as Chromium writes it.
func quoted(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r < ' ' || r > '~' && r < 0x10000:
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte("0123456789abcdef"[r>>shift&15])
			}
		default:
			b.WriteRune(r)
		}
	}
	return b.String() + `"`
}

// TestLongTextsOfAnswers: the text that a call is made for comes as it is,
// however it is written and wherever it is torn.
func TestLongTextsOfAnswers(t *testing.T) {
	t.Parallel()
	for _, piece := range []string{"x", "é", "漢", "😀", `"`, `\`, "\n", "\x01", `{"a":"b\\c"}`, "x\\\"é漢😀\n"} {
		want := strings.Repeat(piece, 200_000/len(piece))
		for _, in := range []string{quoted(want), string(mustJSON(t, want))} {
			m := received(t, `{"id":3,"result":{"result":{"type":"string","value":`+in+`}},"sessionId":"AB"}`)
			if string(m.long) != want || m.cut || m.ID != 3 || m.SessionID != "AB" {
				t.Fatalf("of %d times %q came %d bytes, cut: %v", len(want)/len(piece), piece, len(m.long), m.cut)
			}
			var res struct{ Result struct{ Type, Value string } }
			if err := json.Unmarshal(m.Result, &res); err != nil || len(res.Result.Value) > maxText+10 || !strings.HasSuffix(res.Result.Value, "…") ||
				!strings.HasPrefix(want, strings.TrimSuffix(res.Result.Value, "…")) || strings.Contains(res.Result.Value, half) {
				t.Fatalf("the message has %d bytes of %q, %v", len(res.Result.Value), piece, err)
			}
		}
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestHalvesOfCharacters: they come as what stands for them.
func TestHalvesOfCharacters(t *testing.T) {
	t.Parallel()
	pad := strings.Repeat("x", maxText)
	m := received(t, `{"id":1,"result":{"value":"`+pad+`\ud83dA\ud83d\n\ud83d\u0041\ude00\ud83d\ude00"}}`)
	if got := strings.TrimPrefix(string(m.long), pad); !strings.HasPrefix(got, "\uFFFDA\uFFFD\n\uFFFDA\uFFFD😀") {
		t.Errorf("got %q", got)
	}
}

// TestMessagesAreCut: what nobody has asked for has a bound, wherever it stands,
// and what comes after it is read.
func TestMessagesAreCut(t *testing.T) {
	t.Parallel()
	long := strings.Repeat(`y\"`, 1<<20)
	for name, c := range map[string]struct {
		in       string
		id       int64
		method   string
		most     int
		cut      bool
		hasParts string
	}{
		"a text of an event":        {`{"method":"Page.javascriptDialogOpening","params":{"url":"` + long + `","message":"` + long + `","type":"alert"},"sessionId":"AB"}`, 0, "Page.javascriptDialogOpening", 3 * maxText, false, `"type":"alert"`},
		"a value of an event":       {`{"method":"Runtime.consoleAPICalled","params":{"args":[{"type":"string","value":"` + long + `"}]},"sessionId":"AB"}`, 0, "Runtime.consoleAPICalled", 2 * maxText, false, `"type":"string"`},
		"a name in an event":        {`{"method":"Network.responseReceived","params":{"headers":{"` + long + `":"1"},"last":1},"sessionId":"AB"}`, 0, "Network.responseReceived", 2 * maxText, false, `"last":1`},
		"many texts of an event":    {`{"method":"Runtime.consoleAPICalled","params":{"args":[` + strings.Repeat(`{"type":"string","value":"abc"},`, 100_000) + `{}]},"sessionId":"AB"}`, 0, "Runtime.consoleAPICalled", 0, true, ""},
		"many numbers of an event":  {`{"method":"A.b","params":[` + strings.Repeat(`1,`, 1<<20) + `1],"sessionId":"AB"}`, 0, "A.b", 0, true, ""},
		"another text of an answer": {`{"id":9,"result":{"exceptionDetails":{"text":"` + long + `"}},"sessionId":"AB"}`, 9, "", 2 * maxText, false, `"exceptionDetails"`},
		"a value that is too long":  {`{"id":9,"result":{"result":{"value":"` + strings.Repeat("z", MaxReply+2<<20) + `"},"exceptionDetails":{"exception":{"value":"` + long + `"}}},"sessionId":"AB"}`, 9, "", 3 * maxText, true, `"exception"`},
		"too much in an answer":     {`{"id":9,"result":[` + strings.Repeat(`{"name":"abc"},`, 5<<18) + `1],"sessionId":"AB"}`, 9, "", 0, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWire(oneAtATime{strings.NewReader(c.in + "\x00" + `{"id":7}` + "\x00")}, nil)
			m, err := w.read()
			if err != nil {
				t.Fatal(err)
			}
			b := append(append([]byte{}, m.Params...), m.Result...)
			if m.ID != c.id || string(m.Method) != c.method || m.SessionID != "AB" || m.cut != c.cut || len(b) > c.most || len(m.long) != 0 {
				t.Errorf("got %d %s for %s with %d bytes and %d more, cut: %v", m.ID, m.Method, m.SessionID, len(b), len(m.long), m.cut)
			}
			if !strings.Contains(string(b), c.hasParts) || len(b) > 0 && !json.Valid(b) {
				t.Errorf("what came is %.300s", b)
			}
			if next, err := w.read(); err != nil || next.ID != 7 {
				t.Errorf("the message behind it is %v, %v", next, err)
			}
		})
	}
}

// TestCutMessagesOfABrokenPipe: one that ends within a message is over.
func TestCutMessagesOfABrokenPipe(t *testing.T) {
	t.Parallel()
	whole := `{"id":9,"result":{"value":"` + strings.Repeat(`\u00e9`, maxText) + `"}}`
	for _, n := range []int{1, 30, maxText, maxText + 1, maxText + 2, maxText + 3, 2 * maxText, len(whole)} {
		w := newWire(oneAtATime{strings.NewReader(whole[:n])}, nil)
		if m, err := w.read(); err == nil {
			t.Errorf("of %d bytes came %v", n, m.ID)
		}
	}
}
