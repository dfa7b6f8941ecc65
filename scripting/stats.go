package scripting

// Stats are what INFO says about scripts.
type Stats struct {
	Cached  int   // scripts
	Bytes   int64 // about what they take
	Evicted int64 // scripts of EVAL's that made room for others
}

// Stats returns how the script cache stands.
func (e *Engine) Stats() Stats {
	c := e.scripts
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Stats{Cached: len(c.byDigest), Bytes: c.size, Evicted: c.evicted}
}

// ResetStats sets what counts events to zero.
func (e *Engine) ResetStats() {
	e.scripts.mu.Lock()
	defer e.scripts.mu.Unlock()
	e.scripts.evicted = 0
}
