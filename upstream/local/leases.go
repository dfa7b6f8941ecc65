package local

import (
	"container/heap"
	"hash/maphash"
	"sync"

	"github.com/zlimit/zlimit/limiter"
)

// Leases are units that a gateway has taken from a log in advance, to grant them without asking.
// They were recorded in the log as if they were granted at the end of the lease: so a unit counts
// from before it is granted until a window after, and no window ever holds more than its limit. What
// is not granted counts likewise, as do the units of a gateway that has crashed: they are lost until
// they leave the window.
//
// A lease is a share of what remains under the limit, so it gets smaller as the limit comes near. It
// is no more than twice what the last one has granted.
//
// A nil *Leases has none. Its methods may be called concurrently.
type Leases struct {
	epochs
	rules prefixes[[]int64]

	mu   sync.Mutex
	m    map[string]*lease // protected by mu: by the call
	ends leaseHeap         // protected by mu: of m, those whose next one is not asked for
}

const (
	maxLeases  = 1 << 14
	firstLease = 4 // units
)

type lease struct {
	call     string
	place    int              // in ends; -1: it is not there
	decision limiter.Decision // of the call that has taken it
	left     int64            // units
	taken    int64
	most     int64 // units of the next one
	epoch    uint64
	atUs     int64
	endUs    int64
	asked    bool // the next one is asked for
}

// A Want is what a call may take for a lease.
type Want struct {
	SharePercent int64 // of the remaining units
	AheadMs      int64 // how long it may be used
	Most         int64 // units
}

// ParseLeases returns the leases that the words of rl-lease ask for, nil for none.
func ParseLeases(words []string) (*Leases, error) {
	rules, err := parse(words, errLease, 100, MaxMs)
	if err != nil || len(rules) == 0 {
		return nil, err
	}
	return &Leases{
		epochs: epochs{seed: maphash.MakeSeed()}, rules: rules, m: make(map[string]*lease),
	}, nil
}

// Covers reports whether units of a key are leased.
func (l *Leases) Covers(key []byte) bool {
	if l == nil {
		return false
	}
	_, ok := l.rules.of(key)
	return ok
}

// Take takes units from the lease of a key for a call, a text that all calls with its limit have. If
// the lease does not have them, it says whether the call, which has to be sent, may take a lease: one
// call at a time may, and must tell Taken or Failed.
func (l *Leases) Take(key, call []byte, cost, nowUs int64) (d limiter.Decision, ok bool, want Want) {
	rule, covered := l.rules.of(key)
	if !covered {
		return d, false, want
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.m[string(call)]
	if x == nil {
		if len(l.m) >= maxLeases && !l.shrink(nowUs) {
			return d, false, want
		}
		x = &lease{call: string(call), place: -1, most: firstLease}
		l.m[x.call] = x
	}
	if nowUs < x.endUs && cost <= x.left && x.epoch == l.Epoch(key) {
		x.left -= cost
		return x.grant(cost, nowUs), true, want
	}
	if x.asked || nowUs < x.endUs && x.left > 0 && x.epoch == l.Epoch(key) {
		return d, false, want // a cost above what is left
	}
	switch granted := x.taken - x.left; {
	case x.taken == 0:
	case x.left == 0:
		x.most = 2 * x.taken
	default:
		x.most = max(1, granted)
	}
	x.asked, x.left, x.taken, x.endUs = true, 0, 0, 0
	if x.place >= 0 {
		heap.Remove(&l.ends, x.place)
	}
	return d, false, Want{SharePercent: rule[0], AheadMs: rule[1], Most: x.most}
}

// grant returns the decision about units of a lease.
func (x *lease) grant(cost, nowUs int64) limiter.Decision {
	d := x.decision
	passedMs := max(nowUs-x.atUs, 0) / 1000
	d.Allowed = cost
	d.Remaining += x.left
	d.Used = max(d.Limit-d.Remaining, 0)
	d.ResetAfterMs = max(d.ResetAfterMs-passedMs, 1)
	d.NextAfterMs = d.ResetAfterMs
	return d
}

// Taken says that a call has taken a lease of units, which may be none. The decision is the call's own,
// with what remains after the lease, and when the window is empty. It was asked for at sentUs, when
// the key's epoch was epoch, and answered at receivedUs.
func (l *Leases) Taken(
	call []byte, epoch uint64, d *limiter.Decision, units int64, w Want, sentUs, receivedUs int64,
) {
	l.mu.Lock()
	defer l.mu.Unlock()
	x := l.m[string(call)]
	if x == nil {
		return
	}
	x.decision, x.left, x.taken, x.epoch = *d, units, units, epoch
	// The engine counts from the beginning of its millisecond.
	x.atUs, x.endUs = receivedUs, sentUs+1000*w.AheadMs-999
	l.answered(x)
}

// Failed says that the call was not answered.
func (l *Leases) Failed(call []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x := l.m[string(call)]; x != nil {
		l.answered(x)
	}
}

// answered says that nobody asks for the next lease, so that x may be dropped once it is over.
func (l *Leases) answered(x *lease) {
	x.asked = false
	if x.place >= 0 { // two have asked, one for a lease that was dropped meanwhile
		heap.Fix(&l.ends, x.place)
	} else {
		heap.Push(&l.ends, x)
	}
}

// shrink drops a lease that is over. It reports whether there was one.
func (l *Leases) shrink(nowUs int64) bool {
	if len(l.ends) == 0 || nowUs < l.ends[0].endUs {
		return false
	}
	delete(l.m, heap.Pop(&l.ends).(*lease).call)
	return true
}

// A leaseHeap has the lease that ends first at its root.
type leaseHeap []*lease

// Len implements sort.Interface.
func (h leaseHeap) Len() int { return len(h) }

// Less implements sort.Interface.
func (h leaseHeap) Less(i, j int) bool { return h[i].endUs < h[j].endUs }

// Swap implements sort.Interface.
func (h leaseHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].place, h[j].place = i, j
}

// Push implements heap.Interface.
func (h *leaseHeap) Push(x any) {
	x.(*lease).place = len(*h)
	*h = append(*h, x.(*lease))
}

// Pop implements heap.Interface.
func (h *leaseHeap) Pop() any {
	last := len(*h) - 1
	x := (*h)[last]
	(*h)[last] = nil
	*h, x.place = (*h)[:last], -1
	return x
}
