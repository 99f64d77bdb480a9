package notice

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"time"

	"troupe/actors/api"
	"troupe/actors/outcome"
	"troupe/actors/records"
	"troupe/engine"
)

// payload is the body of a notice.
type payload struct {
	Type      string    `json:"type"`
	Timestamp time.Time `json:"timestamp"`
	Data      any       `json:"data"`
}

type taskData struct {
	TaskID   string          `json:"taskId"`
	Status   api.TaskStatus  `json:"status"`
	Code     engine.Code     `json:"code,omitempty"`
	Attempts int             `json:"attempts"`
	EndedAt  time.Time       `json:"endedAt"`
	BatchID  string          `json:"batchId,omitempty"`
	Index    *int            `json:"index,omitempty"` // of the item of the batch
	URL      string          `json:"url"`             // of the result
	Result   json.RawMessage `json:"result,omitempty"`
	Large    bool            `json:"resultTooLarge,omitempty"`
}

type batchData struct {
	BatchID  string         `json:"batchId"`
	Name     string         `json:"name,omitempty"`
	Status   api.BatchState `json:"status"`
	Items    int            `json:"items"`
	Complete int            `json:"complete"`
	Failed   int            `json:"failed"`
	EndedAt  time.Time      `json:"endedAt"`
	URL      string         `json:"url"` // of its results
}

type endpointData struct {
	EndpointID string    `json:"endpointId"`
	URL        string    `json:"url"`
	FailingAt  time.Time `json:"failingSince"`
	Reason     string    `json:"reason"`
}

// payload makes the body of a notice, with the result that it has in it, if any. It is the
// same for each attempt.
func (m *Notices) payload(n records.Notice, result *api.Executed) ([]byte, error) {
	p := payload{Type: n.Event, Timestamp: n.At.UTC()}
	switch {
	case n.Task != nil:
		t := n.Task
		d := taskData{TaskID: t.ID, Status: t.Status, Code: t.Code, Attempts: t.Attempts, EndedAt: t.Ended.UTC(), Large: t.Large && result == nil,
			URL: m.cfg.Address + "/v1/get-result?taskId=" + url.QueryEscape(t.ID)}
		if t.Batch != nil {
			d.BatchID, d.Index = t.Batch.Batch, &t.Batch.Item
		}
		if result != nil && m.cfg.Result != nil {
			var err error
			if d.Result, err = m.cfg.Result(&api.Polled{Status: outcome.Polled(result.Outcome.End), Executed: result}); err != nil {
				return nil, fmt.Errorf("write the result: %w", err)
			}
		}
		p.Data = d
	case n.Batch != nil:
		b := n.Batch
		p.Data = batchData{BatchID: b.ID, Name: b.Name, Status: b.State, Items: b.Items, Complete: b.Ended - b.Failed, Failed: b.Failed, EndedAt: n.At.UTC(),
			URL: m.cfg.Address + "/v1/batches/" + url.PathEscape(b.ID) + "/results"}
	case n.Off != nil:
		p.Data = endpointData{EndpointID: records.EndpointID(n.Off.URL), URL: n.Off.URL, FailingAt: n.Off.Failing.UTC(), Reason: n.Off.Reason}
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(p); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// about is the subject of a notice.
func about(n records.Notice) string {
	switch {
	case n.Task != nil:
		return n.Task.ID
	case n.Batch != nil:
		return n.Batch.ID
	case n.Off != nil:
		return records.EndpointID(n.Off.URL)
	}
	return ""
}
