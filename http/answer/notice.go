package answer

import (
	"encoding/json"

	"troupe/actors/api"
	"troupe/engine"
)

// Notice is a notice in an answer.
type Notice struct {
	NoticeID string           `json:"noticeId"` // receivers get it as webhook-id
	URL      string           `json:"url"`
	Event    string           `json:"event"`
	About    string           `json:"about"` // the task, the batch or the endpoint
	At       string           `json:"at"`
	Status   api.NoticeStatus `json:"status"`
	Attempts int              `json:"attempts"`
	Next     string           `json:"nextAt,omitempty"`
	Ended    string           `json:"endedAt,omitempty"`
	Tries    []NoticeTry      `json:"tries,omitempty"` // the last ones
}

// NoticeTry is an attempt to deliver a notice.
type NoticeTry struct {
	At     string `json:"at"`
	Took   int64  `json:"took"`             // milliseconds
	Status int    `json:"status,omitempty"` // of the answer
	Error  string `json:"error,omitempty"`
}

// Endpoint is a receiver in an answer.
type Endpoint struct {
	EndpointID string               `json:"endpointId"`
	URL        string               `json:"url"`
	Events     []engine.NoticeEvent `json:"events,omitempty"` // none: only tasks or batches name it
	Include    string               `json:"include,omitempty"`
	Failing    string               `json:"failingSince,omitempty"`
	Off        string               `json:"offSince,omitempty"`
	Reason     string               `json:"reason,omitempty"`
}

// OfNotice tells what became of a notice.
func OfNotice(n *api.Notice) Notice {
	a := Notice{NoticeID: n.ID, URL: n.URL, Event: n.Event, About: n.About, At: timeText(n.At), Status: n.Status, Attempts: n.Attempts, Next: timeText(n.Next), Ended: timeText(n.Ended)}
	for _, t := range n.Tries {
		a.Tries = append(a.Tries, NoticeTry{timeText(t.At), engine.Millis(t.Took), t.Status, t.Error})
	}
	return a
}

// OfEndpoint describes a receiver.
func OfEndpoint(p *api.Endpoint) Endpoint {
	a := Endpoint{EndpointID: p.ID, URL: p.Notify.URL, Events: p.Notify.Events, Failing: timeText(p.Failing), Off: timeText(p.Off), Reason: p.Reason}
	if p.Notify.Result {
		a.Include = "result"
	}
	return a
}

// ResultOf writes the answer of get-result about a task, for a notice.
func ResultOf(p *api.Polled) ([]byte, error) { return json.Marshal(OfPoll(p)) }
