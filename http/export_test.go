package http

// Look looks once after all waiting connections.
func (s *Server) Look() { s.watch.look() }
