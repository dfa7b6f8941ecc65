package aof_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/aof"
)

// TestForeignAppend checks that Redis can append to a file of ours without its last
// line, and that the log can continue after it.
func TestForeignAppend(t *testing.T) {
	on := written(t, 3, false)
	whole := on.Bytes(incr)
	on.Put(incr, append(whole[:bytes.LastIndex(whole, []byte("#ZC"))], wire("SET theirs 1")...))
	l := load(on, false)
	require.NoError(t, l.err)
	require.Len(t, l.commands, 5)
	log, err := aof.Open(aof.Options{FS: on.FS()}, l.Loaded, false, nothing)
	require.NoError(t, err)
	log.Append(group(0, "SET ours 1"), 1)
	require.NoError(t, log.Close())
	l = load(on, false)
	require.NoError(t, l.err)
	require.Equal(t, "SET theirs 1,SELECT 0,SET ours 1", strings.Join(l.commands[4:], ","))
}

// TestLeftoversAreRemoved checks that a start removes leftovers, and nothing else.
func TestLeftoversAreRemoved(t *testing.T) {
	on := written(t, 1, true)
	kept := on.Names()
	on.Put("appendonlydir/temp-appendonly.aof.2.base.rdb", []byte("half"))
	on.Put("appendonlydir/temp-appendonly.aof.manifest", []byte("half"))
	on.Put("appendonlydir/appendonly.aof.2.base.rdb", []byte("of a rewrite whose manifest was not written"))
	on.Put("appendonlydir/appendonly.aof.2.incr.aof", nil)
	on.Put("appendonlydir/old", []byte("h"))
	on.Put("appendonlydir/appendonly.aof.manifest",
		append(on.Bytes("appendonlydir/appendonly.aof.manifest"), "file old seq 1 type h\n"...))
	on.Put("appendonlydir/notes", []byte("somebody's"))
	on.Put("appendonlydir/appendonly.aof.7.incr.aof", []byte(wire("SET a 1")))
	l := load(on, false)
	require.NoError(t, l.err)
	log, err := aof.Open(aof.Options{FS: on.FS()}, l.Loaded, false, nothing)
	require.NoError(t, err)
	require.Len(t, on.Names(), len(kept)+2)
	require.Contains(t, on.Names(), "appendonlydir/notes")
	require.NotContains(t, string(on.Bytes("appendonlydir/appendonly.aof.manifest")), "old")
	require.NoError(t, log.Prepare())
	require.Contains(t, on.Names(), "appendonlydir/appendonly.aof.8.incr.aof",
		"and its number is not used again")
	log.Abort()
	require.NoError(t, log.Close())
}

func TestNamesArePlain(t *testing.T) {
	for _, o := range []aof.Options{{Name: "../a"}, {DirName: "/tmp"}, {DirName: ".."}} {
		_, err := aof.Load(o, true, aof.Handler{})
		require.ErrorContains(t, err, "must be names, not paths")
	}
}
