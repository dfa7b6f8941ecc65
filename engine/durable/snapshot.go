package durable

import (
	"errors"
	"runtime"
	"sync"

	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/persist/rdb"
	"github.com/zlimit/zlimit/store"
)

// A Key is a key as it was when a snapshot began.
type Key struct {
	DB         int
	Name       string
	ExpireAtMs int64 // unix milliseconds; 0: never
	Value      store.Value

	// pending, if not nil, makes a copy that takes the place of Value.
	pending store.PendingCopy
	// encoded, if not nil, takes the place of Name, ExpireAtMs and Value.
	encoded []byte
}

var (
	// ErrTorn is returned by a snapshot after a script that had written was ended:
	// the keys hold half of what it was to do.
	ErrTorn = errors.New("a script was ended that had written: the keys hold half of what it was to do")

	// ErrBusy is returned by a snapshot if a script past busy-reply-threshold is in
	// the way.
	ErrBusy = errors.New("a script past busy-reply-threshold is in the way")

	// ErrStopped is returned by a snapshot whose stop was closed.
	ErrStopped = errors.New("the snapshot was stopped")

	errSnapshotLate = errors.New("a command changed a key that its row does not name")
)

const (
	// snapshotSlice is how many nodes and buckets are visited under one lock: some
	// tens of microseconds. Everything else that has arrived runs before the next.
	snapshotSlice = 64
	// encodedBytes is the size of values up to which encoding takes no longer than a
	// frozen copy.
	encodedBytes = 1 << 10
	// viewSlice is how many fields or members of one value are copied while every
	// shard is locked.
	viewSlice = 256
)

// Snapshot passes every key to out as it was when begin was called, which is with
// every shard locked. Commands run meanwhile: one shard at a time is locked for a
// moment, and a command that is about to change a key which has not been passed
// yet leaves a frozen value of it.
//
// Snapshot calls out on this goroutine with no shard locked, so out may write
// files. The first error of out ends the snapshot, and so does closing stop,
// which may be nil. It waits for another snapshot to end: of a file, or of a copy
// for replicas. If there is no snapshot at all, begin is not called.
func (s *Storage) Snapshot(stop <-chan struct{}, begin func(), out func(Key) error) error {
	return s.snapshot(stop, begin, nil, out)
}

// snapshot is Snapshot. If enc is not nil, it encodes small values at once, which
// leaves no garbage: a collection of a large heap is what clients would notice most.
func (s *Storage) snapshot(
	stop <-chan struct{}, begin func(), enc *rdb.KeyEncoder, out func(Key) error,
) error {
	select {
	case s.snapshots <- struct{}{}:
	case <-stop:
		return ErrStopped
	}
	defer func() { <-s.snapshots }()
	if old := s.store.Snapshot(); old != nil && !s.walk(old, stop, nil) { // one that was stopped
		return ErrStopped
	}
	if !s.options.LockAll() {
		return ErrBusy
	}
	if s.options.Torn() {
		s.store.Unlock(store.AllShards)
		return ErrTorn
	}
	preserved := preservedKeys{encoder: enc}
	startUs := s.clock.MonotonicUs()
	sn := s.store.BeginSnapshot(preserved.add)
	begin()
	s.store.Unlock(store.AllShards)
	s.options.Took(latency.Snapshot, s.clock.MonotonicUs()-startUs)

	var failed error
	complete := s.walk(sn, stop, func() {
		for _, k := range preserved.drain() {
			if k.pending != nil {
				if !s.complete(k.pending, stop) {
					return
				}
				k.Value = k.pending.Value().(store.Value)
			}
			if failed != nil {
				continue
			}
			if failed = out(k); failed != nil {
				sn.Abort()
			}
		}
	})
	switch {
	case failed != nil:
		return failed
	case !complete || isClosed(stop):
		return ErrStopped
	case sn.Unpreserved() > 0:
		return errSnapshotLate
	}
	return nil
}

// walk visits what sn has not visited yet, and calls between after each slice. If
// stop is closed it aborts the snapshot and reports false.
func (s *Storage) walk(sn *store.Snapshot, stop <-chan struct{}, between func()) bool {
	y := store.Yielder{Yield: s.options.Turn, Every: snapshotSlice}
	if y.Yield == nil {
		y.Yield = s.options.Pause
	}
	for shard := range store.NumShards {
		for more := true; more; {
			if isClosed(stop) || !s.store.LockOrCancel(store.OneShard(shard), stop) {
				sn.Abort()
				return false
			}
			more = sn.Step(shard, snapshotSlice)
			s.store.Unlock(store.OneShard(shard))
			if between != nil {
				between()
			}
			y.Add(snapshotSlice)
		}
	}
	return true
}

// complete copies the rest of a value. It reports false if stop is closed
// before. While it waits for a shard it holds those below, so others wait for
// those as behind any command of all shards; behind a script past
// busy-reply-threshold they answer BUSY.
func (s *Storage) complete(pending store.PendingCopy, stop <-chan struct{}) bool {
	for more := true; more; {
		if isClosed(stop) || !s.store.LockOrCancel(store.AllShards, stop) {
			return false
		}
		more = pending.Step(viewSlice)
		s.store.Unlock(store.AllShards)
		runtime.Gosched()
	}
	return true
}

// preservedKeys are on their way to the goroutine that takes the snapshot, from
// it or from a command that is about to change them.
type preservedKeys struct {
	mu      sync.Mutex
	encoder *rdb.KeyEncoder // nil: every value is frozen; protected by mu
	queue   keyQueue        // protected by mu

	drained keyQueue // what drain returned last
}

type keyQueue struct {
	keys    []Key
	encoded []byte // of those that are encoded
}

// add is called with the key's shard locked.
func (p *preservedKeys) add(db int, n *store.Node) {
	k := Key{DB: db}
	at, _ := n.Value.ExpireAtMs()
	if p.encoder != nil && store.ValueBytes(n) <= encodedBytes {
		p.mu.Lock()
		defer p.mu.Unlock()
		q := &p.queue
		start := len(q.encoded)
		q.encoded = p.encoder.Append(q.encoded, n.Key(), at, store.DataOf(n))
		k.encoded = q.encoded[start:]
		q.keys = append(q.keys, k)
		return
	}
	k.Name, k.ExpireAtMs = n.Key(), at
	k.Value, k.pending = store.Freeze(store.DataOf(n))
	p.mu.Lock()
	defer p.mu.Unlock()
	p.queue.keys = append(p.queue.keys, k)
}

// drain returns the keys that were added since the last call. They are valid
// until the next.
func (p *preservedKeys) drain() []Key {
	clear(p.drained.keys)
	p.mu.Lock()
	defer p.mu.Unlock()
	next := keyQueue{keys: p.drained.keys[:0], encoded: p.drained.encoded[:0]}
	p.drained, p.queue = p.queue, next
	return p.drained.keys
}
