package scripting

// Len returns the number of cached scripts.
func (e *Engine) Len() int {
	e.scripts.mu.RLock()
	defer e.scripts.mu.RUnlock()
	return len(e.scripts.byDigest)
}
