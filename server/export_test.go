package server

import "time"

// ExtendLingerTimeout makes shutdown wait for slow clients as long as a test may
// take, for tests whose clients are slow only because the machine is.
func (s *Server) ExtendLingerTimeout() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.timeouts.linger = testTimeout
}

// ExtendOrderTimeout makes commands wait for earlier ones of other clients as long
// as a test may take. It must be called before there are connections.
func (s *Server) ExtendOrderTimeout() { s.timeouts.order = testTimeout }

// SetHandshakeTimeout bounds TLS handshakes. It must be called before there are
// connections.
func (s *Server) SetHandshakeTimeout(d time.Duration) { s.tls.timeout = d }

// FeedAll makes every connection one that goroutines read and write. It must be called before there are any.
func FeedAll() { feedsAll = true }
