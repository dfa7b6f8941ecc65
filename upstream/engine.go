package upstream

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/upstream/call"
)

// Place returns where the calls of a command run.
func (u *Upstream) Place(cmd *commands.Command) call.Place { return PlaceOf(cmd) }

// Clustered reports whether the upstream is a cluster, as far as that is known.
func (u *Upstream) Clustered() bool { return u.topology.Load().kind == Cluster }
