package scripting

// Stats are the figures of INFO about scripts.
type Stats struct {
	Cached  int   // number of scripts
	Bytes   int64 // estimate of their memory
	Evicted int64 // evaluated scripts that were evicted
	Idle    int64 // bytes of interpreters that wait for a script
}

// Stats returns the figures of the script cache.
func (e *Engine) Stats() Stats {
	c := e.scripts
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Stats{Cached: len(c.all.byDigest), Bytes: c.size, Evicted: c.evicted}
	for i := range e.interps {
		if e.interps[i].Load() != nil {
			s.Idle += stateBytes
		}
	}
	return s
}

// ResetStats resets the event counters.
func (e *Engine) ResetStats() {
	e.scripts.mu.Lock()
	defer e.scripts.mu.Unlock()
	e.scripts.evicted = 0
}

// LockViolations returns the number of scripts that were restarted, and that failed, because they used a
// shard that was not locked. Both are 0 unless the proof is wrong; see lockChecker.
func (e *Engine) LockViolations() (restarts, violations int64) {
	return e.restarts.Load(), e.violations.Load()
}

// LibraryStats are the figures of INFO about libraries of functions.
type LibraryStats struct {
	Libraries, Functions int
	Bytes                int64 // of their sources
	Held                 int64 // bytes that their interpreters, code and values take, at most
}

// LibraryStats returns the figures of the libraries.
func (e *Engine) LibraryStats() (s LibraryStats) {
	all, byName := e.library.snapshot()
	s.Libraries, s.Functions, s.Held = len(all), len(byName), heldBy(all)
	for _, lib := range all {
		s.Bytes += int64(len(lib.source))
	}
	return s
}
