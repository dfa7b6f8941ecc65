package main

import (
	"bufio"
	"bytes"
	"io/fs"
	"math"
	"path"
	"strconv"
	"strings"
)

// machineMemory returns the bytes of memory that the process may use: the machine's, or
// the limit of its control groups (version 1 or 2). It returns 0 if the system does not
// tell. root is the root of the file system.
func machineMemory(root fs.FS) int64 {
	least := int64(math.MaxInt64)
	read := func(name string) {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return
		}
		// Not "max".
		if n, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	for _, f := range fields(root, "proc/meminfo") {
		if len(f) == 3 && f[0] == "MemTotal:" {
			if kb, err := strconv.ParseInt(f[1], 10, 64); err == nil && kb > 0 {
				least = kb << 10
			}
		}
	}
	// Within a container its own group is the root of the mounted tree; elsewhere the
	// group's path leads there.
	group, group1 := "/", "/"
	for _, f := range fields(root, "proc/self/cgroup") {
		part := strings.SplitN(f[0], ":", 3)
		switch {
		case len(part) == 3 && part[0] == "0" && part[1] == "":
			group = part[2]
		case len(part) == 3 && part[1] == "memory":
			group1 = part[2]
		}
	}
	for dir := path.Clean("/" + group); ; dir = path.Dir(dir) { // the limits of parent groups apply, too
		read(path.Join("sys/fs/cgroup", dir, "memory.max"))
		if dir == "/" {
			break
		}
	}
	for _, dir := range []string{group1, "/"} {
		read(path.Join("sys/fs/cgroup/memory", path.Clean("/"+dir), "memory.limit_in_bytes"))
	}
	if least == math.MaxInt64 {
		return 0
	}
	return least
}

// fields returns the fields of a file's non-empty lines.
func fields(root fs.FS, name string) (lines [][]string) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil
	}
	for in := bufio.NewScanner(bytes.NewReader(text)); in.Scan(); {
		if f := strings.Fields(in.Text()); len(f) > 0 {
			lines = append(lines, f)
		}
	}
	return lines
}
