package notice

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"troupe/actors/api"
	"troupe/actors/records"
	"troupe/persistence"
)

const (
	// writeAgain is how long after a failed write an attempt is written again.
	writeAgain = 5 * time.Second
	// unsignedAgain is how long after a secret could not be opened it is read again.
	unsignedAgain = time.Minute
	// keptTries is how many attempts the record of a notice has.
	keptTries = 20
	// maxRetryAfter bounds how long a receiver may ask to be left alone.
	maxRetryAfter = time.Hour
	userAgent     = "Troupe-Notices/1"
)

// send makes an attempt, and writes down what became of it.
func (m *Notices) send(l *line, e *entry) {
	again, ok := time.Now().Add(writeAgain), false
	defer func() {
		if v := recover(); v != nil { // a fault in one notice is not to end the service
			m.cfg.Log.Error().Interface("panic", v).Str("notice", e.id).Msg("notice not sent")
			again = time.Now().Add(time.Minute)
		}
		m.sent(l, e, again, ok)
	}()
	a, disk := l.account, m.cfg.Records.Notices()
	if m.cfg.Serves != nil && !m.cfg.Serves() { // another node may deliver by now
		return
	}
	n, err := disk.Read(a.ctx, records.NoticeKey(a.id, e.id))
	if errors.Is(err, persistence.ErrNotFound) || errors.Is(err, persistence.ErrSealed) {
		again, ok = time.Time{}, true
		return
	}
	if err == nil && m.isOff(a, n.URL) {
		n.Status, n.Next, n.Ended = api.NoticeOff, time.Time{}, time.Now()
		if err = disk.End(a.ctx, n); err == nil {
			again, ok = time.Time{}, true
			m.cfg.Counts.ended(n.Status)
		}
		m.logError(a, err, n, "notice for an endpoint that is off not written down")
		return
	}
	if err != nil {
		m.logError(a, err, n, "notice not read")
		return
	}
	result, err := disk.Result(a.ctx, n)
	if err != nil {
		m.logError(a, err, n, "notice not read")
		return
	}
	secret, err := m.secret(a.ctx, a.id)
	if err != nil { // that is not the receiver's fault: this is no attempt
		if errors.Is(err, persistence.ErrSealed) {
			again = time.Now().Add(unsignedAgain)
		}
		m.logError(a, err, n, "notice not signed: the secret of its account cannot be read")
		return
	}
	try, after := m.attempt(a, n, result, secret)
	if a.ctx.Err() != nil { // the node ends, or the account is removed
		return
	}
	ok = try.Error == ""
	gone := try.Status == http.StatusGone
	n.Attempts++
	n.Round++
	n.Tries = append(n.Tries, try)
	n.Tries = n.Tries[max(0, len(n.Tries)-keptTries):]
	next := m.next(n, after)
	switch {
	case ok:
		n.Status, n.Next, n.Ended = api.NoticeDelivered, time.Time{}, time.Now()
	case gone || next.IsZero():
		n.Status, n.Next, n.Ended = api.NoticeFailed, time.Time{}, time.Now()
	default:
		n.Next = next
	}
	for wait := writeAgain; ; { // an attempt that is not written down is not made again at once
		if n.Ended.IsZero() {
			err = disk.Retry(a.ctx, n)
		} else {
			err = disk.End(a.ctx, n)
		}
		if err == nil {
			break
		}
		m.logError(a, err, n, "attempt of a notice not written down")
		select {
		case <-time.After(wait):
		case <-a.ctx.Done():
			return
		}
	}
	again = n.Next
	m.cfg.Counts.ended(n.Status)
	m.cfg.Log.Debug().Str("notice", n.ID).Str("account", persistence.AccountName(a.id)).Str("status", string(n.Status)).Int("answer", try.Status).Dur("took", try.Took).Msg("notice sent")
	if err := m.note(a, n.URL, try, gone); err != nil {
		m.logError(a, err, n, "state of an endpoint not written down")
	}
}

func (m *Notices) logError(a *account, err error, n records.Notice, text string) {
	if err != nil && a.ctx.Err() == nil {
		m.cfg.Log.Error().Err(err).Str("notice", n.ID).Str("account", persistence.AccountName(a.id)).Msg(text)
	}
}

// next is when the next attempt is; zero: there is none any more.
func (m *Notices) next(n records.Notice, after time.Duration) time.Time {
	if n.Round > len(m.cfg.Delays) {
		return time.Time{}
	}
	d := m.cfg.Delays[n.Round-1]
	d += rand.N(d/10 + 1) // what has failed together is not sent together again
	return time.Now().Add(max(d, min(after, maxRetryAfter)))
}

// attempt sends a notice once. After is how long its receiver wants to be left alone.
func (m *Notices) attempt(a *account, n records.Notice, result *api.Executed, secret records.NoticeSecret) (try api.NoticeTry, after time.Duration) {
	began := time.Now()
	try.At = began
	defer func() { try.Took = time.Since(began) }()
	body, err := m.payload(n, result)
	if err == nil {
		ctx, cancel := context.WithTimeout(a.ctx, m.cfg.Timeout)
		defer cancel()
		try.Status, after, err = m.post(ctx, n, secret, body)
	}
	switch {
	case err != nil:
		try.Error = m.why(err)
	case try.Status >= 300 && try.Status < 400:
		try.Error = fmt.Sprintf("the receiver answered %d: redirects are not followed", try.Status)
	case try.Status < 200 || try.Status >= 300:
		try.Error = fmt.Sprintf("the receiver answered %d", try.Status)
	}
	return try, after
}

// why is what an account reads about an attempt without an answer.
func (m *Notices) why(err error) string {
	var late net.Error
	if errors.Is(err, context.DeadlineExceeded) || errors.As(err, &late) && late.Timeout() {
		return fmt.Sprintf("no answer within %v", m.cfg.Timeout)
	}
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner // the outermost has the method and the URL
		break
	}
	const most = 300
	text := err.Error()
	return text[:min(len(text), most)]
}

func (m *Notices) post(ctx context.Context, n records.Notice, secret records.NoticeSecret, body []byte) (status int, after time.Duration, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, n.URL, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", userAgent)
	if err := sign(secret, n.ID, body, r.Header); err != nil {
		return 0, 0, err
	}
	resp, err := m.client.Do(r)
	if err != nil {
		return 0, 0, err
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 4<<10)) // so that the connection can be used again
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		after = retryAfter(resp.Header, time.Now())
	}
	return resp.StatusCode, after, nil
}

// retryAfter is how long a receiver wants to be left alone, which it says in seconds or as
// a date. A date counts from the receiver's own clock, where it tells that.
func retryAfter(h http.Header, now time.Time) time.Duration {
	said := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseUint(said, 10, 64); err == nil {
		return time.Duration(min(s, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(said)
	if err != nil {
		return 0
	}
	if theirs, err := http.ParseTime(h.Get("Date")); err == nil {
		now = theirs
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}
