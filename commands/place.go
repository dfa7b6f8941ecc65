package commands

import "slices"

// A Place is where the calls of a command run if the keys of the server are in an upstream. See
// docs/adr/0044-over-a-cluster.md.
type Place uint8

// The places. A row that gives none gets it from NewTable.
const (
	placeDerived     Place = iota
	PlaceHere              // in the engine
	PlaceSlot              // on the node of its keys; calls in a row are sent together
	PlaceAlone             // on one or all nodes, in order with the calls before and after it
	PlaceWaits             // on a connection of its own, since it may block
	PlaceRefused           // nowhere: the upstream has no use for it
	PlaceTransaction       // MULTI and its kin: on the engine's and the upstream's side
	PlaceSubscribes        // in the engine, with a subscription of the upstream
	PlaceEither            // upstream if that has an answer, as a cluster has, otherwise in the engine
)

// Tips of rows that say on which nodes of a cluster a command runs.
const (
	allShardsTip = "request_policy:all_shards"
	allNodesTip  = "request_policy:all_nodes"
)

// OnAllMasters reports whether a call runs on every master of a cluster.
func (c *Command) OnAllMasters() bool {
	return slices.Contains(c.Tips, allShardsTip) || slices.Contains(c.Tips, allNodesTip)
}

// derivePlace sets the place of a row that gives none. A command that names keys runs where they are, and
// one whose row is about the whole keyspace, on all masters; what is about the connection, the server or its
// users stays with the engine.
func (c *Command) derivePlace() {
	if c.Place != placeDerived {
		return
	}
	switch {
	case c.Group == "cluster":
		c.Place = PlaceEither
	case c.Group == "transactions":
		c.Place = PlaceTransaction
	case c.Is(Subscribed | PubSub):
		c.Place = PlaceSubscribes
	case c.Is(Admin):
		c.Place = PlaceHere
	case c.Is(Blocking):
		c.Place = PlaceWaits
	case len(c.Keys) > 0:
		c.Place = PlaceSlot
	case c.Group == "scripting" && c.OnAllMasters(),
		c.Is(AllShards) && c.Flags&(Write|ReadOnly) != 0 && c.Group != "rate-limit":
		c.Place = PlaceAlone
	default:
		c.Place = PlaceHere
	}
}

// PlaceOf returns where one call runs.
func (c *Command) PlaceOf(args [][]byte) Place {
	if c.Place == PlaceSlot && c.Keyless != nil && c.Keyless(args) {
		return PlaceHere
	}
	return c.Place
}
