package aof

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/zlimit/zlimit/persist/disk"
)

// Check implements zlimit-server --check-aof. It reads a file, or all files of a
// manifest, executes nothing, and reports in the words of redis-check-aof.
type Check struct {
	FS  disk.FS   // the directory that holds the file
	Out io.Writer // receives the report
	// Fix, if not nil, is asked whether to truncate a file. nil changes nothing.
	Fix func() bool
	// RDB reads an RDB preamble, reports on it, and returns the offset of its end.
	RDB  func(name string, f io.ReaderAt, size int64) (end int64, err error)
	Keys func(args [][]byte) [][]byte // as in Handler
}

// File checks the file called name and reports whether it is valid now.
func (c Check) File(name string) bool {
	f, size, ok := c.open(name)
	if !ok {
		return false
	}
	defer f.Close()
	if size > 0 && size <= maxManifest {
		head, err := beginsWith(f, size, "file ")
		if err == nil && (head || strings.HasSuffix(name, manifestSuffix)) {
			return c.manifest(name, f, size)
		}
	}
	c.say("Start checking Old-Style AOF")
	return c.file(name, "AOF", true)
}

func (c Check) say(format string, args ...any) {
	fmt.Fprintf(c.Out, format+"\n", args...)
}

func (c Check) open(name string) (disk.File, int64, bool) {
	f, err := c.FS.Open(name)
	if err != nil {
		var at *fs.PathError
		if errors.As(err, &at) {
			err = at.Err
		}
		c.say("Cannot open file %s: %v", name, err)
		return nil, 0, false
	}
	size, err := f.Size()
	if err != nil {
		_ = f.Close()
		c.say("Cannot stat file: %s, aborting...", name)
		return nil, 0, false
	}
	return f, size, true
}

func (c Check) manifest(name string, f disk.File, size int64) bool {
	c.say("Start checking Multi Part AOF")
	data := make([]byte, size)
	if _, err := f.ReadAt(data, 0); err != nil && !errors.Is(err, io.EOF) {
		c.say("Cannot read the manifest %s: %v", name, err)
		return false
	}
	m, err := parseManifest(data)
	if err != nil {
		c.say("The manifest %s is not valid: %v", name, err)
		return false
	}
	parts := m.files()
	last := 0
	for i, p := range parts {
		f, size, ok := c.open(p.name)
		if !ok {
			return false
		}
		_ = f.Close()
		if size > 0 {
			last = i
		}
	}
	incrs := false
	for i, p := range parts {
		kind := "INCR AOF"
		if p.kind == kindBase {
			kind = "BASE AOF"
			c.say("Start to check BASE AOF (%s format).", strings.ToUpper(p.name[max(0, len(p.name)-3):]))
		} else if !incrs {
			incrs = true
			c.say("Start to check INCR files.")
		}
		if !c.file(p.name, kind, i >= last) {
			return false
		}
	}
	c.say("All AOF files and manifest are valid")
	return true
}

// file checks one file. Only the last one may be truncated.
func (c Check) file(name, kind string, last bool) bool {
	f, size, ok := c.open(name)
	if !ok {
		return false
	}
	defer f.Close()
	if size == 0 {
		c.say("%s %s is empty", kind, name)
		return true
	}
	from, ok := c.preamble(name, f, size)
	if !ok {
		return false
	}
	rep, err := verify(f, from, size)
	if err != nil {
		c.say("Cannot read file %s: %v", name, err)
		return false
	}
	if rep.flaw != nil && rep.flaw.text != textEOF { // redis-check-aof prints nothing for it
		where := ""
		if strings.HasPrefix(rep.flaw.text, "Unexpected ") {
			where = " in AOF " + name
		}
		c.say("0x%16x: %s%s", rep.flaw.piece, rep.flaw.text, where)
	}
	c.say("AOF analyzed: filename=%s, size=%d, ok_up_to=%d, ok_up_to_line=%d, diff=%d", name, size, rep.ok,
		rep.lines+1, size-rep.ok)
	if rep.flaw == nil {
		c.say("%s %s is valid", kind, name)
		return true
	}
	return c.offerFix(name, f, rep, last)
}

func (c Check) preamble(name string, f io.ReaderAt, size int64) (int64, bool) {
	rdb, err := beginsWith(f, size, signature)
	if err != nil {
		c.say("Cannot read file %s: %v", name, err)
		return 0, false
	}
	if !rdb {
		return 0, true
	}
	if c.RDB == nil {
		c.say("%s begins in RDB format, which nobody reads here", name)
		return 0, false
	}
	from, err := c.RDB(name, f, size)
	if err != nil {
		c.say("RDB preamble of AOF file is not sane, aborting.")
		return 0, false
	}
	c.say("RDB preamble is OK, proceeding with AOF tail...")
	return from, true
}

// offerFix truncates a file behind its last whole group if Fix agrees.
func (c Check) offerFix(name string, f io.ReaderAt, rep report, last bool) bool {
	keys := c.Keys
	if keys == nil {
		keys = firstArgument
	}
	if n, names, err := describeTail(f, rep.ok, rep.size, keys); err == nil && n > 0 {
		more := ""
		if n > len(names) {
			more = ", ..."
		}
		c.say("The %d bytes from there on are about %d key(s): %s%s", rep.size-rep.ok, n,
			strings.Join(names, ", "), more)
	}
	switch {
	case c.Fix == nil:
		c.say("AOF %s is not valid. Use the --fix option to try fixing it.", name)
		return false
	case !last:
		c.say("Failed to truncate AOF %s because it is not the last file", name)
		return false
	}
	c.say("This will shrink the AOF %s from %d bytes, with %d bytes, to %d bytes", name, rep.size,
		rep.size-rep.ok, rep.ok)
	fmt.Fprint(c.Out, "Continue? [y/N]: ")
	if !c.Fix() {
		c.say("Aborting...")
		return false
	}
	if err := truncate(c.FS, name, rep.ok); err != nil {
		c.say("Failed to truncate AOF %s: %v", name, err)
		return false
	}
	c.say("Successfully truncated AOF %s", name)
	return true
}
