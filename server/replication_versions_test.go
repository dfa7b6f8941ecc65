package server_test

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// madeFile returns a file of persist/rdb, which has its keys by TestVersions there.
func madeFile(t *testing.T, name string) string {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "persist", "rdb", "testdata", "made", name))
	require.NoError(t, err)
	return string(file)
}

// asCopy returns a file as a master sends it, with commands behind it.
func asCopy(file string, commands ...string) string {
	mark := "x" + strings.Repeat("m", 39) // it cannot begin within the copy
	var stream strings.Builder
	for _, line := range commands {
		stream.Write(appendCommand(nil, bytes.Fields([]byte(line))))
	}
	return "$EOF:" + mark + "\r\n" + file + mark + stream.String()
}

// madeReplies are replies about the keys of a file.
var madeReplies = []struct{ line, reply string }{
	{"DBSIZE", ":9"},
	{"GET counter", "$2\r\n42"},
	{"LRANGE list 0 -1", "*3\r\n$1\r\na\r\n$1\r\nb\r\n$1\r\nc"},
	{"SMISMEMBER set a b c d", "*4\r\n:1\r\n:1\r\n:1\r\n:0"},
	{"SMISMEMBER integers 3 5 7", "*3\r\n:1\r\n:1\r\n:0"},
	{"HMGET hash field n", "*2\r\n$5\r\nvalue\r\n$1\r\n7"},
	{"HSTRLEN \"large hash\" field", ":100"},
	{"ZRANGEBYSCORE window 1700000000002 +inf", "*1\r\n$6\r\nunit:2"},
	{"ZSCORE \"large window\" " + strings.Repeat("u", 100), "$3\r\n1.5"},
	{"PEXPIRETIME window", ":4102444800000"},
	{"PEXPIRETIME \"large window\"", ":4102444800000"},
}

func (n *node) requireMadeKeys(t *testing.T, withLibrary bool) {
	t.Helper()
	for _, c := range madeReplies {
		require.Equal(t, c.reply, n.do(t, c.line), c.line)
	}
	want := "-ERR Function not found"
	if withLibrary {
		want = ":42"
	}
	require.Equal(t, want, n.do(t, "FCALL answer 0"))
}

// TestCopiesOfOtherVersions: what redis-server 6.2, 7.0 and 7.2 send to replicas is followed, and so is
// what they write as dump.rdb.
func TestCopiesOfOtherVersions(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"6.2", "7.0", "7.2"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			file := madeFile(t, "redis-"+version+".rdb")
			withLibrary := version != "6.2"

			f := newFabric(t)
			replica := f.node(ours)
			replica.fill(t, "SET own v")
			// Redis 6.2 passes on SCRIPT LOAD.
			newBrokenMaster(t, fromZero+asCopy(file, "SELECT 0", "SCRIPT LOAD return", "MULTI",
				"ZADD window 3 unit:3", "PEXPIREAT window 4102444800001", "EXEC", "SET counter 43")).
				follow(t, replica)
			f.until(func() bool { return replica.do(t, "GET counter") == "$2\r\n43" }, "the stream")
			require.Equal(t, "up", replica.field(t, "master_link_status"))
			require.Equal(t, ":4102444800001", replica.do(t, "PEXPIRETIME window"))
			require.Equal(t, ":3", replica.do(t, "ZCARD window"))
			require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
			replica.fill(t, "SET counter 42", "ZREM window unit:3", "PEXPIREAT window 4102444800000")
			replica.requireMadeKeys(t, withLibrary)

			d := crashdisk.New(1)
			require.NoError(t, disk.WriteFile(d.FS(), "dump.rdb", "temp.rdb", func(w io.Writer) error {
				_, err := io.WriteString(w, file)
				return err
			}))
			f.nodeOn(ours, d.FS()).requireMadeKeys(t, withLibrary)
		})
	}
}

// TestCopiesThatAreRefused: a copy with what is not held here is refused by name, once: the next one would
// have it too, and costs the master a fork. The replica keeps its keys.
func TestCopiesThatAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		why     string
		skipped string // with load-skip-unsupported; "": it is refused all the same
	}{
		"stream.rdb": {`key "events" of database 0 (stream)`, "1"},
		"module.rdb": {`a module type "QAAAAAAAB"`, "3"},
		"newer.rdb":  {"version 12 of the format", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFabric(t)
			d := crashdisk.New(1)
			replica := f.nodeOn(ours, d.FS())
			replica.fill(t, pairingKeys("own:")...)
			want := replica.do(t, "DEBUG DIGEST")
			master := newBrokenMaster(t, fromZero+asCopy(madeFile(t, name)))
			requireRefused := func(copies int64) {
				t.Helper()
				master.follow(t, replica)
				require.Contains(t, f.untilStopped(replica), c.why)
				for range 100 {
					replica.jump(t, fabricTimeout)
					f.tick()
				}
				require.Equal(t, copies, master.asked.Load())
				require.Contains(t, replica.do(t, "ROLE"), "stopped")
				require.Equal(t, want, replica.do(t, "DEBUG DIGEST"))
				require.Empty(t, spools(d.Names()))
				require.Equal(t, "+OK", replica.do(t, "REPLICAOF NO ONE"))
			}
			requireRefused(1)
			require.Equal(t, "+OK", replica.do(t, "CONFIG SET load-skip-unsupported yes"))
			if c.skipped == "" {
				requireRefused(2)
				return
			}
			master.follow(t, replica)
			f.until(func() bool { return replica.field(t, "master_link_status") == "up" }, "no copy")
			require.Equal(t, "$1\r\nv", replica.do(t, "GET after"))
			require.Equal(t, ":10", replica.do(t, "DBSIZE"))
			persistence := replica.info(t, "persistence")
			require.Equal(t, c.skipped, persistence["rdb_last_load_keys_skipped"])
			require.Equal(t, "10", persistence["rdb_last_load_keys_loaded"])
		})
	}
}
