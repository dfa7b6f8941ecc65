package cluster

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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

// robust returns the fault with bounds that a busy machine keeps: it is judged by what callers got, not by
// how long they waited.
func (f fault) robust() fault {
	if len(f.sees) > 0 {
		f.options.NodeTimeout = 5 * time.Second
	}
	if slices.Contains(f.sees, late) { // of a node for some seconds
		f.directives = append(slices.Clone(f.directives), "upstream-timeout 2500")
	} else {
		f.directives = append(slices.Clone(f.directives), patient)
	}
	return f
}

// quick returns the fault with a short cluster-node-timeout: TestFaults measures how long failovers take.
func (f fault) quick() fault {
	f.options.NodeTimeout = 2 * time.Second
	return f
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
	require.NoError(t, d.unexpected(func(tag int) bool { return mine[tag] }, f.sees), "callers of the master")
	require.NoError(t, d.unexpected(func(tag int) bool { return !mine[tag] }, f.others), "other callers")
	return out
}

// unexpected returns an error that callers of some tags have seen and that is of no kind that they may see,
// or nil. All kinds are listed that they may see: gateways follow redirections and load functions by
// themselves.
func (d *load) unexpected(of func(tag int) bool, expected []string) error {
	for _, c := range d.callers {
		if !of(c.tag) {
			continue
		}
		for i, one := range c.calls {
			for _, kind := range kinds(one.err) {
				if !slices.Contains(expected, kind) {
					return fmt.Errorf("%s, tag %d, call %d of %d, after %v: %s: %w", c.name, c.tag, i+1,
						len(c.calls), one.sent, kind, one.err)
				}
			}
		}
	}
	return nil
}

// TestUnexpected: one error of one caller is found, also behind one that is expected.
func TestUnexpected(t *testing.T) {
	down := errors.New("CLUSTERDOWN The cluster is down")
	refused := errors.New("UPSTREAM 127.0.0.1:1: dial tcp 127.0.0.1:1: connect: connection refused")
	d := &load{callers: []*caller{
		{tag: 1, calls: make([]call, 9)},
		{tag: 2, calls: []call{{}, {err: errors.Join(refused, down)}, {}}},
	}}
	everywhere := func(int) bool { return true }
	require.ErrorIs(t, d.unexpected(everywhere, []string{lost}), down)
	require.ErrorIs(t, d.unexpected(everywhere, nil), refused)
	require.NoError(t, d.unexpected(everywhere, []string{"CLUSTERDOWN", lost}))
	require.NoError(t, d.unexpected(func(tag int) bool { return tag == 1 }, nil))
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
