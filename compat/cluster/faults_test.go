package cluster

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
)

// A fault is what happens to a cluster, or between it and the gateways.
type fault struct {
	name string
	// options and directives are those of the cluster and of the gateways.
	options    nodes.Options
	directives []string
	// happen brings the fault about to a master, and returns when it is over: what was broken may be
	// whole again, or replaced.
	happen func(t *testing.T, r *rig, d *load, master *nodes.Node)
	// promotes says that a replica takes over which may lack the master's last writes.
	promotes bool
	// loses says that it certainly lacks some.
	loses bool
	// sees are the kinds of errors that callers of the master's keys may see, and others those that callers
	// of other masters' keys may see.
	sees, others []string
	// elsewhere says why TestFault leaves the fault to TestFaults.
	elsewhere string
}

var (
	threeAndThree = nodes.Options{Masters: 3, Replicas: 1, Directives: partial}
	behindProxies = nodes.Options{Masters: 3, Replicas: 1, Directives: partial, Proxied: true}
	asInstalled   = nodes.Options{Masters: 3, Replicas: 1}
	waiting       = []string{"upstream-wait 1 1000"}

	// partial lets masters serve their slots while others have nobody.
	partial = []string{"cluster-require-full-coverage no"}
)

// cutFor is for how long gateways are cut off from a node.
const cutFor = 3 * time.Second

// What callers may see of a master that dies, and of one that does not answer.
var (
	dies  = []string{lost, resting}
	hangs = []string{late, resting}

	// diesWaited: and while it has no replica, or that does not get what it is to confirm.
	diesWaited = []string{lost, resting, "NOREPLICAS"}
	// waited: a replica may confirm too late on a busy machine.
	waited = []string{"NOREPLICAS"}
	// uncovered: until the replica takes over no node serves any slot.
	uncovered = []string{"CLUSTERDOWN"}
)

var faults = []fault{
	{
		name: "master killed", options: threeAndThree, happen: killMaster, promotes: true, sees: dies,
		elsewhere: "a master whose replica is behind is killed, too, and more is lost",
	},
	{
		name: "master killed, upstream-wait 1 1000", options: threeAndThree, directives: waiting,
		happen: replaceKilled, sees: diesWaited, others: waited,
		elsewhere: "WAIT is harder when the replica is behind",
	},
	{
		name: "master killed, its replica 1 s behind", options: behindProxies, happen: killAhead,
		promotes: true, loses: true, sees: dies,
	},
	{
		name: "the same with upstream-wait 1 1000", options: behindProxies, directives: waiting,
		happen: killAhead, sees: diesWaited, others: waited,
	},
	{
		name: "master killed, full coverage required", options: asInstalled, happen: killMaster,
		promotes: true, sees: append(uncovered, dies...), others: uncovered,
	},
	{name: "master stopped", options: threeAndThree, happen: stopMaster, promotes: true, sees: hangs},
	{name: "failover by hand", options: threeAndThree, happen: failoverByHand},
	{name: "cut off from a node for 3 s", options: behindProxies, happen: cutOff, sees: hangs},
	{name: "slots move", options: threeAndThree, happen: moveSlots},
	{name: "node joins and leaves", options: threeAndThree, happen: joinAndLeave},
	{name: "FUNCTION FLUSH on a node", options: threeAndThree, happen: flushFunctions},
}

// promoted waits until a slot of a master has another owner, and callers have replies.
func promoted(t *testing.T, r *rig, d *load, master *nodes.Node, slot int) {
	t.Helper()
	_, err := r.AwaitOwner(t.Context(), slot, master)
	require.NoError(t, err)
	d.awaitReplies(t, 10)
}

func killMaster(t *testing.T, r *rig, d *load, master *nodes.Node) {
	t.Helper()
	slots, err := master.Slots(t.Context())
	require.NoError(t, err)
	master.Kill()
	promoted(t, r, d, master, slots[0])
	require.NoError(t, master.Start())
	require.NoError(t, r.AwaitReady(t.Context()))
}

// lagFor is for how long a replica has received nothing when its master is killed.
const lagFor = time.Second

// killAhead kills a master whose replica has received nothing for a while. What the master has admitted
// meanwhile is lost.
func killAhead(t *testing.T, r *rig, d *load, master *nodes.Node) {
	t.Helper()
	slots, err := master.Slots(t.Context())
	require.NoError(t, err)
	master.Proxy.CutReplicas()
	pass(t, lagFor)
	d.awaitCalls(t, 2) // of which one has begun since
	master.Kill()
	master.Proxy.DropReplicas()
	_, err = r.AwaitOwner(t.Context(), slots[0], master)
	require.NoError(t, err)
	require.NoError(t, master.Start())
	d.awaitReplies(t, 10)
	require.NoError(t, r.AwaitReady(t.Context()))
}

// pass waits for a time.
func pass(t *testing.T, d time.Duration) {
	t.Helper()
	begin := time.Now()
	await(t, d.String(), func() error {
		if left := d - time.Since(begin); left > 0 {
			return fmt.Errorf("%v are left", left)
		}
		return nil
	})
}

// replaceKilled starts the killed master as soon as it is replaced. Before, its successor has no replica
// which could confirm anything.
func replaceKilled(t *testing.T, r *rig, d *load, master *nodes.Node) {
	t.Helper()
	slots, err := master.Slots(t.Context())
	require.NoError(t, err)
	master.Kill()
	_, err = r.AwaitOwner(t.Context(), slots[0], master)
	require.NoError(t, err)
	require.NoError(t, master.Start())
	d.awaitReplies(t, 10)
	require.NoError(t, r.AwaitReady(t.Context()))
}

func stopMaster(t *testing.T, r *rig, d *load, master *nodes.Node) {
	t.Helper()
	slots, err := master.Slots(t.Context())
	require.NoError(t, err)
	require.NoError(t, master.Stop())
	promoted(t, r, d, master, slots[0])
	require.NoError(t, master.Continue())
	require.NoError(t, r.AwaitReady(t.Context()))
}

func failoverByHand(t *testing.T, r *rig, d *load, master *nodes.Node) {
	t.Helper()
	slots, err := master.Slots(t.Context())
	require.NoError(t, err)
	replica, err := r.Replica(t.Context(), master)
	require.NoError(t, err)
	// A replica gives up after five seconds.
	await(t, "the replica takes over", func() error {
		if err := replica.Do(t.Context(), "CLUSTER", "FAILOVER").Err(); err != nil {
			return err
		}
		return r.AwaitOwnerFor(t.Context(), 6*time.Second, slots[0], master)
	})
	promoted(t, r, d, master, slots[0])
}

func cutOff(t *testing.T, _ *rig, d *load, master *nodes.Node) {
	t.Helper()
	master.Proxy.Cut()
	pass(t, cutFor)
	master.Proxy.Heal()
	d.awaitReplies(t, 10)
}

// moveSlots moves all slots that have keys.
func moveSlots(t *testing.T, r *rig, _ *load, master *nodes.Node) {
	t.Helper()
	masters, err := r.Masters(t.Context())
	require.NoError(t, err)
	other := masters[0]
	if other == master {
		other = masters[1]
	}
	for range 3 {
		require.NoError(t, r.MoveSlots(t.Context(), master, other, busySlots(t, master)))
		master, other = other, master
	}
}

// busySlots returns slots of a node which have keys, and some more.
func busySlots(t *testing.T, n *nodes.Node) []int {
	t.Helper()
	slots, err := n.Slots(t.Context())
	require.NoError(t, err)
	var busy []int
	for tag := range tags {
		slot, err := n.ClusterKeySlot(t.Context(), windowKey(tag)).Result()
		require.NoError(t, err)
		if slices.Contains(slots, int(slot)) {
			busy = append(busy, int(slot))
		}
	}
	require.NotEmpty(t, busy)
	return append(busy, slots[len(slots)-1])
}

func joinAndLeave(t *testing.T, r *rig, d *load, master *nodes.Node) {
	t.Helper()
	added, err := r.AddNode(t.Context())
	require.NoError(t, err)
	busy := busySlots(t, master)
	require.NoError(t, r.MoveSlots(t.Context(), master, added, busy))
	d.awaitReplies(t, 20)
	require.NoError(t, r.MoveSlots(t.Context(), added, master, busy))
	require.NoError(t, r.AwaitReady(t.Context()))
	for _, addr := range r.addrs() {
		awaitForgotten(t, addr, added)
	}
	require.NoError(t, r.RemoveNode(t.Context(), added))
}

// awaitForgotten waits until a gateway counts a node among the masters no longer. A call that is on its
// way to a node when that is killed fails.
func awaitForgotten(t *testing.T, gateway string, n *nodes.Node) {
	t.Helper()
	client := plainClient(gateway)
	defer client.Close()
	await(t, n.Name+" is forgotten", func() error {
		info, err := client.Info(t.Context(), "upstream").Result()
		if err == nil && strings.Contains(info, nodes.Addr(n.Port)) {
			return fmt.Errorf("%s has it: %s", gateway, info)
		}
		return err
	})
}

func flushFunctions(t *testing.T, _ *rig, d *load, master *nodes.Node) {
	t.Helper()
	for range 3 {
		require.NoError(t, master.Do(t.Context(), "FUNCTION", "FLUSH").Err())
		d.awaitReplies(t, 10)
	}
}

// TestFault brings faults about once.
func TestFault(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			if f.elsewhere != "" { // the reason of its row: what another row shows, too
				t.Skip("only in make clusters: ", f.elsewhere)
			}
			t.Parallel()
			t.Log(f.robust().run(t))
		})
	}
}
