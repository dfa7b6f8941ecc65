package traces

import (
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/zlimit/zlimit/commands/rl"
	"github.com/zlimit/zlimit/engine/stats/topk"
	"github.com/zlimit/zlimit/resp"
)

// A Tracer implements rl.Tracer: for each key that is traced it keeps the last
// decisions. Its zero value is ready to use.
type Tracer struct {
	// Elsewhere says that the keys are not in this engine. It must not change.
	Elsewhere bool

	on atomic.Bool // some key is traced

	mu        sync.Mutex
	byKey     map[topk.Key]*trace // protected by mu
	decisions int                 // sum of all sizes; protected by mu
	bytes     atomic.Int64
}

// Bounds of traces. A decision takes 32 bytes.
const (
	MaxKeys      = 64
	MaxDecisions = 100_000      // of all traces together
	maxName      = rl.MaxTopKey // bytes of a key's name
)

// A trace is a ring of decisions.
type trace struct {
	size      int // decisions that are kept
	decisions []rl.TracedDecision
	next      int // the oldest, once there are size decisions
	lost      int64
	fromEmpty bool
}

// A status describes a trace.
type status struct {
	key  string
	size int // decisions that it keeps at most
	held int
	lost int64 // earlier decisions
}

// bytes returns the memory that a trace takes, with its name and its place in the map.
func (r *trace) bytes(key topk.Key) int64 {
	return int64(unsafe.Sizeof(*r)) + int64(unsafe.Sizeof(key)) + int64(unsafe.Sizeof(r)) +
		int64(len(key.Name)) + int64(cap(r.decisions))*decisionBytes
}

const decisionBytes = int64(unsafe.Sizeof(rl.TracedDecision{}))

// Bytes returns how much memory the traces take.
func (t *Tracer) Bytes() int64 { return t.bytes.Load() }

// On reports whether any key is traced.
func (t *Tracer) On() bool { return t.on.Load() }

// start starts to trace a key, anew if it is traced already, and returns OK or the error
// reply. fromEmpty says that the key does not exist.
func (t *Tracer) start(db int, name string, size int, fromEmpty bool) resp.Value {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := topk.Key{DB: db, Name: name}
	old, others, decisions := t.byKey[key], len(t.byKey), t.decisions+size
	if old != nil {
		others--
		decisions -= old.size
	}
	switch {
	case len(name) > maxName:
		return errLongName
	case others >= MaxKeys:
		return errManyKeys
	case decisions > MaxDecisions:
		return errManyDecisions
	}
	if t.byKey == nil {
		t.byKey = make(map[topk.Key]*trace)
	}
	if old != nil {
		t.bytes.Add(-old.bytes(key))
	}
	r := &trace{size: size, fromEmpty: fromEmpty}
	t.bytes.Add(r.bytes(key))
	t.byKey[key] = r
	t.decisions = decisions
	t.on.Store(true)
	return resp.OK
}

// stop stops to trace a key, forgets its decisions, and reports whether it was traced.
func (t *Tracer) stop(db int, name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	key := topk.Key{DB: db, Name: name}
	old := t.byKey[key]
	if old == nil {
		return false
	}
	delete(t.byKey, key)
	t.decisions -= old.size
	t.bytes.Add(-old.bytes(key))
	t.on.Store(len(t.byKey) > 0)
	return true
}

// Record implements rl.Tracer.
func (t *Tracer) Record(db int, key []byte, d rl.TracedDecision) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byKey[topk.Key{DB: db, Name: string(key)}]
	switch {
	case r == nil:
	case len(r.decisions) < r.size:
		before := cap(r.decisions)
		r.decisions = append(r.decisions, d)
		if grown := cap(r.decisions) - before; grown > 0 {
			t.bytes.Add(int64(grown) * decisionBytes)
		}
	default:
		r.decisions[r.next] = d
		r.next = (r.next + 1) % r.size
		r.lost++
	}
}

// Trace implements rl.Tracer.
func (t *Tracer) Trace(db int, key []byte, n int) (rl.Trace, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.byKey[topk.Key{DB: db, Name: string(key)}]
	if r == nil {
		return rl.Trace{}, false
	}
	all := slices.Concat(r.decisions[r.next:], r.decisions[:r.next])
	earlier := max(len(all)-n, 0)
	return rl.Trace{
		Decisions: all[earlier:], Lost: r.lost + int64(earlier), FromEmpty: r.fromEmpty,
	}, true
}

// list returns the traces of a database, by name.
func (t *Tracer) list(db int) (all []status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, r := range t.byKey {
		if key.DB == db {
			all = append(all, status{key.Name, r.size, len(r.decisions), r.lost})
		}
	}
	slices.SortFunc(all, func(a, b status) int { return strings.Compare(a.key, b.key) })
	return all
}
