package crashdisk

import (
	"io/fs"
	"path"
	"slices"

	"github.com/zlimit/zlimit/persist/disk"
)

// view is a process's view of a disk.
type view struct {
	d       *Disk
	process int
}

// begin counts an operation and calls the hook. It returns with the lock held unless it
// returns an error or a lie.
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

// off returns an error if the power is off or the process dead. Requires mu.
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
		if !v.d.live.dirs[path.Dir(name)] {
			return missing(Create, name)
		}
		if n = v.d.live.files[name]; n != nil {
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
	n := v.d.live.files[name]
	if n == nil {
		if !v.d.live.dirs[name] {
			return nil, missing("open", name)
		}
		n = &node{}
	}
	return &file{v: v, name: name, n: n}, nil
}

func (v view) Rewrite(name string, from int64) error {
	name = path.Clean(name)
	return v.do(Write, name, func() error {
		n := v.d.live.files[name]
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
	return v.do(Rename, to, func() error {
		n := v.d.live.files[from]
		if n == nil || !v.d.live.dirs[path.Dir(to)] {
			return missing(Rename, from)
		}
		v.d.apply(change{kind: Rename, from: from, to: to, node: n})
		return nil
	})
}

func (v view) Remove(name string) error {
	name = path.Clean(name)
	return v.do(Remove, name, func() error {
		n := v.d.live.files[name]
		if n == nil {
			return missing(Remove, name)
		}
		v.d.apply(change{kind: Remove, from: name, node: n})
		return nil
	})
}

// CopyOwner changes nothing: files have neither mode nor owner here.
func (v view) CopyOwner(from, to string) error {
	for _, name := range []string{from, to} {
		f, err := v.Open(name)
		if err != nil {
			return err
		}
		if err := f.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (v view) MkdirAll(dir string) error {
	dir = path.Clean(dir)
	return v.do(Mkdir, dir, func() error {
		if !v.d.live.dirs[dir] {
			v.d.apply(change{kind: Mkdir, to: dir})
		}
		return nil
	})
}

func (v view) SyncDir(dir string) error {
	dir = path.Clean(dir)
	return v.do(SyncDir, dir, func() error {
		if !v.d.live.dirs[dir] {
			return missing(SyncDir, dir)
		}
		v.d.changes = slices.DeleteFunc(v.d.changes, func(c change) bool {
			if (c.from == "" || path.Dir(c.from) != dir) && (c.to == "" || path.Dir(c.to) != dir) {
				return false
			}
			v.d.safe.apply(c)
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
	if !v.d.live.dirs[dir] {
		return nil, missing("readdir", dir)
	}
	var names []string
	for name := range v.d.live.files {
		if path.Dir(name) == dir {
			names = append(names, path.Base(name))
		}
	}
	for name := range v.d.live.dirs {
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
	d.live.apply(c)
}
