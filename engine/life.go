package engine

import (
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/engine/cluster"
)

// A life is one run of an engine, and its end.
type life struct {
	runID   string // 40 hexadecimal digits, different for each engine
	startUs int64
	refusal error // of the configuration, see Open
	node    *cluster.Self
	cluster bool        // cluster-enabled
	ending  atomic.Bool // End was called

	server atomic.Pointer[func() int] // see SetPort; nil: none

	mu      sync.Mutex
	current *shutdown // protected by mu, as is final; nil: none
	final   bool      // it cannot be aborted any more
}

// A shutdown is one under way: from SHUTDOWN or a signal until the process ends or goes on after all.
type shutdown struct {
	save, nosave, now, force bool

	// deadlineUs is until when replicas are waited for, on Clock.MonotonicUs.
	deadlineUs int64
	over       chan struct{} // closed when the server goes on
}

// abortable returns the shutdown that can be aborted, or nil.
func (n *life) abortable() *shutdown {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.final {
		return nil
	}
	return n.current
}

// conclude reports whether d is still under way. Then it cannot be aborted any more.
func (n *life) conclude(d *shutdown) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.final = n.current == d
	return n.final
}
