package crashdisk

import (
	"io"
	"io/fs"
	"slices"
)

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
		if capacity := f.v.d.capacity; capacity > 0 {
			if left := max(0, capacity-f.v.d.used()); int64(n) > left {
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
			// Its pages are clean now, written or not. A truncation does not depend on
			// pages.
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
