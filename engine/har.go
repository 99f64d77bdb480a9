package engine

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/engine/browser"
	"troupe/engine/lang"
)

// maxInlineHAR bounds a HAR in an answer. A larger one becomes a file.
const maxInlineHAR = 2 << 20

// HAR says what a task keeps of the requests of its pages.
type HAR struct {
	Inline   bool // in the answer, not as a file
	NoBodies bool
}

func (d *decoder) readHAR(n *lang.Node) *HAR {
	switch n.Kind {
	case 't':
		return &HAR{}
	case 'f':
		return nil
	}
	h := &HAR{}
	if !n.IsObject() {
		d.Fault(n, `want true, false or an object such as {"inline":true}, not %s`, n.Describe())
		return nil
	}
	d.ReadObject(n, "har",
		lang.Field("inline", func(f *lang.Node) { h.Inline = lang.BoolShape.Read(&d.Decoder, f) }),
		lang.Field("bodies", func(f *lang.Node) { h.NoBodies = !lang.BoolShape.Read(&d.Decoder, f) }),
	)
	return h
}

// The parts of HAR 1.2.
type (
	har struct {
		Log harLog `json:"log"`
	}
	harLog struct {
		Version string     `json:"version"`
		Creator harMaker   `json:"creator"`
		Pages   []harPage  `json:"pages"`
		Entries []harEntry `json:"entries"`
		Comment string     `json:"comment,omitempty"`
	}
	harMaker struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	harPage struct {
		Started string   `json:"startedDateTime"`
		ID      string   `json:"id"`
		Title   string   `json:"title"`
		Timings struct{} `json:"pageTimings"`
	}
	harEntry struct {
		Page     string      `json:"pageref,omitempty"`
		Started  string      `json:"startedDateTime"`
		Time     float64     `json:"time"`
		Request  harRequest  `json:"request"`
		Response harResponse `json:"response"`
		Cache    struct{}    `json:"cache"`
		Timings  harTimings  `json:"timings"`
		Server   string      `json:"serverIPAddress,omitempty"`
		Kind     string      `json:"_resourceType"`
	}
	harRequest struct {
		Method   string    `json:"method"`
		URL      string    `json:"url"`
		Protocol string    `json:"httpVersion"`
		Cookies  []harPair `json:"cookies"`
		Headers  []harPair `json:"headers"`
		Query    []harPair `json:"queryString"`
		Post     *harPost  `json:"postData,omitempty"`
		HeadSize int       `json:"headersSize"`
		BodySize int       `json:"bodySize"`
	}
	harPair struct {
		Name  string `json:"name"`
		Value string `json:"value"`
	}
	harPost struct {
		Type     string    `json:"mimeType"`
		Params   []harPair `json:"params"`
		Text     string    `json:"text"`
		Encoding string    `json:"encoding,omitempty"`
		Comment  string    `json:"comment,omitempty"`
	}
	harResponse struct {
		Status     int        `json:"status"`
		StatusText string     `json:"statusText"`
		Protocol   string     `json:"httpVersion"`
		Cookies    []harPair  `json:"cookies"`
		Headers    []harPair  `json:"headers"`
		Content    harContent `json:"content"`
		Redirect   string     `json:"redirectURL"`
		HeadSize   int        `json:"headersSize"`
		BodySize   int64      `json:"bodySize"`
		Wire       int64      `json:"_transferSize"`
	}
	harContent struct {
		Size     int    `json:"size"`
		Type     string `json:"mimeType"`
		Text     string `json:"text,omitempty"`
		Encoding string `json:"encoding,omitempty"`
		Comment  string `json:"comment,omitempty"`
	}
	harTimings struct {
		Blocked float64 `json:"blocked"`
		DNS     float64 `json:"dns"`
		Connect float64 `json:"connect"`
		TLS     float64 `json:"ssl"`
		Send    float64 `json:"send"`
		Wait    float64 `json:"wait"`
		Receive float64 `json:"receive"`
	}
)

// keepHAR keeps what the pages of a task have asked for: in a file, or in the answer.
func (r *Run) keepHAR(ctx context.Context, o *Outcome) {
	if r.archive == nil || o.End == EndCancelled || o.End == EndInterrupted {
		return
	}
	r.path = ""
	all, left := r.archive.Finish(ctx)
	b, err := json.Marshal(harOf(all, left))
	if err != nil {
		r.warn("the HAR could not be written: %v", err)
		return
	}
	if r.task.Config.HAR.Inline {
		if len(b) <= maxInlineHAR {
			o.HAR = b
			return
		}
		r.warn("the HAR has %d bytes, and %d are the limit in an answer: it is a file", len(b), maxInlineHAR)
	}
	if at := r.files.keep(ctx, File{Name: "requests.har", ContentType: "application/json", Inline: true}, b); at != "" {
		o.HARFile = at
	}
}

func harOf(all []browser.Exchange, left int) har {
	l := harLog{Version: "1.2", Creator: harMaker{"Troupe", "1"}, Pages: []harPage{}, Entries: make([]harEntry, 0, len(all))}
	if left > 0 {
		l.Comment = fmt.Sprintf("%d more requests did not fit", left)
	}
	known := map[int]bool{}
	for i := range all {
		q := &all[i]
		e := harEntry{Started: harTime(q.At), Server: q.Server, Kind: q.Kind, Request: requestOf(q), Response: responseOf(q), Timings: timingsOf(q)}
		e.Time = e.Timings.sum()
		if q.Page > 0 {
			e.Page = fmt.Sprintf("page_%d", q.Page)
			if !known[q.Page] { // the first of its exchanges is the document, or goes on to it
				known[q.Page] = true
				l.Pages = append(l.Pages, harPage{Started: e.Started, ID: e.Page, Title: q.URL.String()})
			}
		}
		l.Entries = append(l.Entries, e)
	}
	return har{l}
}

func harTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

func requestOf(q *browser.Exchange) harRequest {
	out := harRequest{Method: q.Method.String(), URL: q.URL.String(), Protocol: protocolOf(q), Cookies: []harPair{}, Headers: pairs(q.Sends), Query: []harPair{}, HeadSize: -1, BodySize: q.SentSize}
	_, query, _ := strings.Cut(out.URL, "?")
	out.Query = append(out.Query, queryPairs(query)...)
	if q.Sent.String() != "" {
		out.Post = &harPost{Type: header(q.Sends, "content-type"), Params: []harPair{}}
		out.Post.Text, out.Post.Encoding = harText(q.Sent.String())
	}
	if q.SentCut {
		out.BodySize = -1 // that is, it is not known
		if n, err := strconv.Atoi(header(q.Sends, "content-length")); err == nil {
			out.BodySize = n
		}
		if out.Post != nil {
			out.Post.Comment = "it is longer: this is its beginning"
		}
	}
	return out
}

func responseOf(q *browser.Exchange) harResponse {
	out := harResponse{Status: q.Status, StatusText: q.StatusText.String(), Protocol: protocolOf(q), Cookies: []harPair{}, Headers: pairs(q.Gets), HeadSize: -1, BodySize: -1, Wire: q.Wire}
	out.Content = harContent{Size: q.Size, Type: q.Type.String(), Comment: q.Missing}
	out.Content.Text, out.Content.Encoding = harText(q.Body.String())
	if q.Status >= 300 && q.Status < 400 {
		out.Redirect = header(q.Gets, "location")
	}
	return out
}

func pairs(all []browser.Field) []harPair {
	out := make([]harPair, len(all))
	for i, h := range all {
		out[i] = harPair{h.Name.String(), h.Value.String()}
	}
	return out
}

func header(all []browser.Field, name string) string {
	for _, h := range all {
		if strings.EqualFold(h.Name.String(), name) {
			return h.Value.String()
		}
	}
	return ""
}

// queryPairs are the parts of a query, in order.
func queryPairs(query string) (out []harPair) {
	for part := range strings.SplitSeq(query, "&") {
		if part == "" {
			continue
		}
		name, value, _ := strings.Cut(part, "=")
		out = append(out, harPair{unescaped(name), unescaped(value)})
	}
	return out
}

func unescaped(s string) string {
	if u, err := url.QueryUnescape(s); err == nil {
		return u
	}
	return s
}

// harText is a body as JSON can have it, and its encoding, where it has one.
func harText(s string) (text, encoding string) {
	if utf8.ValidString(s) {
		return s, ""
	}
	return base64.StdEncoding.EncodeToString([]byte(s)), "base64"
}

func protocolOf(q *browser.Exchange) string {
	switch q.Protocol {
	case "h2":
		return "HTTP/2.0"
	case "h3":
		return "HTTP/3.0"
	case "http/1.0":
		return "HTTP/1.0"
	}
	return "HTTP/1.1"
}

// timingsOf are the times of a request in milliseconds; -1: it had no such part.
func timingsOf(q *browser.Exchange) harTimings {
	t := q.Times()
	return harTimings{t.Blocked, t.DNS, t.Connect, t.TLS, t.Send, t.Wait, t.Receive}
}

// sum is the time of an entry: that of TLS is in that of the connection.
func (t harTimings) sum() float64 {
	n := t.Send + t.Wait + t.Receive
	for _, part := range []float64{t.Blocked, t.DNS, t.Connect} {
		n += max(0, part)
	}
	return math.Round(n*1000) / 1000
}
