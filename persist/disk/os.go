package disk

import (
	"errors"
	"io"
	"os"
	"path/filepath"
)

// OS returns a directory of the operating system. It need not exist: MkdirAll(".")
// creates it.
func OS(dir string) FS { return osFS{dir} }

type osFS struct{ dir string }

func (o osFS) Path(name string) string { return filepath.Join(o.dir, filepath.FromSlash(name)) }

// at returns the path of a name that does not leave the directory. Names are checked as
// text: a link that an operator made to move the log elsewhere is followed.
func (o osFS) at(op, name string) (string, error) {
	name, err := local(op, name)
	return o.Path(name), err
}

func (o osFS) open(name string, flag int) (File, error) {
	at, err := o.at("open", name)
	if err != nil {
		return nil, err
	}
	f, err := os.OpenFile(at, flag, 0o644)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (o osFS) Create(name string) (File, error) {
	// O_APPEND: writes after a Truncate go to the new end instead of leaving a hole.
	return o.open(name, os.O_RDWR|os.O_CREATE|os.O_TRUNC|os.O_APPEND)
}

func (o osFS) OpenAppend(name string) (File, error) {
	return o.open(name, os.O_RDWR|os.O_CREATE|os.O_APPEND)
}

func (o osFS) Open(name string) (File, error) { return o.open(name, os.O_RDONLY) }

func (o osFS) Rewrite(name string, from int64) error {
	f, err := o.open(name, os.O_RDWR)
	if err != nil {
		return err
	}
	buf := make([]byte, 256<<10)
	for err == nil {
		var n int
		n, err = f.ReadAt(buf, from)
		if n == 0 {
			break
		}
		if _, failed := f.(osFile).WriteAt(buf[:n], from); failed != nil {
			err = failed
		}
		from += int64(n)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return errors.Join(err, f.Close())
}

func (o osFS) Rename(from, to string) error {
	old, err := o.at("rename", from)
	if err != nil {
		return err
	}
	at, err := o.at("rename", to)
	if err != nil {
		return err
	}
	return os.Rename(old, at)
}

func (o osFS) Remove(name string) error {
	at, err := o.at("remove", name)
	if err != nil {
		return err
	}
	return os.Remove(at)
}

func (o osFS) CopyOwner(from, to string) error {
	old, err := o.at("stat", from)
	if err != nil {
		return err
	}
	at, err := o.at("chmod", to)
	if err != nil {
		return err
	}
	info, err := os.Stat(old)
	if err != nil {
		return err
	}
	copyOwner(info, at)
	return os.Chmod(at, info.Mode().Perm())
}

func (o osFS) ReadDir(dir string) ([]string, error) {
	at, err := o.at("readdir", dir)
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(at)
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, err
}

func (o osFS) MkdirAll(dir string) error {
	at, err := o.at("mkdir", dir)
	if err != nil {
		return err
	}
	return os.MkdirAll(at, 0o755)
}

func (o osFS) SyncDir(dir string) error {
	at, err := o.at("sync", dir)
	if err != nil {
		return err
	}
	f, err := os.Open(at)
	if err != nil {
		return err
	}
	defer f.Close()
	return syncDir(f)
}

func (o osFS) Lock() (func() error, error) {
	f, err := os.Open(o.dir)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		_ = f.Close()
		return nil, &os.PathError{Op: "lock", Path: o.dir, Err: err}
	}
	return func() error { return errors.Join(unlock(f), f.Close()) }, nil
}

type osFile struct{ *os.File }

func (f osFile) Size() (int64, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (f osFile) Sync() error { return syncData(f.File) }
