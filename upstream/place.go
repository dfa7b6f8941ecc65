package upstream

import (
	"slices"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/upstream/call"
)

// Tips of rows that say on which nodes a command runs.
const (
	allShards = "request_policy:all_shards"
	allNodes  = "request_policy:all_nodes"
)

// placeByName are the places of commands whose rows do not say them.
var placeByName = map[string]call.Place{
	"time":            call.Alone, // the clock by which scripts and decisions run
	"function|dump":   call.Alone,
	"function|list":   call.Alone,
	"function|stats":  call.Alone,
	"publish":         call.Alone,
	"script|debug":    call.Refused,
	"client|tracking": call.Refused,
	"wait":            call.Refused,
	"waitaof":         call.Refused,
	"replicaof":       call.Refused,
	"slaveof":         call.Refused,
	"psync":           call.Refused,
	"sync":            call.Refused,
	"failover":        call.Refused,

	"cluster|countkeysinslot": call.Alone,
	"cluster|getkeysinslot":   call.Alone,
}

// PlaceOf returns where the calls of a command run. A command that names keys runs where they are,
// and one whose row is about the whole keyspace, on all masters; what is of the connection, of the
// server and of its users stays the engine's.
func PlaceOf(cmd *commands.Command) call.Place {
	if p, ok := placeByName[cmd.FullName()]; ok {
		return p
	}
	switch {
	case cmd.Group == "transactions":
		return call.Transaction
	case cmd.Is(commands.Subscribed | commands.PubSub):
		return call.Subscribes
	case cmd.Is(commands.Admin):
		return call.Here
	case cmd.Is(commands.Blocking):
		return call.Waits
	case len(cmd.Keys) > 0:
		return call.Slot
	case cmd.Group == "scripting" && hasTip(cmd, allShards, allNodes):
		return call.Alone
	case cmd.Is(commands.AllShards) && cmd.Flags&(commands.Write|commands.ReadOnly) != 0 &&
		cmd.Group != "rate-limit":
		return call.Alone
	}
	return call.Here
}

func hasTip(cmd *commands.Command, tips ...string) bool {
	return slices.ContainsFunc(cmd.Tips, func(tip string) bool { return slices.Contains(tips, tip) })
}

// Place returns where the calls of a command run.
func (u *Upstream) Place(cmd *commands.Command) call.Place { return PlaceOf(cmd) }

// Clustered reports whether the upstream is a cluster, as far as that is known.
func (u *Upstream) Clustered() bool { return u.topology.Load().kind == Cluster }
