package api

// WorkerSpec describes one worker.
type WorkerSpec struct {
	ID    string // opaque, URL-safe, 20 characters or fewer; see WorkerID
	Name  string // for people
	Owner string // account, or empty for the shared pool
	// Browser names the browser that the worker shares with others of the same
	// name; they serve one account at a time. Empty: nobody minds.
	Browser string

	Added bool // it has a record of its own
}
