package api

import (
	"time"

	"troupe/engine"
)

// NoticeStatus is what became of a notice.
type NoticeStatus string

// The statuses of a notice.
const (
	NoticeWaiting   NoticeStatus = "waiting"   // for its next attempt
	NoticeDelivered NoticeStatus = "delivered" // the receiver has answered with 2xx
	NoticeFailed    NoticeStatus = "failed"    // the last attempt has failed
	NoticeOff       NoticeStatus = "off"       // its endpoint is switched off
)

// NoticeTry is an attempt to deliver a notice.
type NoticeTry struct {
	At     time.Time     `json:"at"`
	Took   time.Duration `json:"took"`
	Status int           `json:"status,omitempty"` // of the answer; zero: there was none
	Error  string        `json:"error,omitempty"`  // why it failed
}

// Notice is a notice as its account sees it.
type Notice struct {
	ID       string       `json:"ID"`
	URL      string       `json:"URL"`
	Event    string       `json:"Event"`
	About    string       `json:"About"` // the task, the batch or the endpoint
	At       time.Time    `json:"At"`
	Status   NoticeStatus `json:"Status"`
	Attempts int          `json:"Attempts"`
	Tries    []NoticeTry  `json:"Tries"` // the last ones
	Next     time.Time    `json:"Next"`  // the next attempt; zero: there is none
	Ended    time.Time    `json:"Ended"` // zero: it waits
}

// Endpoint is a receiver that an account has named, or one of its tasks that fails.
type Endpoint struct {
	ID      string        `json:"ID"`
	Notify  engine.Notify `json:"Notify"`  // without events: only tasks or batches name it
	Failing time.Time     `json:"Failing"` // since when each attempt fails; zero: the last one did not
	Off     time.Time     `json:"Off"`     // when it was switched off; zero: it is not
	Reason  string        `json:"Reason"`  // why it was
}

// ListNotices asks for a part of an account's notices.
type ListNotices struct {
	Account Account `json:"Account"`
	Waiting bool    `json:"Waiting"` // those that wait, the oldest first; else those that do not, the newest first
	After   string  `json:"After"`   // Next of the part before
	Most    int     `json:"Most"`
}

// NoticesListed answers [ListNotices].
type NoticesListed struct {
	Notices []Notice `json:"Notices"`
	Next    string   `json:"Next"` // empty: there are no more
	Refusal *Refusal `json:"Refusal"`
	// Unreadable are the identifiers of those in this part that the service's key does not open.
	Unreadable []string `json:"Unreadable,omitempty"`
}

// GetNotice asks for one notice.
type GetNotice struct {
	Account Account `json:"Account"`
	ID      string  `json:"ID"`
}

// Redeliver asks for a notice to be sent now, once more if it was sent.
type Redeliver struct {
	Account Account `json:"Account"`
	ID      string  `json:"ID"`
}

// Noticed answers the messages about one notice.
type Noticed struct {
	Notice  *Notice  `json:"Notice"`
	Refusal *Refusal `json:"Refusal"`
}

// ListEndpoints asks for the endpoints of an account.
type ListEndpoints struct {
	Account Account `json:"Account"`
}

// EndpointsListed answers [ListEndpoints].
type EndpointsListed struct {
	Endpoints []Endpoint `json:"Endpoints"`
	// Unreadable are the identifiers of those that the service's key does not open.
	Unreadable []string `json:"Unreadable,omitempty"`
	Refusal    *Refusal `json:"Refusal"`
}

// PutEndpoint names a receiver for all tasks and batches of an account.
type PutEndpoint struct {
	Account Account       `json:"Account"`
	Notify  engine.Notify `json:"Notify"`
}

// EndpointChange is what is to become of an endpoint.
type EndpointChange string

// The changes of an endpoint.
const (
	EndpointRemove EndpointChange = "remove"
	EndpointEnable EndpointChange = "enable" // it was switched off
)

// ChangeEndpoint asks for a change of an endpoint.
type ChangeEndpoint struct {
	Account Account        `json:"Account"`
	ID      string         `json:"ID"`
	Change  EndpointChange `json:"Change"`
}

// EndpointChanged answers the messages about one endpoint.
type EndpointChanged struct {
	Endpoint *Endpoint `json:"Endpoint"`
	Refusal  *Refusal  `json:"Refusal"`
}

// NoticeSecret asks for the secret that signs an account's notices.
type NoticeSecret struct {
	Account Account `json:"Account"`
	Rotate  bool    `json:"Rotate"` // make a new one
}

// NoticeSecretTold answers [NoticeSecret].
type NoticeSecretTold struct {
	Secret   string    `json:"Secret"`
	Previous string    `json:"Previous"` // signs as well until Until; empty: there is none
	Until    time.Time `json:"Until"`
	Refusal  *Refusal  `json:"Refusal"`
}

func (*ListNotices) reply(*NoticesListed)      {}
func (*GetNotice) reply(*Noticed)              {}
func (*Redeliver) reply(*Noticed)              {}
func (*ListEndpoints) reply(*EndpointsListed)  {}
func (*PutEndpoint) reply(*EndpointChanged)    {}
func (*ChangeEndpoint) reply(*EndpointChanged) {}
func (*NoticeSecret) reply(*NoticeSecretTold)  {}

func unnoticed[M any](_ *M, no *Refusal) *Noticed         { return &Noticed{Refusal: no} }
func unchanged[M any](_ *M, no *Refusal) *EndpointChanged { return &EndpointChanged{Refusal: no} }

var (
	_ = define(definition[ListNotices, NoticesListed]{failed: func(_ *ListNotices, no *Refusal) *NoticesListed { return &NoticesListed{Refusal: no} }})
	_ = define(definition[GetNotice, Noticed]{failed: unnoticed[GetNotice]})
	_ = define(definition[Redeliver, Noticed]{failed: unnoticed[Redeliver]})
	_ = define(definition[ListEndpoints, EndpointsListed]{failed: func(_ *ListEndpoints, no *Refusal) *EndpointsListed { return &EndpointsListed{Refusal: no} }})
	_ = define(definition[PutEndpoint, EndpointChanged]{failed: unchanged[PutEndpoint]})
	_ = define(definition[ChangeEndpoint, EndpointChanged]{failed: unchanged[ChangeEndpoint]})
	_ = define(definition[NoticeSecret, NoticeSecretTold]{failed: func(_ *NoticeSecret, no *Refusal) *NoticeSecretTold { return &NoticeSecretTold{Refusal: no} }})
)

func (n *NoticesListed) Refused() *Refusal    { return n.Refusal }
func (n *Noticed) Refused() *Refusal          { return n.Refusal }
func (n *EndpointsListed) Refused() *Refusal  { return n.Refusal }
func (n *EndpointChanged) Refused() *Refusal  { return n.Refusal }
func (n *NoticeSecretTold) Refused() *Refusal { return n.Refusal }
