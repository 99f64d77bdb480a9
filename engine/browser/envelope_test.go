package browser

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp/jsonv2"
	"github.com/chromedp/chromedp"
)

const aSession = "0123456789ABCDEF0123456789ABCDEF"

var envelopes = []struct {
	text  string
	plain bool // it is taken apart without being read as JSON
}{
	{`{"method":"Page.loadEventFired","params":{"timestamp":1.5},"sessionId":"` + aSession + `"}`, true},
	{`{"method":"Target.attachedToTarget","params":{"sessionId":"` + aSession + `","targetInfo":{"type":"page"}}}`, true},
	{`{"method":"Target.detachedFromTarget","params":{"targetId":"x","sessionId":"` + aSession + `"}}`, true},
	{`{"id":12,"result":{}}`, true},
	{`{"id":12,"result":{"result":{"value":"a\",\"sessionId\":\"b"}},"sessionId":"` + aSession + `"}`, true},
	{`{"id":12,"result":{"value":"}"},"sessionId":"` + aSession + `"}`, true},
	{`{"id":12,"error":{"code":-32000,"message":"no"},"sessionId":"` + aSession + `"}`, false},
	{`{"id":12,"result":{},"sessionId":"short"}`, false},
	{`{"id":12,"result":{},"sessionId":"` + aSession + `","more":1}`, false},
	{`{"method":"Page.loadEventFired","sessionId":"` + aSession + `"}`, false},
	{`{"method":"Page.loadEventFired","params":[1]}`, false},
	{`{"id":1.5,"result":{}}`, false},
	{`{"params":{},"method":"Page.loadEventFired"}`, false},
	{`{ "id":12,"result":{}}`, false},
	{`{"method":"a\"b","params":{}}`, false},
	{`{}`, false}, {``, false}, {`{"id":`, false}, {`{"id":1,"result":}`, false}, {`{"method":"x`, false},
}

func TestUnwrap(t *testing.T) {
	t.Parallel()
	for _, e := range envelopes {
		if got, plain := unwrap([]byte(e.text)); plain != e.plain {
			t.Errorf("%s: %v, want %v", e.text, plain, e.plain)
		} else if plain && !reflect.DeepEqual(&got, read(t, e.text)) {
			t.Errorf("%s: %+v", e.text, got)
		}
	}
}

// read is what the text is as JSON.
func read(t *testing.T, text string) *cdproto.Message {
	t.Helper()
	m := new(cdproto.Message)
	if err := jsonv2.Unmarshal([]byte(text), m, chromedp.DefaultUnmarshalOptions); err != nil {
		t.Fatal(err)
	}
	return m
}

// FuzzUnwrap: a message that is taken apart is what it is as JSON.
func FuzzUnwrap(f *testing.F) {
	for _, e := range envelopes {
		f.Add(e.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, plain := unwrap([]byte(text))
		if !plain || !json.Valid([]byte(text)) {
			return
		}
		if strings.Count(text, `"sessionId"`) > 1 || strings.Count(text, `"params"`)+strings.Count(text, `"result"`) > 1 {
			return // a browser writes none of them twice, and JSON has two meanings then
		}
		want := new(cdproto.Message)
		if jsonv2.Unmarshal([]byte(text), want, chromedp.DefaultUnmarshalOptions) == nil && !reflect.DeepEqual(&got, want) {
			t.Errorf("%q is\n%+v, not\n%+v", text, want, got)
		}
	})
}
