package zlimittest

import "time"

// Now is the server's time, to the microsecond.
func (s *Server) Now() time.Time { return time.UnixMicro(s.inner.Engine().Clock().NowUs()) }

// Freeze makes the clock stand still, at a whole millisecond.
func (s *Server) Freeze() {
	s.helper()()
	s.clock("FREEZE")
}

// Resume lets the clock go on from where it stands.
func (s *Server) Resume() {
	s.helper()()
	s.clock("RESUME")
}

// Advance moves the clock forwards by whole milliseconds, whether or not it
// stands still. When it returns, everything that is due by then has expired.
func (s *Server) Advance(d time.Duration) {
	s.helper()()
	if d < 0 || d%time.Millisecond != 0 {
		s.fatal("Advance(%v): not a whole number of milliseconds, or back", d)
	}
	s.clock("ADVANCE", d)
}

// Set moves the clock to an instant, cut to whole milliseconds. Where keys are
// held it cannot go back, and the test ends.
func (s *Server) Set(now time.Time) {
	s.helper()()
	s.clock("SET", now.UnixMilli())
}

func (s *Server) clock(args ...any) {
	s.helper()()
	s.Do(append([]any{"DEBUG", "CLOCK"}, args...)...)
}
