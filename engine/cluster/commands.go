package cluster

import (
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A row is a command with its handler for a server that is a node. Group is set by Commands.
type row struct {
	commands.Command
	run func(c *commands.Ctx, v *View) resp.Value
}

const (
	stale = commands.Stale
	admin = commands.Stale | commands.Admin
	edits = admin | commands.NoAsyncLoading

	fixed = "refused: nodes and slots do not change"
	walks = "visits every key; outside of EXEC and scripts other commands run meanwhile"
)

// connectionRows are the commands by which a client tells a node what it expects.
var connectionRows = []row{
	connection("asking", commands.Fast, "Lets the next command use a slot that is being imported."),
	connection("readonly", commands.Loading|stale|commands.Fast, "Allows reads from a replica."),
	connection("readwrite", commands.Loading|stale|commands.Fast, "Undoes READONLY."),
}

// clusterRows are the subcommands of CLUSTER.
var clusterRows = []row{
	{sub("addslots", -3, edits, "3.0.0", "O(N)", "slot [slot ...]", "Assigns slots to the node.",
		""), addSlots},
	{sub("addslotsrange", -4, edits, "7.0.0", "O(N)", "start-slot end-slot [start-slot end-slot ...]",
		"Assigns ranges of slots to the node.", ""), addSlotRanges},
	{varying(sub("bumpepoch", 2, edits, "3.0.0", "O(1)", "",
		"Advances the epoch of the configuration.", fixed)), refuse},
	{
		varying(sub("count-failure-reports", 3, admin, "3.0.0", "O(N)", "node-id",
			"Counts the reports of a node's failure.", "")),
		ofNode(resp.Int(0)),
	},
	{
		keysOf(sub("countkeysinslot", 3, stale, "3.0.0", "O(N)", "slot",
			"Counts the keys of a slot.", walks)),
		countKeysInSlot,
	},
	{sub("delslots", -3, edits, "3.0.0", "O(N)", "slot [slot ...]",
		"Takes slots from the node.", fixed), refuse},
	{sub("delslotsrange", -4, edits, "7.0.0", "O(N)", "start-slot end-slot [start-slot end-slot ...]",
		"Takes ranges of slots from the node.", fixed), refuse},
	{
		sub("failover", -2, edits, "3.0.0", "O(1)", "[FORCE | TAKEOVER]",
			"Makes a replica the master of its slots.", ""),
		failover,
	},
	{sub("flushslots", 2, edits, "3.0.0", "O(1)", "", "Takes all slots from the node.", fixed), refuse},
	{sub("forget", 3, edits, "3.0.0", "O(1)", "node-id", "Removes a node.", ""), forget},
	{
		varying(keysOf(sub("getkeysinslot", 4, stale, "3.0.0", "O(N)", "slot count",
			"Lists keys of a slot.", walks))),
		getKeysInSlot,
	},
	{commands.Help("cluster", "5.0.0"), func(c *commands.Ctx, _ *View) resp.Value {
		help := commands.Help("cluster", "5.0.0")
		return help.Handler(c)
	}},
	{varying(sub("info", 2, stale, "3.0.0", "O(1)", "", "Describes the state of the cluster.",
		"")), describe((*View).Info)},
	{sub("keyslot", 3, stale, "3.0.0", "O(N)", "key", "Returns the hash slot of a key.",
		"answers without a cluster, where Redis refuses"), nil},
	{varying(sub("links", 2, stale, "7.0.0", "O(N)", "", "Lists the links to other nodes.",
		"")), describe((*View).Links)},
	{sub("meet", -4, edits, "3.0.0", "O(1)", "ip port [cluster_bus_port]", "Adds a node.", fixed), refuse},
	{sub("myid", 2, stale, "3.0.0", "O(1)", "", "Returns the id of the node.", ""), describe((*View).ID)},
	{varying(sub("nodes", 2, stale, "3.0.0", "O(N)", "", "Lists the nodes of the cluster.",
		"")), describe((*View).Describe)},
	{varying(sub("replicas", 3, admin, "5.0.0", "O(1)", "node-id", "Lists the replicas of a node.",
		"")), ofNode(resp.Empty)},
	{sub("replicate", 3, edits, "3.0.0", "O(1)", "node-id", "Makes the node a replica.", ""), replicate},
	{sub("reset", -2, admin|commands.NoScript|commands.AllShards, "3.0.0", "O(N)", "[HARD | SOFT]",
		"Takes all slots from the node and forgets the others.", fixed), reset},
	{
		sub("saveconfig", 2, edits, "3.0.0", "O(1)", "", "Saves the configuration of the cluster.", ""),
		describe(func(*View) resp.Value { return resp.OK }),
	},
	{
		sub("set-config-epoch", 3, edits, "3.0.0", "O(1)", "config-epoch",
			"Sets the epoch of a new node.", ""),
		setConfigEpoch,
	},
	{sub("setslot", -4, edits, "3.0.0", "O(1)",
		"slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>",
		"Moves a slot to another node.", "only STABLE is accepted, which changes nothing"), setSlot},
	{
		varying(sub("shards", 2, stale, "7.0.0", "O(N)", "",
			"Lists the shards of the cluster and their nodes.", "")),
		describe((*View).Shards),
	},
	{varying(sub("slaves", 3, admin, "3.0.0", "O(1)", "node-id", "Lists the replicas of a node.",
		"")), ofNode(resp.Empty)},
	{
		varying(sub("slots", 2, stale, "3.0.0", "O(N)", "",
			"Lists the slots of the cluster and their nodes.", "")),
		describe((*View).Slots),
	},
}

func connection(name string, flags commands.Flags, summary string) row {
	c := sub(name, 1, flags, "3.0.0", "O(1)", "", summary, "")
	c.Categories = []string{"connection"}
	return row{c, accept}
}

func sub(
	name string, arity int, flags commands.Flags, since, complexity, syntax, summary, deviation string,
) commands.Command {
	return commands.Command{
		Name: name, Arity: arity, Flags: flags, Group: "cluster", Since: since, Complexity: complexity,
		Syntax: syntax, Summary: summary, Deviation: deviation,
	}
}

// keysOf returns the row of a subcommand that visits the keys, which are on the nodes.
func keysOf(c commands.Command) commands.Command {
	c.Flags |= commands.AllShards | commands.Stepwise
	c.Place = commands.PlaceAlone
	return c
}

// varying returns the row of a command whose reply is not always the same.
func varying(c commands.Command) commands.Command {
	c.Tips = []string{"nondeterministic_output"}
	return c
}

func accept(*commands.Ctx, *View) resp.Value { return resp.OK }

// describe returns the handler of a command whose reply is the view's.
func describe(reply func(v *View) resp.Value) func(*commands.Ctx, *View) resp.Value {
	return func(_ *commands.Ctx, v *View) resp.Value { return reply(v) }
}

// Commands returns the rows. view describes the cluster to the client of a call.
func Commands(view func(c *commands.Ctx) *View) []commands.Command {
	bind := func(r *row) commands.Command {
		c := r.Command
		c.Handler = func(c *commands.Ctx) resp.Value {
			if !c.Settings.Cluster {
				return errDisabled
			}
			return r.run(c, view(c))
		}
		if r.run == nil {
			c.Handler = keySlot
		}
		return c
	}
	container := commands.Command{
		Name: "cluster", Arity: -2, Group: "cluster", Since: "3.0.0", Complexity: "Depends on subcommand.",
		Summary: "Describes the cluster.",
	}
	for i := range clusterRows {
		container.Subs = append(container.Subs, bind(&clusterRows[i]))
	}
	rows := []commands.Command{container}
	for i := range connectionRows {
		rows = append(rows, bind(&connectionRows[i]))
	}
	return rows
}

// Run runs a call for a server that stands for the nodes of v and has no keys itself. It returns resp.None
// for a call of another command, or one that needs no view.
func Run(c *commands.Ctx, v *View) resp.Value {
	name, subcommand, _ := strings.Cut(c.Cmd.FullName(), "|")
	rows := connectionRows
	if name == "cluster" {
		rows, name = clusterRows, subcommand
	}
	for i := range rows {
		if r := &rows[i]; r.Name == name && r.run != nil {
			return r.run(c, v)
		}
	}
	return resp.None
}
