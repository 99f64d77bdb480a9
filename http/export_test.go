package http

import "encoding/json"

// PollDisconnects checks all waiting connections once.
func (s *Server) PollDisconnects() { s.disconnects.poll() }

// OpenAPI is the document that the service gives.
func OpenAPI() []byte { return openAPI() }

// Route is a route of the service.
type Route struct {
	Method, Path, Entry string
	Headers             []string
}

// Routes lists all routes.
func Routes() (all []Route) {
	for _, w := range new(Server).routes() {
		all = append(all, Route{w.method, w.path, string(w.entry), w.headers()})
	}
	return all
}

// Reading is how many bytes of requests for tasks an account has under way.
func (s *Server) Reading(account string) int64 {
	return s.gate.Of(account)
}

// MaxWaits is how many polls and streams of events an account may have.
const MaxWaits = maxWaits

// UploadFolder makes the folder for the uploads of a request.
var UploadFolder = uploadFolder

// OpenAPIOperation is what the API document says of a method at a path.
func OpenAPIOperation(path, method string) json.RawMessage {
	var d struct {
		Paths map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(openAPI(), &d); err != nil {
		panic(err)
	}
	return d.Paths[path][method]
}
