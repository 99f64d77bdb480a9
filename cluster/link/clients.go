package link

import "time"

// Messages about clients that are attached to a session of another node. Each of the two nodes
// has a view of what the other one's side has sent, and asks for it piece by piece: so a side
// that takes nothing is sent nothing more.
type (
	// Carried is a client in a ForwardedExecute.
	Carried struct {
		View    string        `json:"View"` // at the origin: what the client sends, as ClientMessages
		Session string        `json:"Session"`
		Wait    time.Duration `json:"Wait"` // for a list or a client of the session
		Idle    time.Duration `json:"Idle"` // how long it may send no command
	}
	// ClientReady tells the origin that the client's messages are read from now on. Reply: ClientReady.
	ClientReady struct {
		View string `json:"View"` // of the Carried
		Node string `json:"Node"` // that has the session
		Back string `json:"Back"` // there: what is for the client, as ClientMessages
	}
	// ClientMessages are the next messages of a client, or for it, in their order. There are none
	// if none came for a while.
	ClientMessages struct {
		Sizes []int         `json:"Sizes"` // of each, in Bytes
		Bytes []byte        `json:"-"`
		End   string        `json:"End,omitempty"`  // why no more follow: an engine.AttachEnd
		Since time.Duration `json:"Since,omitzero"` // since the last command, with End
	}
	// FindTicket asks for a ticket of a session that the node has made. Reply: TicketFound.
	FindTicket struct {
		Sum     []byte `json:"Sum"` // its hash
		Session string `json:"Session"`
		Use     bool   `json:"Use"` // it is used up, if it opens one connection
	}
	// TicketFound answers a FindTicket.
	TicketFound struct {
		Ticket []byte `json:"Ticket"` // as the edges of the nodes write it; nil: there is none
	}
	// EndClients ends the client of a session of an account, whichever node it is connected to.
	// Reply: ClientsEnded.
	EndClients struct {
		Account string `json:"Account"`
		Session string `json:"Session"`
		Why     string `json:"Why"` // taken_over or session_ended
	}
	// ClientsEnded answers an EndClients.
	ClientsEnded struct {
		Found bool `json:"Found"`
	}
)

// Add adds a message to those that follow each other.
func (m *ClientMessages) Add(b []byte) {
	m.Sizes = append(m.Sizes, len(b))
	m.Bytes = append(m.Bytes, b...)
}

// Each gives each message, as long as f takes them. It reports whether it took all, and whether
// the sizes are those of the bytes.
func (m *ClientMessages) Each(f func(b []byte) bool) bool {
	rest := m.Bytes
	for _, n := range m.Sizes {
		if n < 0 || n > len(rest) || !f(rest[:n:n]) {
			return false
		}
		rest = rest[n:]
	}
	return len(rest) == 0
}
