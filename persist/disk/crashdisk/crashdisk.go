// Package crashdisk implements disk.FS in memory with simulated power cuts, for tests.
//
// It records what was synced of each file and what was written since, and which changes
// to names SyncDir made durable. PowerCut returns a disk as a power cut may leave it:
// each unsynced sector may be in any of the versions written, in any order, the length
// may be ahead of the bytes, and changes to names may be undone one by one. Hook
// injects faults or delays.
//
// This package is internal to zlimit: it may change in any release.
package crashdisk

import (
	"errors"
	"maps"
	"math/rand/v2"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/zlimit/zlimit/persist/disk"
)

// Errors of a disk in memory.
var (
	ErrOff   = errors.New("crashdisk: the power is off")
	ErrSpace = errors.New("crashdisk: no space left on device")
)

// Kind is a kind of operation.
type Kind string

// The operations that Hook sees and Ops counts.
const (
	Create   Kind = "create"
	Write    Kind = "write"
	Sync     Kind = "sync"
	Truncate Kind = "truncate"
	Rename   Kind = "rename"
	Remove   Kind = "remove"
	Mkdir    Kind = "mkdir"
	SyncDir  Kind = "syncdir"
)

// Op is an operation about to happen.
type Op struct {
	N    int // counts from 1
	Kind Kind
	Name string // of a rename: the new one
	Size int    // bytes of a write
}

// Fault is the outcome of an operation. The zero value lets it succeed.
type Fault struct {
	Err   error // the operation fails; data unsynced at a failed Sync is never made safe by a later one
	Short int   // bytes written by a failing write
	Lie   bool  // the operation does nothing and reports success
}

// Disk is a disk in memory. All methods may be called concurrently.
type Disk struct {
	mu       sync.Mutex
	hook     func(Op) Fault
	rng      *rand.Rand
	n        int
	stopAt   int // the first operation after the power cut; 0: none
	process  int
	locked   bool
	capacity int64 // limit of the total size of all files; 0: none

	live, safe tree
	changes    []change // of live that are not in safe
}

// tree is the names of a disk.
type tree struct {
	files map[string]*node
	dirs  map[string]bool
}

func newTree() tree { return tree{files: map[string]*node{}, dirs: map[string]bool{".": true}} }

// clone returns a tree with the same files.
func (t tree) clone() tree { return tree{files: maps.Clone(t.files), dirs: maps.Clone(t.dirs)} }

// names returns the names of all files, sorted.
func (t tree) names() []string { return slices.Sorted(maps.Keys(t.files)) }

// apply makes a change.
func (t tree) apply(c change) {
	if c.kind == Mkdir {
		t.dirs[c.to] = true
		return
	}
	if c.from != "" && t.files[c.from] == c.node {
		delete(t.files, c.from)
	}
	if c.to != "" {
		t.files[c.to] = c.node
	}
}

// node is a file, independent of its names.
type node struct {
	data  []byte // as read
	safe  []byte // as last synced
	edits []edit // since the last sync
}

// edit is a write or, without data, a truncation or extension.
type edit struct {
	off  int64
	data []byte
	size int64 // after the edit
}

// change is a change of names. It is durable once one of its directories is synced.
type change struct {
	kind     Kind
	from, to string
	node     *node
}

// New returns an empty disk. The seed decides what of a failed Sync survives.
func New(seed uint64) *Disk {
	return &Disk{rng: rand.New(rand.NewPCG(seed, 1)), live: newTree(), safe: newTree()}
}

// Hook passes each operation to f, which may block: no lock is held.
func (d *Disk) Hook(f func(Op) Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hook = f
}

// StopAt cuts the power before the n-th operation, which fails like all after it.
func (d *Disk) StopAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopAt = n
}

// SetCapacity limits the bytes of all files; 0 removes the limit.
func (d *Disk) SetCapacity(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.capacity = bytes
}

// Ops returns the number of operations so far.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// Used returns the bytes of all files.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

func (d *Disk) used() int64 {
	var sum int64
	for _, n := range d.live.files {
		sum += int64(len(n.data))
	}
	return sum
}

// FS returns the disk as seen by a process that starts now. Earlier processes are dead:
// their operations fail. What they wrote is there, synced or not.
func (d *Disk) FS() disk.FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.process++
	d.locked = false
	return view{d, d.process}
}

// Bytes returns a file's content, nil if it does not exist.
func (d *Disk) Bytes(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.live.files[name]; n != nil {
		return slices.Clone(n.data)
	}
	return nil
}

// Put creates a file whose content and name are durable.
func (d *Disk) Put(name string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		d.live.dirs[dir], d.safe.dirs[dir] = true, true
	}
	n := &node{data: slices.Clone(data), safe: slices.Clone(data)}
	d.live.files[name], d.safe.files[name] = n, n
}

// Names returns the names of all files, sorted.
func (d *Disk) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.live.names()
}

// String describes the disk for a failed test.
func (d *Disk) String() string {
	var b strings.Builder
	for _, name := range d.Names() {
		b.WriteString("--- " + name + "\n")
		b.Write(d.Bytes(name))
		b.WriteByte('\n')
	}
	return b.String()
}
