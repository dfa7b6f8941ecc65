package server

// Outwait makes the server's end wait for clients as long as a test does, for a
// test whose clients are slow only because the machine is.
func (s *Server) Outwait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastWords = patience
}
