package live

import (
	"context"
	"fmt"
	"net"
	"time"

	"troupe/actors/api"
	"troupe/actors/view"
	"troupe/engine"
	"troupe/http/access"
	"troupe/http/admin"
	"troupe/http/answer"
	"troupe/http/gate"
	"troupe/persistence"
)

// Actors is what is needed of the actors beside what goes on.
type Actors interface{ api.Doer }

// Config is what [Authorizer] and [Streams] are made from.
type Config struct {
	Actors  Actors
	Source  Source // nil: there are no pictures and feeds
	Auth    access.Authenticator
	Control *access.Control
	Faults  *answer.Faults
	Admin   *admin.Remote          // audits what operators see
	Waits   *access.AccountLimiter // of what waits for single tasks
	// Tickets keeps tickets and links for all nodes; nil: those of this process
	// end with it.
	Tickets persistence.Store
	// Others returns how many clients of other nodes use each link of an account; nil:
	// there are none.
	Others func(ctx context.Context, account string) map[string]int
	// While returns a context that ends when the client of a connection goes away.
	While        func(context.Context, net.Conn) (context.Context, func())
	Gate         *gate.Gate               // of what streams have in memory that is not sent
	Answer       int64                    // how much room the largest answer takes there
	TooMuch      func(error) *api.Refusal // where there is no room
	WriteTimeout time.Duration            // for a client to take what was sent
	Heartbeat    time.Duration            // between signs of life
}

// Authorizer issues tickets and links, and decides which stream a client may follow.
type Authorizer struct {
	cfg     *Config
	tickets *tickets
}

// NewAuthorizer makes one.
func NewAuthorizer(cfg *Config) *Authorizer {
	return &Authorizer{cfg: cfg, tickets: newTickets(cfg.Tickets, cfg.Faults.Log)}
}

// Follow takes in the tickets of other nodes, until ctx ends or the store is
// closed.
func (s *Authorizer) Follow(ctx context.Context) { s.tickets.follow(ctx) }

// RevokeAll ends the tickets and links of an account.
func (s *Authorizer) RevokeAll(ctx context.Context, account string) error {
	return s.tickets.forget(ctx, account)
}

// Streams shows clients what goes on.
type Streams struct {
	cfg        *Config
	authorizer *Authorizer
	viewers    *access.AccountLimiter // of live pictures
	feeds      *access.AccountLimiter
	tokens     tokenFeeds
	shown      shownTotals
	leaving    chan struct{} // closed when the service stops: pictures and feeds end then
}

// NewStreams makes them.
func NewStreams(cfg *Config, p *Authorizer) *Streams {
	return &Streams{
		cfg: cfg, authorizer: p, leaving: make(chan struct{}),
		viewers: access.NewAccountLimiter(maxViewers, engine.CodeRateLimited, fmt.Sprintf("The account already watches %d live pictures: close some", maxViewers)),
		feeds:   access.NewAccountLimiter(maxFeeds, engine.CodeRateLimited, fmt.Sprintf("The account already has %d streams of its events: close some", maxFeeds)),
	}
}

// TokenEvent sends an event of a token to the readers of its account's feed.
func (s *Streams) TokenEvent(e persistence.TokenEvent) { s.tokens.tell(e) }

// Stop ends all pictures and feeds.
func (s *Streams) Stop() { close(s.leaving) }

// Source is where pictures and feeds come from. [actors.Node] is one, of its
// own workers.
type Source interface {
	OpenScreencast(*view.ScreencastRequest) (*view.Viewer, *api.Refusal)
	Subscribe(account string, all bool, tasks int) view.Subscription
	Recent(account string, all bool, most int) []view.TaskProgress
	RecentTask(account string, all bool, id string) (view.TaskProgress, bool)
}
