package http

import (
	"net/netip"
	"time"
)

// Look looks once after all waiting connections.
func (s *Server) Look() { s.watch.look() }

// ExpireIn lets a ticket or a link end before its time.
func (s *Server) ExpireIn(id string, d time.Duration) {
	s.tickets.mu.Lock()
	defer s.tickets.mu.Unlock()
	for _, t := range s.tickets.alive {
		if t.id == id {
			t.expires = time.Now().Add(d)
		}
	}
}

// Guesses counts wrong tokens.
type Guesses struct{ *guesses }

func NewGuesses() Guesses { return Guesses{newGuesses()} }

// Try shows a token that nobody has, if the address may, and returns how long it
// has to wait otherwise.
func (g Guesses) Try(from string, now time.Time) time.Duration {
	p := neighbourhood(netip.MustParseAddr(from))
	wait := g.wait(p, "wrong", now)
	if wait == 0 {
		g.wrong(p, now)
	}
	return wait
}

// Rows is how many addresses are remembered.
func (g Guesses) Rows() int { return len(g.rows) }

const (
	GuessBurst  = guessBurst
	GuessEvery  = guessEvery
	MaxGuessers = maxGuessers
)

// OpenAPI is the document that the service gives.
func OpenAPI() []byte { return openAPI() }

// Way is a way into the service.
type Way struct{ Method, Path, Entry string }

// Ways are all that there are.
func Ways() (all []Way) {
	for _, w := range new(Server).ways() {
		all = append(all, Way{w.method, w.path, string(w.entry)})
	}
	return all
}

// Reading is how many bytes of requests for tasks an account has under way.
func (s *Server) Reading(account string) int64 {
	s.bodies.mu.Lock()
	defer s.bodies.mu.Unlock()
	return s.bodies.by[account]
}

// MaxWaits is how many polls and streams of events an account may have.
const MaxWaits = maxWaits

// UploadFolder makes the folder for the uploads of a request.
var UploadFolder = uploadFolder
