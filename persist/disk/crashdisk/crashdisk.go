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
	"io"
	"io/fs"
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

// view is a process's.
type view struct {
	d       *Disk
	process int
}

// begin lets an operation begin: it counts it, asks the hook, and holds the lock
// when it answers without an error or a lie.
func (v view) begin(op Op) (Fault, error) {
	d := v.d
	d.mu.Lock()
	d.n++
	op.N = d.n
	hook, err := d.hook, v.off()
	d.mu.Unlock()
	if err != nil {
		return Fault{}, err
	}
	var fault Fault
	if hook != nil {
		fault = hook(op)
	}
	d.mu.Lock()
	if err := v.off(); err != nil {
		d.mu.Unlock()
		return Fault{}, err
	}
	return fault, nil
}

// off tells whether the power is off, or the process dead. Requires mu.
func (v view) off() error {
	if v.process != v.d.process || (v.d.stopAt > 0 && v.d.n >= v.d.stopAt) {
		return ErrOff
	}
	return nil
}

// do runs an operation on names.
func (v view) do(kind Kind, name string, f func() error) error {
	fault, err := v.begin(Op{Kind: kind, Name: name})
	if err != nil {
		return err
	}
	defer v.d.mu.Unlock()
	if fault.Err != nil {
		return &fs.PathError{Op: string(kind), Path: name, Err: fault.Err}
	}
	if fault.Lie {
		return nil
	}
	return f()
}

func missing(op Kind, name string) error {
	return &fs.PathError{Op: string(op), Path: name, Err: fs.ErrNotExist}
}

func (v view) Path(name string) string { return name }

func (v view) Create(name string) (disk.File, error) {
	return v.make(name, func(n *node) { n.edit(edit{size: 0}) })
}

func (v view) OpenAppend(name string) (disk.File, error) {
	return v.make(name, func(*node) {})
}

func (v view) make(name string, existing func(*node)) (disk.File, error) {
	name = path.Clean(name)
	var n *node
	err := v.do(Create, name, func() error {
		if !v.d.liveDirs[path.Dir(name)] {
			return missing(Create, name)
		}
		if n = v.d.live[name]; n != nil {
			existing(n)
			return nil
		}
		n = &node{}
		v.d.apply(change{kind: Create, to: name, node: n})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &file{v: v, name: name, n: n}, nil
}

func (v view) Open(name string) (disk.File, error) {
	name = path.Clean(name)
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	if err := v.off(); err != nil {
		return nil, err
	}
	n := v.d.live[name]
	if n == nil {
		if !v.d.liveDirs[name] {
			return nil, missing("open", name)
		}
		n = &node{}
	}
	return &file{v: v, name: name, n: n}, nil
}

func (v view) Rewrite(name string, from int64) error {
	name = path.Clean(name)
	return v.do(Write, name, func() error {
		n := v.d.live[name]
		if n == nil {
			return missing(Write, name)
		}
		if size := int64(len(n.data)); from < size {
			n.edit(edit{off: from, data: slices.Clone(n.data[from:]), size: size})
		}
		return nil
	})
}

func (v view) Rename(from, to string) error {
	from, to = path.Clean(from), path.Clean(to)
	return v.do(Rename, from, func() error {
		n := v.d.live[from]
		if n == nil || !v.d.liveDirs[path.Dir(to)] {
			return missing(Rename, from)
		}
		v.d.apply(change{kind: Rename, from: from, to: to, node: n})
		return nil
	})
}

func (v view) Remove(name string) error {
	name = path.Clean(name)
	return v.do(Remove, name, func() error {
		n := v.d.live[name]
		if n == nil {
			return missing(Remove, name)
		}
		v.d.apply(change{kind: Remove, from: name, node: n})
		return nil
	})
}

func (v view) MkdirAll(dir string) error {
	dir = path.Clean(dir)
	return v.do(Mkdir, dir, func() error {
		if !v.d.liveDirs[dir] {
			v.d.apply(change{kind: Mkdir, to: dir})
		}
		return nil
	})
}

func (v view) SyncDir(dir string) error {
	dir = path.Clean(dir)
	return v.do(SyncDir, dir, func() error {
		if !v.d.liveDirs[dir] {
			return missing(SyncDir, dir)
		}
		v.d.changes = slices.DeleteFunc(v.d.changes, func(c change) bool {
			if (c.from == "" || path.Dir(c.from) != dir) && (c.to == "" || path.Dir(c.to) != dir) {
				return false
			}
			c.in(v.d.safe, v.d.safeDirs)
			return true
		})
		return nil
	})
}

func (v view) ReadDir(dir string) ([]string, error) {
	dir = path.Clean(dir)
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	if err := v.off(); err != nil {
		return nil, err
	}
	if !v.d.liveDirs[dir] {
		return nil, missing("readdir", dir)
	}
	var names []string
	for name := range v.d.live {
		if path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	for name := range v.d.liveDirs {
		if name != "." && path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (v view) Lock() (func() error, error) {
	v.d.mu.Lock()
	defer v.d.mu.Unlock()
	if err := v.off(); err != nil {
		return nil, err
	}
	if v.d.locked {
		return nil, disk.ErrLocked
	}
	v.d.locked = true
	return func() error {
		v.d.mu.Lock()
		defer v.d.mu.Unlock()
		if v.process == v.d.process {
			v.d.locked = false
		}
		return nil
	}, nil
}

// apply makes a change to the names. Requires mu.
func (d *Disk) apply(c change) {
	d.changes = append(d.changes, c)
	c.in(d.live, d.liveDirs)
}

// in makes the change to a set of names.
func (c change) in(files map[string]*node, dirs map[string]bool) {
	if c.kind == Mkdir {
		dirs[c.to] = true
		return
	}
	if c.from != "" && files[c.from] == c.node {
		delete(files, c.from)
	}
	if c.to != "" {
		files[c.to] = c.node
	}
}

// file is an open file.
type file struct {
	v    view
	name string
	n    *node
	at   int64
}

func (f *file) do(op Op, run func(Fault) error) error {
	op.Name = f.name
	fault, err := f.v.begin(op)
	if err != nil {
		return err
	}
	defer f.v.d.mu.Unlock()
	if fault.Lie {
		return nil
	}
	err = run(fault)
	if err == nil {
		err = fault.Err
	}
	if err != nil {
		return &fs.PathError{Op: string(op.Kind), Path: f.name, Err: err}
	}
	return nil
}

func (f *file) Write(p []byte) (int, error) {
	n := 0
	err := f.do(Op{Kind: Write, Size: len(p)}, func(fault Fault) error {
		n = len(p)
		if fault.Err != nil {
			n = min(fault.Short, n)
		}
		var full error
		if room := f.v.d.room; room > 0 {
			if left := max(0, room-f.v.d.used()); int64(n) > left {
				n, full = int(left), ErrSpace
			}
		}
		if n > 0 {
			off := int64(len(f.n.data))
			f.n.edit(edit{off: off, data: slices.Clone(p[:n]), size: off + int64(n)})
		}
		return full
	})
	return n, err
}

func (f *file) Sync() error {
	return f.do(Op{Kind: Sync}, func(fault Fault) error {
		if fault.Err != nil {
			// Its pages are clean now, whether they were written or not. That it
			// was cut is no matter of pages.
			for i, e := range slices.Backward(f.n.edits) {
				if len(e.data) == 0 {
					f.n.safe, f.n.edits = f.n.after(i+1), f.n.edits[i+1:]
					break
				}
			}
			f.n.safe, f.n.edits = f.n.left(f.v.d.rng), nil
			return nil
		}
		f.n.makeSafe()
		return nil
	})
}

func (f *file) Truncate(size int64) error {
	return f.do(Op{Kind: Truncate}, func(fault Fault) error {
		if fault.Err == nil {
			f.n.edit(edit{size: size})
		}
		return nil
	})
}

func (f *file) Size() (int64, error) {
	f.v.d.mu.Lock()
	defer f.v.d.mu.Unlock()
	return int64(len(f.n.data)), f.v.off()
}

func (f *file) ReadAt(p []byte, off int64) (int, error) {
	f.v.d.mu.Lock()
	defer f.v.d.mu.Unlock()
	if err := f.v.off(); err != nil {
		return 0, err
	}
	if off >= int64(len(f.n.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.n.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *file) Read(p []byte) (int, error) {
	n, err := f.ReadAt(p, f.at)
	f.at += int64(n)
	if n > 0 {
		err = nil
	}
	return n, err
}

func (f *file) Close() error { return nil }

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
