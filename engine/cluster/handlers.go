package cluster

import (
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

var (
	errDisabled    = resp.Error("ERR This instance has cluster support disabled")
	errSlot        = resp.Error("ERR Invalid slot")
	errSlotArg     = resp.Error("ERR Invalid or out of range slot")
	errSlotOrCount = resp.Error("ERR Invalid slot or number of keys")
	errForgetSelf  = resp.Error("ERR I tried hard but I can't forget myself...")
	errOwnReplica  = resp.Error("ERR Can't replicate myself")
	errNoReplica   = resp.Error("ERR You should send CLUSTER FAILOVER to a replica")
	errResetKeys   = resp.Error("ERR CLUSTER RESET can't be called with master nodes containing keys")
	errHasEpoch    = resp.Error("ERR Node config epoch is already non-zero")
	errKnowsNodes  = resp.Error("ERR The user can assign a config epoch only when the node does not " +
		"know any other node.")
)

// refuse is the handler of what would change nodes or slots.
func refuse(c *commands.Ctx, _ *View) resp.Value {
	return resp.Error("ERR CLUSTER " + strings.ToUpper(c.Cmd.Name) +
		" is not supported: zlimit has no cluster bus, and slots stay where they are")
}

// slotArg parses a slot.
func slotArg(arg []byte) (slot int64, ok bool) {
	slot, ok = store.ParseInt(arg)
	return slot, ok && slot >= 0 && slot < commands.Slots
}

func errBusySlot(slot int64) resp.Value {
	return resp.Error(fmt.Sprintf("ERR Slot %d is already busy", slot))
}

// CLUSTER KEYSLOT key
func keySlot(c *commands.Ctx) resp.Value { return resp.Int(int64(commands.KeySlot(c.Args[2]))) }

// CLUSTER ADDSLOTS slot [slot ...]
func addSlots(c *commands.Ctx, _ *View) resp.Value {
	for _, arg := range c.Args[2:] {
		if _, ok := slotArg(arg); !ok {
			return errSlotArg
		}
	}
	first, _ := slotArg(c.Args[2])
	return errBusySlot(first)
}

// CLUSTER ADDSLOTSRANGE start-slot end-slot [start-slot end-slot ...]
func addSlotRanges(c *commands.Ctx, _ *View) resp.Value {
	if len(c.Args)%2 != 0 {
		return commands.WrongArity(c.Cmd)
	}
	for at := 2; at < len(c.Args); at += 2 {
		start, startOK := slotArg(c.Args[at])
		end, endOK := slotArg(c.Args[at+1])
		if !startOK || !endOK {
			return errSlotArg
		}
		if start > end {
			return resp.Error(fmt.Sprintf("ERR start slot number %d is greater than end slot number %d",
				start, end))
		}
	}
	first, _ := slotArg(c.Args[2])
	return errBusySlot(first)
}

// find returns the index of the node that an argument names, or the error.
func (v *View) find(id []byte) (i int, refusal resp.Value) {
	for i := range v.Nodes {
		if v.Nodes[i].ID == string(id) {
			return i, resp.None
		}
	}
	return 0, resp.Error("ERR Unknown node " + resp.OneLine(string(id)))
}

// ofNode returns the handler of a command whose reply is the same for each node.
func ofNode(reply resp.Value) func(*commands.Ctx, *View) resp.Value {
	return func(c *commands.Ctx, v *View) resp.Value {
		if _, refusal := v.find(c.Args[2]); refusal.IsError() {
			return refusal
		}
		return reply
	}
}

// notSelf returns the handler of a change to a node that must not be the one that answers.
func notSelf(refusal resp.Value) func(*commands.Ctx, *View) resp.Value {
	return func(c *commands.Ctx, v *View) resp.Value {
		switch i, unknown := v.find(c.Args[2]); {
		case unknown.IsError():
			return unknown
		case i == v.Self:
			return refusal
		}
		return refuse(c, v)
	}
}

var (
	forget    = notSelf(errForgetSelf)
	replicate = notSelf(errOwnReplica)
)

// option reports whether a call has no option, or one of two.
func option(c *commands.Ctx, one, other string) (refusal resp.Value) {
	switch args := c.Args[2:]; {
	case len(args) > 1:
		return resp.Error("ERR unknown subcommand or wrong number of arguments for '" +
			resp.OneLine(string(c.Args[1])) + "'. Try CLUSTER HELP.")
	case len(args) == 1 && !commands.EqualFold(args[0], one) && !commands.EqualFold(args[0], other):
		return commands.ErrSyntax
	}
	return resp.None
}

// CLUSTER FAILOVER [FORCE | TAKEOVER]
func failover(c *commands.Ctx, _ *View) resp.Value {
	if refusal := option(c, "force", "takeover"); refusal.IsError() {
		return refusal
	}
	return errNoReplica
}

// CLUSTER RESET [HARD | SOFT]
func reset(c *commands.Ctx, v *View) resp.Value {
	if refusal := option(c, "hard", "soft"); refusal.IsError() {
		return refusal
	}
	if c.DB != nil && c.DB.Len() > 0 {
		return errResetKeys
	}
	return refuse(c, v)
}

// CLUSTER SET-CONFIG-EPOCH config-epoch
func setConfigEpoch(c *commands.Ctx, v *View) resp.Value {
	switch epoch, ok := store.ParseInt(c.Args[2]); {
	case !ok:
		return commands.ErrNotInteger
	case epoch < 0:
		return resp.Error(fmt.Sprintf("ERR Invalid config epoch specified: %d", epoch))
	case len(v.Nodes) > 1:
		return errKnowsNodes
	}
	return errHasEpoch
}

// CLUSTER SETSLOT slot <IMPORTING node-id | MIGRATING node-id | NODE node-id | STABLE>
func setSlot(c *commands.Ctx, v *View) resp.Value {
	if _, ok := slotArg(c.Args[2]); !ok {
		return errSlotArg
	}
	if len(c.Args) == 4 && commands.EqualFold(c.Args[3], "stable") {
		return resp.OK
	}
	return refuse(c, v)
}

// CLUSTER COUNTKEYSINSLOT slot
func countKeysInSlot(c *commands.Ctx, _ *View) resp.Value {
	slot, ok := store.ParseInt(c.Args[2])
	switch {
	case !ok:
		return commands.ErrNotInteger
	case slot < 0 || slot >= commands.Slots:
		return errSlot
	}
	count := int64(0)
	refusal := eachInSlot(c, slot, func(*store.Node) bool {
		count++
		return true
	})
	if refusal.IsError() {
		return refusal
	}
	return resp.Int(count)
}

// CLUSTER GETKEYSINSLOT slot count
func getKeysInSlot(c *commands.Ctx, _ *View) resp.Value {
	slot, ok := store.ParseInt(c.Args[2])
	if !ok {
		return commands.ErrNotInteger
	}
	count, ok := store.ParseInt(c.Args[3])
	switch {
	case !ok:
		return commands.ErrNotInteger
	case slot < 0 || slot >= commands.Slots || count < 0:
		return errSlotOrCount
	}
	out := c.Build(0)
	refusal := eachInSlot(c, slot, func(n *store.Node) bool {
		count--
		return count >= 0 && out.Add(resp.Bulk(n.Key()))
	})
	if refusal.IsError() {
		return refusal
	}
	return out.Array()
}

// eachInSlot calls fn for each key of a slot until it returns false.
func eachInSlot(c *commands.Ctx, slot int64, fn func(n *store.Node) bool) (refusal resp.Value) {
	more := true
	for i := 0; i < store.NumShards && more; i++ {
		refusal = c.Step(i, func() {
			for n := range c.DB.AllInShard(i, c.NowMs) {
				if int64(commands.KeySlot([]byte(n.Key()))) == slot && !fn(n) {
					more = false
					return
				}
			}
		})
		if refusal.IsError() {
			return refusal
		}
	}
	return resp.None
}
