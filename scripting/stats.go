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
	c.mu.Lock()
	defer c.mu.Unlock()
	return Stats{Cached: len(c.all.byDigest), Bytes: c.size, Evicted: c.evicted}
}

// ResetStats sets what counts events to zero.
func (e *Engine) ResetStats() {
	e.scripts.mu.Lock()
	defer e.scripts.mu.Unlock()
	e.scripts.evicted = 0
}

// Misses returns how often a script wanted a shard that was not locked for it:
// those that began again, and those that ended with an error. See guard; both
// are 0 unless the proof is wrong.
func (e *Engine) Misses() (restarts, breaches int64) {
	return e.restarts.Load(), e.breaches.Load()
}

// Compiled returns how many of them run without the interpreter, unless
// Options.Interpret says otherwise.
func (e *Engine) Compiled() (n int) {
	e.scripts.mu.Lock()
	defer e.scripts.mu.Unlock()
	for _, s := range e.scripts.all.byDigest {
		if s.plain != nil {
			n++
		}
	}
	return n
}

// LibraryStats is how many libraries of functions there are.
type LibraryStats struct {
	Libraries, Functions int
	Bytes                int64 // of their code
}

// LibraryStats returns what FUNCTION LIST would name.
func (e *Engine) LibraryStats() (s LibraryStats) {
	all, byName := e.library.snapshot()
	s.Libraries, s.Functions = len(all), len(byName)
	for _, lib := range all {
		s.Bytes += int64(len(lib.source))
	}
	return s
}
