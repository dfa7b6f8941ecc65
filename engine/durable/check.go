package durable

import (
	"fmt"
	"io"
	"path/filepath"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/rdb"
)

// CheckAOF reads a file of an append-only log, or every file that a manifest
// lists, without running what is in it, and writes what it finds to out. If fix
// is set it cuts off a torn or damaged end. It reports whether the file is sound
// now. nowMs is the system's time.
func CheckAOF(out io.Writer, path string, fix bool, nowMs int64) bool {
	dir, name := filepath.Split(path)
	check := aof.Check{
		FS: disk.OS(filepath.Clean(dir)), Out: out,
		RDB: func(name string, f io.ReaderAt, size int64) (end int64, err error) {
			sum, err := rdb.Read(f, size, rdb.ReadOptions{Skip: true}, rdb.Handler{})
			if err != nil {
				_ = rdb.Check(out, name, f, size, nowMs) // it says where and why
			}
			return sum.End, err
		},
	}
	if fix {
		check.Fix = func() bool { return true }
	}
	return check.File(name)
}

// CheckRDB is CheckAOF for a snapshot.
func CheckRDB(out io.Writer, path string, nowMs int64) bool {
	dir, name := filepath.Split(path)
	f, err := disk.OS(filepath.Clean(dir)).Open(name)
	if err != nil {
		fmt.Fprintln(out, "Cannot open file:", err)
		return false
	}
	defer f.Close()
	size, err := f.Size()
	if err != nil {
		fmt.Fprintln(out, "Cannot read file:", err)
		return false
	}
	return rdb.Check(out, name, f, size, nowMs) == nil
}
