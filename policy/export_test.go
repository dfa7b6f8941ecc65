package policy

// Kept returns the bytes of the buffers that m keeps for its next request.
func (m *Matcher) Kept() int { return cap(m.arena) + cap(m.text) }
