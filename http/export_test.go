package http

// Look looks once after all waiting connections.
func (s *Server) Look() { s.watch.look() }

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
