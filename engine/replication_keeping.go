package engine

import (
	"errors"

	"github.com/zlimit/zlimit/persist/disk"
)

var errRunsWithoutFile = errors.New("the server is running without a config file")

// rewriteError returns why CONFIG REWRITE would fail, as far as permissions and mounts show it, or nil.
func (e *Engine) rewriteError() error {
	path := e.cfg.Path()
	if path == "" {
		return errRunsWithoutFile
	}
	return disk.Replaceable(path)
}

// tickKeeping warns once the server's role has to survive a restart, because the server is a replica or
// watched by Sentinel, but CONFIG REWRITE cannot write the role down. A replica without a file is not
// warned of unless a Sentinel is there: its role is in the command line.
func (e *Engine) tickKeeping() {
	r := &e.repl
	watched := e.broker.Sentinels.Load() > 0
	keeping := watched || r.link.Load() != nil && e.cfg.Path() != ""
	if keeping == r.keeping {
		return
	}
	r.keeping = keeping
	if !keeping {
		return
	}
	if err := e.rewriteError(); err != nil {
		e.options.Log.Warn("CONFIG REWRITE will fail, so a role that Sentinel changes is lost at the next "+
			"restart", "config-file", e.cfg.Path(), "sentinels", e.broker.Sentinels.Load(), "error", err)
	}
}
