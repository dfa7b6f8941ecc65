package aof_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// written returns a disk with a log of n SETs written one by one under Always, and
// closed or not.
func written(t *testing.T, n int, closed bool) *crashdisk.Disk {
	t.Helper()
	on := crashdisk.New(1)
	log, err := aof.Open(aof.Options{FS: on.FS(), Policy: func() aof.Policy { return aof.Always }},
		&aof.Loaded{}, false, nothing)
	require.NoError(t, err)
	for i := range n {
		require.NoError(t,
			log.Wait(log.Append(group(0, fmt.Sprintf("SET key:%d value", i)), 1000+int64(i)), nil))
	}
	if !closed {
		on.FS() // the process is dead
	}
	err = log.Close()
	require.Equal(t, closed, err == nil, err)
	return on
}

const incr = "appendonlydir/appendonly.aof.1.incr.aof"

type loaded struct {
	*aof.Loaded
	commands []string
	log      []string
	err      error
}

func load(on *crashdisk.Disk, truncate bool) loaded {
	var l loaded
	o := aof.Options{FS: on.FS(), Log: func(_ bool, text string) { l.log = append(l.log, text) }}
	l.Loaded, l.err = aof.Load(o, truncate, aof.Handler{Apply: func(args [][]byte) error {
		l.commands = append(l.commands, string(bytes.Join(args, []byte(" "))))
		return nil
	}})
	return l
}

func TestTornTailIsTruncated(t *testing.T) {
	whole := written(t, 20, false).Bytes(incr)
	last := bytes.LastIndex(whole, []byte("*3"))
	for cut := last + 1; cut < len(whole); cut += 3 {
		if end := bytes.LastIndex(whole, []byte("#ZC")); cut >= end {
			break // the last command is whole
		}
		on := written(t, 1, false)
		on.Put(incr, whole[:cut])
		l := load(on, true)
		require.NoError(t, l.err, "cut at %d", cut)
		require.Len(t, l.commands, 1+19)
		require.Len(t, l.log, 1)
		lead := bytes.LastIndex(whole[:last], []byte("#ZL"))
		require.Len(t, on.Bytes(incr), lead, "the preceding line is removed, too")
		require.EqualValues(t, cut-lead, l.CutBytes)
		require.Contains(t, l.log[0], fmt.Sprintf("from %d to %d bytes, %d bytes about", cut, lead, cut-lead))
		if cut > last+len("*3\r\n$3\r\nSET\r\n$6\r\nkey:1") {
			require.Contains(t, l.log[0], `1 key(s) are lost: "key:1`)
		}

		l = load(on, true)
		require.NoError(t, l.err)
		require.Len(t, l.commands, 1+19)
		require.Zero(t, l.CutBytes)

		on.Put(incr, whole[:cut])
		l = load(on, false)
		require.ErrorIs(t, l.err, aof.ErrDamaged)
		require.ErrorContains(t, l.err, "aof-load-truncated is no")
		require.Equal(t, whole[:cut], on.Bytes(incr))
	}
}

func TestUnfinishedGroupIsTorn(t *testing.T) {
	on := crashdisk.New(1)
	on.Put("appendonly.aof", []byte(wire("SELECT 0", "SET a 1", "MULTI", "SET b 2", "SET c 3")))
	l := load(on, true)
	require.NoError(t, l.err)
	require.Equal(t, []string{"SELECT 0", "SET a 1"}, l.commands)
	require.Contains(t, l.log[0], `2 key(s) are lost: "b", "c"`)
	require.Equal(t, wire("SELECT 0", "SET a 1"), string(on.Bytes("appendonlydir/appendonly.aof")),
		"and it is moved, as Redis 7.0 does")
}

// TestDamageIsRefused changes each byte of a log in turn. Synced data is never dropped
// as torn, and no file is changed.
func TestDamageIsRefused(t *testing.T) {
	for _, closed := range []bool{true, false} {
		on := written(t, 6, closed)
		whole := on.Bytes(incr)
		end := len(whole)
		if !closed { // nothing proves that the last batch was synced
			end = bytes.LastIndex(whole, []byte("#ZL"))
		}
		for i := range end {
			if !closed && i >= bytes.LastIndex(whole[:end], []byte("#ZL")) {
				break
			}
			for _, to := range []byte{0, 'x', whole[i] ^ 1} {
				damaged := bytes.Clone(whole)
				damaged[i] = to
				if to == whole[i] {
					continue
				}
				on.Put(incr, damaged)
				l := load(on, true)
				if l.err == nil && closed && i >= bytes.LastIndex(whole, []byte("#ZL")) {
					continue // the last line, which holds nothing
				}
				if l.err == nil && l.CutBytes == 0 && len(l.commands) == 7 &&
					strings.Contains("#ZLC", string(whole[i])) {
					continue // a line of ours became an unknown comment
				}
				require.ErrorIs(t, l.err, aof.ErrDamaged, "byte %d is %q", i, to)
				require.ErrorContains(t, l.err, incr+" at offset ")
				require.ErrorContains(t, l.err, "zlimit-server --check-aof "+incr)
				require.Equal(t, damaged, on.Bytes(incr))
			}
		}
	}
}

// TestDamageOfRedisFilesIsRefused reads files without checksums: a file that breaks off
// is torn, and any other flaw is damage, as in Redis.
func TestDamageOfRedisFilesIsRefused(t *testing.T) {
	for _, c := range []struct{ content, text string }{
		{wire("SET a 1") + "x" + wire("SET b 2"), "at offset 27 (0x1b)"},
		{wire("SET a 1") + "*1\r\n$2\r\nab\n\n", "Expected \\r\\n, got: 0a0a"},
		{wire("SET a 1") + "*0\r\n", "0 arguments"},
		{wire("SET a 1") + "*1\r\n$99999999999\r\n", "10 digits"},
		{wire("SET a 1") + "*-1\r\n", "Expected \\r\\n, got: 2d31"},
		{wire("EXEC"), "Unexpected EXEC"},
		{wire("MULTI", "MULTI", "EXEC", "EXEC"), "Unexpected MULTI"},
	} {
		on := crashdisk.New(1)
		on.Put("appendonly.aof", []byte(c.content))
		l := load(on, true)
		require.ErrorIs(t, l.err, aof.ErrDamaged, c.text)
		require.ErrorContains(t, l.err, c.text)
		require.Empty(t, l.commands, "preceding commands are not executed")
		require.Equal(t, c.content, string(on.Bytes("appendonly.aof")), "and not moved")
	}
}

func TestOnlyTheLastFileMayBeTorn(t *testing.T) {
	on := crashdisk.New(1)
	on.Put("appendonlydir/appendonly.aof.manifest",
		[]byte("file b seq 1 type b\nfile i1 seq 1 type i\nfile i2 seq 2 type i\nfile i3 seq 3 type i\n"))
	on.Put("appendonlydir/b", []byte(wire("SET a 0")))
	on.Put("appendonlydir/i1", []byte(wire("SET a 1")))
	on.Put("appendonlydir/i2", []byte(wire("SET a 2")+"*1\r\n"))
	on.Put("appendonlydir/i3", []byte(wire("SET a 3")))
	require.ErrorContains(t, load(on, true).err,
		"i2 at offset 27 (0x1b): the file ends in the middle of a group, and is not the last one")
	on.Put("appendonlydir/i3", nil)
	l := load(on, true)
	require.NoError(t, l.err)
	require.Equal(t, []string{"SET a 0", "SET a 1", "SET a 2"}, l.commands)
}

func TestMissingFilesAreNamed(t *testing.T) {
	on := crashdisk.New(1)
	on.Put("appendonlydir/appendonly.aof.manifest", []byte("file i1 seq 1 type i\n"))
	require.ErrorContains(t, load(on, true).err, "lists appendonlydir/i1, which is not there")
	on.Put("appendonlydir/appendonly.aof.manifest", []byte("file ../i1 seq 1 type i\n"))
	require.ErrorContains(t, load(on, true).err, `line 1: "../i1" is not a name`)
	on = crashdisk.New(1)
	on.Put(incr, []byte(wire("SET a 1")))
	require.ErrorContains(t, load(on, true).err, "the manifest that should list it is not")
}

func TestFailedCommandIsNamed(t *testing.T) {
	on := crashdisk.New(1)
	on.Put("appendonly.aof", []byte(wire("SET a 1", "XADD s")))
	refusal := errors.New("ERR unknown command")
	_, err := aof.Load(aof.Options{FS: on.FS()}, true, aof.Handler{Apply: func(args [][]byte) error {
		if strings.EqualFold(string(args[0]), "xadd") {
			return refusal
		}
		return nil
	}})
	require.ErrorIs(t, err, refusal)
	require.ErrorContains(t, err, `appendonly.aof at offset 27: the command "XADD"`)
}
