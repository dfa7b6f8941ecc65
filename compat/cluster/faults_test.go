package cluster

import (
	"errors"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
)

// rounds is how often TestFaults brings each fault about.
var rounds = flag.Int("rounds", 0, "how often TestFaults measures each fault; 0: not at all")

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
	// silent says that callers may see no error.
	silent bool
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

var faults = []fault{
	{name: "master killed", options: threeAndThree, happen: killMaster, promotes: true},
	{
		name: "master killed, upstream-wait 1 1000", options: threeAndThree, directives: waiting,
		happen: replaceKilled,
	},
	{name: "master killed, its replica 1 s behind", options: behindProxies, happen: killAhead, promotes: true, loses: true},
	{
		name: "the same with upstream-wait 1 1000", options: behindProxies, directives: waiting,
		happen: killAhead,
	},
	{name: "master killed, full coverage required", options: asInstalled, happen: killMaster, promotes: true},
	{name: "master stopped", options: threeAndThree, happen: stopMaster, promotes: true},
	{name: "failover by hand", options: threeAndThree, happen: failoverByHand, silent: true},
	{name: "cut off from a node for 3 s", options: behindProxies, happen: cutOff},
	{name: "slots move", options: threeAndThree, happen: moveSlots, silent: true},
	{name: "node joins and leaves", options: threeAndThree, happen: joinAndLeave, silent: true},
	{name: "FUNCTION FLUSH on a node", options: threeAndThree, happen: flushFunctions, silent: true},
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

// replaceKilled starts the killed master as soon as it is replaced. Before, its successor has no replica which
// could confirm anything.
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
	require.NoError(t, replica.Do(t.Context(), "CLUSTER", "FAILOVER").Err())
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
	require.NoError(t, r.RemoveNode(t.Context(), added))
}

func flushFunctions(t *testing.T, _ *rig, d *load, master *nodes.Node) {
	t.Helper()
	for range 3 {
		require.NoError(t, master.Do(t.Context(), "FUNCTION", "FLUSH").Err())
		d.awaitReplies(t, 10)
	}
}

// An outcome is what callers have noticed of a fault.
type outcome struct {
	longest time.Duration // call
	silence time.Duration // without a decision
	others  time.Duration // the same of callers about keys of other masters
	errors  map[string]int
	calls   int
	lost    int64 // units that callers were granted and no node has
	excess  int   // units above the limit in a window
}

// wrong are errors which no caller may see, whatever happens: the gateway follows redirections and loads
// functions by itself.
var wrong = []string{
	"MOVED", "ASK", "TRYAGAIN", "NOSCRIPT", "READONLY", "CROSSSLOT", "ERR", "WRONGTYPE", "LOADING",
	"EXECABORT",
}

// run brings the fault about under a load, and checks what must hold.
func (f fault) run(t *testing.T) outcome {
	t.Helper()
	r := startRig(t, f.options, f.directives...)
	master, err := r.Owner(t.Context(), windowKey(0))
	require.NoError(t, err)
	slots, err := master.Slots(t.Context())
	require.NoError(t, err)
	d := startLoad(t, 2, r.addrs()...)
	d.awaitReplies(t, 40) // windows are crossed
	f.happen(t, r, d, master)
	d.awaitReplies(t, 10)
	d.stop()

	ofMaster := func(tag int) bool {
		slot, err := r.Nodes[0].ClusterKeySlot(t.Context(), windowKey(tag)).Result()
		if err != nil { // it may be the one that was killed
			slot, err = r.Nodes[len(r.Nodes)-1].ClusterKeySlot(t.Context(), windowKey(tag)).Result()
		}
		require.NoError(t, err)
		return slices.Contains(slots, int(slot))
	}
	mine := map[int]bool{}
	for tag := range tags {
		mine[tag] = ofMaster(tag)
	}
	everywhere := func(int) bool { return true }
	out := outcome{errors: d.errorKinds(everywhere), excess: -windowLimit}
	out.longest, _ = d.waits(everywhere)
	_, out.silence = d.waits(func(tag int) bool { return mine[tag] })
	_, out.others = d.waits(func(tag int) bool { return !mine[tag] })
	for tag := range tags {
		calls := d.all(tag)
		out.calls += len(calls)
		units, unknown := acknowledged(calls)
		has := used(t, r.addrs()[0], tag)
		require.LessOrEqual(t, has, units+unknown, "tag %d: units were counted twice", tag)
		lost := max(0, units-has)
		out.lost += lost
		over := excess(calls)
		out.excess = max(out.excess, over)
		if !f.promotes || !mine[tag] {
			require.Zero(t, lost, "tag %d: units were lost", tag)
			require.LessOrEqual(t, over, 0, "tag %d: units above the limit in a window", tag)
		}
	}
	require.True(t, !f.loses || out.lost > 0, "the judge has found nothing lost")
	for word := range out.errors {
		require.NotContains(t, wrong, word, "%v", d.firstError(word))
	}
	if f.silent {
		require.Empty(t, out.errors, "%v", d.firstError(""))
	}
	return out
}

// firstError returns the first error with a first word, or any.
func (d *load) firstError(word string) error {
	for _, c := range d.callers {
		for _, one := range c.calls {
			if one.err != nil && (word == "" || kind(one.err) == word) {
				return one.err
			}
		}
	}
	return errors.New("there is none")
}

func (o outcome) String() string {
	var kinds []string
	for word, n := range o.errors {
		kinds = append(kinds, fmt.Sprintf("%d %s", n, word))
	}
	slices.Sort(kinds)
	return fmt.Sprintf("%6d calls, longest %4d ms, without a decision %5d ms, other masters' %4d ms; "+
		"lost %d, above the limit %d; errors: %s",
		o.calls, o.longest.Milliseconds(), o.silence.Milliseconds(),
		o.others.Milliseconds(), o.lost, max(0, o.excess), strings.Join(kinds, ", "))
}

// TestFault brings each fault about once.
func TestFault(t *testing.T) {
	t.Parallel()
	for _, f := range faults {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			t.Log(f.run(t))
		})
	}
}

// TestFaults measures: it brings one fault about after the other.
func TestFaults(t *testing.T) {
	if *rounds == 0 {
		t.Skip("it measures with -rounds")
	}
	for _, f := range faults {
		for range *rounds {
			t.Run(f.name, func(t *testing.T) { t.Log(f.run(t)) })
		}
	}
}
