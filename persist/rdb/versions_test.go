package rdb_test

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/persist/rdb"
)

// The files here are built by hand as redis-server 6.2, 7.0 and 7.2 write them: the same keys
// in the encodings of each. They are in testdata, from where package server loads them as
// dump.rdb and as copies of a master. The first two were loaded by redis-server 7.0.15.

// versionKeys are the keys of the files, and what there is to see of each.
var versionKeys = []struct{ key, contents string }{
	{"counter", `string int -1 "42"`},
	{"text", `string embstr -1 "hello"`},
	{"list", `list quicklist -1 ["a" "b" "c"]`},
	{"integers", `set intset -1 ["3" "5"]`},
	{"set", `set hashtable -1 ["a" "b" "c"]`},
	{"hash", `hash listpack -1 ["field" "value" "n" "7"]`},
	{"large hash", `hash hashtable -1 ["field" "` + strings.Repeat("v", 100) + `"]`},
	{"window", `zset listpack 4102444800000 ["unit:1" "1700000000001" "unit:2" "1700000000002"]`},
	{"large window", `zset skiplist 4102444800000 ["` + strings.Repeat("u", 100) + `" "1.5"]`},
}

// encodings are how a version of the format has values that it packs.
type encodings struct {
	version           int
	redis             string
	set, list         []any // types with values
	hash, sortedSet   int
	pack              func(elements ...any) string
	fields, libraries []any // before the keys
}

const versionLibrary = "#!lua name=lib\nredis.register_function('answer', function() return 42 end)"

var versions = []encodings{
	{
		version: 9, redis: "6.2.14", hash: 13, sortedSet: 12, pack: ziplist,
		set:  []any{2, text("set"), 3, text("a"), text("b"), text("c")},
		list: []any{14, text("list"), 2, text(ziplist("a", "b")), text(ziplist("c"))},
		// A script of EVAL, which replicas of 6.2 are given in a copy.
		fields: []any{0xfa, text("lua"), text("return 1")},
	},
	{
		version: 10, redis: "7.0.15", hash: 16, sortedSet: 17, pack: listpackOf,
		set:       []any{2, text("set"), 3, text("a"), text("b"), text("c")},
		list:      []any{18, text("list"), 2, 2, text(listpackOf("a", "b")), 1, text("c")},
		fields:    []any{0xfa, text("aof-base"), 0xc0, 0},
		libraries: []any{0xf5, text(versionLibrary)},
	},
	{
		version: 11, redis: "7.2.7", hash: 16, sortedSet: 17, pack: listpackOf,
		set:       []any{20, text("set"), text(listpackOf("a", "b", "c"))},
		list:      []any{18, text("list"), 2, 2, text(listpackOf("a", "b")), 1, text("c")},
		fields:    []any{0xfa, text("aof-base"), 0xc0, 0},
		libraries: []any{0xf5, text(versionLibrary)},
	},
}

// file returns a file of the version, with more keys behind the others.
func (e *encodings) file(more ...any) []byte {
	deadline := binary.LittleEndian.AppendUint64([]byte{0xfc}, 4_102_444_800_000)
	return closed(
		fmt.Sprintf("REDIS%04d", e.version),
		0xfa, text("redis-ver"), text(e.redis), 0xfa, text("redis-bits"), 0xc0, 64,
		0xfa, text("ctime"), 0xc2, 0x00, 0xf1, 0x53, 0x65, 0xfa, text("used-mem"), 0xc2, 0, 0, 0x10, 0,
		0xfa, text("repl-stream-db"), 0xc0, 0, 0xfa, text("repl-id"), text(strings.Repeat("a", 40)),
		0xfa, text("repl-offset"), 0xc0, 0, bytesOf(e.fields...), bytesOf(e.libraries...),
		0xfe, 0, 0xfb, 9, 2,
		0, text("counter"), 0xc0, 42, 0, text("text"), text("hello"), bytesOf(e.list...),
		11, text("integers"), text(string(bytesOf(2, 0, 0, 0, 2, 0, 0, 0, 3, 0, 5, 0))), bytesOf(e.set...),
		e.hash, text("hash"), text(e.pack("field", "value", "n", 7)),
		4, text("large hash"), 1, text("field"), text(strings.Repeat("v", 100)),
		deadline, e.sortedSet, text("window"),
		text(e.pack("unit:1", "1700000000001", "unit:2", "1700000000002")),
		deadline, 5, text("large window"), 1, text(strings.Repeat("u", 100)), binaryScore(1.5),
		bytesOf(more...),
	)
}

// madeFiles are the files in testdata.
func madeFiles() map[string][]byte {
	files := map[string][]byte{
		"stream.rdb": versions[2].file(stream3, 0, text("after"), text("v")),
		"module.rdb": versions[2].file(module, 0, text("after"), text("v"), stream1, stream3),
		"newer.rdb":  (&encodings{version: 12, redis: "7.4.0", pack: listpackOf}).file(),
	}
	for i := range versions {
		files["redis-"+versions[i].redis[:3]+".rdb"] = versions[i].file()
	}
	return files
}

const madeFolder = "testdata/made"

// TestVersions: the keys of a file of each version, and what the files in testdata are.
func TestVersions(t *testing.T) {
	for name, file := range madeFiles() {
		path := filepath.Join(madeFolder, name)
		if *record {
			require.NoError(t, os.MkdirAll(madeFolder, 0o755))
			require.NoError(t, os.WriteFile(path, file, 0o644))
		}
		recorded, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, file, recorded, name)
	}
	keys, want := make([]string, len(versionKeys)), make([]string, len(versionKeys))
	for i, k := range versionKeys {
		keys[i], want[i] = k.key, k.contents
	}
	for i := range versions {
		e := &versions[i]
		t.Run(e.redis, func(t *testing.T) {
			file := e.file()
			ours := newKeyspace()
			sum, err := ours.read(file, rdb.ReadOptions{})
			require.NoError(t, err)
			require.Equal(t, rdb.Summary{
				Version: e.version, End: int64(len(file)), Keys: len(keys), Expiring: 2, Checksum: true,
			}, sum)
			requireSame(t, keys, want, contents(t, ours, keys))
			if e.version > dump.Version {
				return // no such redis-server is available here
			}
			dir := t.TempDir()
			require.NoError(t, os.WriteFile(filepath.Join(dir, "dump.rdb"), file, 0o600))
			requireSame(t, keys, want, contents(t, startRedis(t, dir), keys))
		})
	}
}
