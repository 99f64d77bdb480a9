package link

// Digest is what a node that keeps the store tells its worker nodes of all nodes: those
// whose inventories have changed, and some of the others in turn. Its size and rate are
// bounded, however many nodes there are.
type Digest struct {
	Node  string       `json:"Node"` // that tells it
	Nodes []*Inventory `json:"Nodes"`
	// Next is the node after which the rest follows, of an answer to a [DigestQuery];
	// empty: nothing does.
	Next string `json:"Next,omitempty"`
}

// DigestQuery asks for what is known of all nodes whose names follow one. Reply: Digest.
type DigestQuery struct {
	After string `json:"After,omitempty"`
}

// DigestSubject is where a node tells its worker nodes of all nodes.
func DigestSubject(node string) string { return "troupe.digest." + node }
