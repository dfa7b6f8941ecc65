package zlimittest

import "time"

// Now returns the server's time, to the microsecond.
func (s *Server) Now() time.Time { return time.UnixMicro(s.inner.Engine().Clock().NowUs()) }

// Freeze stops the clock at a whole millisecond.
func (s *Server) Freeze() {
	s.helper()()
	s.clock("FREEZE")
}

// Resume lets the clock run on from its current time.
func (s *Server) Resume() {
	s.helper()()
	s.clock("RESUME")
}

// Advance moves the clock forwards by whole milliseconds, whether or not it is frozen.
// When it returns, everything due by then has expired.
func (s *Server) Advance(d time.Duration) {
	s.helper()()
	if d < 0 || d%time.Millisecond != 0 {
		s.fatal("Advance(%v): not a whole number of milliseconds, or back", d)
	}
	s.clock("ADVANCE", d)
}

// Set moves the clock to an instant, truncated to whole milliseconds. While there are
// keys it cannot move back, and the test fails.
func (s *Server) Set(now time.Time) {
	s.helper()()
	s.clock("SET", now.UnixMilli())
}

func (s *Server) clock(args ...any) {
	s.helper()()
	s.Do(append([]any{"DEBUG", "CLOCK"}, args...)...)
}
