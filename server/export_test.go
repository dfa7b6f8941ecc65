package server

// Outwait makes the server's end wait for clients as long as a test does, for a
// test whose clients are slow only because the machine is.
func (s *Server) Outwait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lastWords = patience
}

// WaitForEarlier makes commands wait for earlier ones of other clients as long as
// a test does. Call it before there are connections.
func (s *Server) WaitForEarlier() { s.earlier = patience }
