package browser

import (
	"math"
	"time"

	"github.com/chromedp/cdproto/network"
)

// Times are how long the parts of a request took, in milliseconds; -1: it had no such
// part.
type Times struct{ Blocked, DNS, Connect, TLS, Send, Wait, Receive float64 }

// Times are those of the exchange.
func (q *Exchange) Times() Times {
	took := rounded(float64(q.Took) / float64(time.Millisecond))
	t := q.timing
	if t == nil {
		return Times{Blocked: -1, DNS: -1, Connect: -1, TLS: -1, Wait: took}
	}
	return Times{Blocked: rounded(firstOf(t)), DNS: between(t.DNSStart, t.DNSEnd), Connect: between(t.ConnectStart, t.ConnectEnd), TLS: between(t.SslStart, t.SslEnd),
		Send: rounded(t.SendEnd - t.SendStart), Wait: rounded(t.ReceiveHeadersEnd - t.SendEnd), Receive: rounded(took - t.ReceiveHeadersEnd)}
}

// firstOf is when the first thing was done for a request.
func firstOf(t *network.ResourceTiming) float64 {
	for _, at := range []float64{t.DNSStart, t.ConnectStart, t.SendStart} {
		if at >= 0 {
			return at
		}
	}
	return 0
}

func between(from, to float64) float64 {
	if from < 0 || to < from {
		return -1
	}
	return rounded(to - from)
}

// rounded is a time of the browser's clock, which is exact to microseconds.
func rounded(ms float64) float64 { return math.Round(max(0, ms)*1000) / 1000 }
