package engine

import "github.com/zlimit/zlimit/store/effects"

// Journal is journal, for tests outside of the package.
type Journal interface {
	Append(g *effects.Group, nowMs int64) (end int64)
}

// Record makes e tell j what is done from now on.
func (e *Engine) Record(j Journal) { e.setJournal(j) }
