// Package crashdisk is a disk.FS in memory that power can be cut to. For tests.
//
// It knows of each file what was synced and what was written since, and of the
// names which changes were made to outlast a power cut by a SyncDir. PowerCut
// builds a disk as a power cut may leave it: of what was not synced each sector
// may be there in any of the versions that were written, in no order, the
// length may be ahead of the bytes, and changes to names may be undone, one by
// one. Hook puts faults in, or waits.
package crashdisk

import (
	"errors"
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

// Kind is what an operation does.
type Kind string

// The operations that Hook sees and that are counted.
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

// Op is an operation that is about to happen.
type Op struct {
	N    int // counts from 1
	Kind Kind
	Name string
	Size int // bytes of a write
}

// Fault is what becomes of an operation. The zero value lets it happen.
type Fault struct {
	Err   error // it fails; what was unsynced when a Sync failed is never made safe by a later one
	Short int   // of a write that fails, so many bytes are written
	Lie   bool  // it does nothing and says that all went well
}

// Disk is a disk. All methods may be called concurrently.
type Disk struct {
	mu      sync.Mutex
	hook    func(Op) Fault
	rng     *rand.Rand
	n       int
	stopAt  int // the first operation that does not happen any more; 0: none
	process int
	locked  bool
	room    int64 // bytes that all files may have; 0: no bound

	live, safe         map[string]*node
	liveDirs, safeDirs map[string]bool
	changes            []change
}

// node is a file, whatever its names.
type node struct {
	data  []byte // as a reader sees it
	safe  []byte // as it was synced
	edits []edit // since then
}

// edit is a write, or with no data a cut or an extension.
type edit struct {
	off  int64
	data []byte
	size int64 // after it
}

// change is one to the names. It is on disk when one of its directories is synced.
type change struct {
	kind     Kind
	from, to string
	node     *node
}

// New is an empty disk. The seed decides what of a failed Sync is there.
func New(seed uint64) *Disk {
	return &Disk{
		rng:  rand.New(rand.NewPCG(seed, 1)),
		live: map[string]*node{}, safe: map[string]*node{},
		liveDirs: map[string]bool{".": true}, safeDirs: map[string]bool{".": true},
	}
}

// Hook has each operation go through f, which may wait: no lock is held.
func (d *Disk) Hook(f func(Op) Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.hook = f
}

// StopAt cuts the power before the n-th operation: it and all after it fail.
func (d *Disk) StopAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopAt = n
}

// Room bounds the bytes of all files; 0 lifts the bound.
func (d *Disk) Room(bytes int64) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.room = bytes
}

// Ops is how many operations there were.
func (d *Disk) Ops() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.n
}

// Used is the bytes of all files.
func (d *Disk) Used() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.used()
}

func (d *Disk) used() int64 {
	var sum int64
	for _, n := range d.live {
		sum += int64(len(n.data))
	}
	return sum
}

// FS is the disk as a process that begins now sees it. Processes before it are
// dead: their operations fail. What they wrote is there, synced or not.
func (d *Disk) FS() disk.FS {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.process++
	d.locked = false
	return view{d, d.process}
}

// Bytes is a file's content, nil when there is none.
func (d *Disk) Bytes(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := d.live[name]; n != nil {
		return slices.Clone(n.data)
	}
	return nil
}

// Put makes a file that is safe, names and all.
func (d *Disk) Put(name string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		d.liveDirs[dir], d.safeDirs[dir] = true, true
	}
	n := &node{data: slices.Clone(data), safe: slices.Clone(data)}
	d.live[name], d.safe[name] = n, n
}

// Names are those of all files, sorted.
func (d *Disk) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	for name := range d.live {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// String is the disk in words, for a test that failed.
func (d *Disk) String() string {
	var b strings.Builder
	for _, name := range d.Names() {
		b.WriteString("--- " + name + "\n")
		b.Write(d.Bytes(name))
		b.WriteByte('\n')
	}
	return b.String()
}
