package zlimit_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const (
	module = "github.com/zlimit/zlimit/"
	root   = "." // the package at the module's root
)

// relative returns the path of an imported package relative to the module, if it is in the module.
func relative(imp string) (pkg string, ours bool) {
	if imp+"/" == module {
		return root, true
	}
	return strings.CutPrefix(imp, module)
}

// mayImport lists the packages of the module that each package may import, outside of tests. Every package
// must be listed. Imports go down the table only.
var mayImport = map[string][]string{
	"limiter/httplimit/inprocess": {root, "limiter/httplimit"},

	"cmd/zlimit-server": {
		"server", "metrics", "engine", "engine/durable", "upstream", "upstream/directives",
		"upstream/export", "commands", "logging", "config",
	},
	"metrics":              {"listener", "page", "engine", "engine/info"},
	"listener":             {},
	"page":                 {"engine", "engine/info", "resp"},
	"bench":                {root, "testca"},
	"zlimittest":           {"server", "server/pipe", "engine/faults", root, "clock", "config"},
	"zlimittest/miniredis": {"zlimittest", root},
	"limiter/httplimit":    {},
	"server": {
		"server/poll", "server/tlsconfig", root, "engine", "engine/faults", "upstream", "upstream/call",
		"upstream/directives", "clock", "config", "logging", "persist/disk", "resp", "store/decimal", "words",
		"doors", "doors/rls", "doors/web",
	},
	"server/tlsconfig": {},
	"server/pipe":      {},
	"server/poll":      {},
	root:               {"engine", "engine/durable", "clock", "config", "resp"},
	"engine": {
		"engine/accounts", "engine/cluster", "engine/debug", "engine/doctor", "engine/durable",
		"engine/faults", "engine/info", "engine/latency", "engine/memory", "engine/pause",
		"engine/process", "engine/pubsub", "engine/replication", "engine/room", "engine/slowlog",
		"engine/policies", "commands/introspection",
		"engine/stats", "engine/traces", "engine/tracking", "acl", "scripting", "commands", "commands/rl",
		"persist/disk", "store", "store/effects", "upstream/call", "resp", "clock", "config", "logging",
		"words", "policy",
	},
	"doors":           {"engine", "acl", "policy", "resp"},
	"doors/rls":       {"doors", "policy"},
	"doors/web":       {"doors", "listener", "policy"},
	"engine/policies": {"commands", "commands/rl", "policy", "config", "resp"},
	"upstream": {
		"engine/cluster", "store", "upstream/call", "upstream/ratelimit", "commands", "limiter", "resp",
	},
	"upstream/call":       {"commands", "commands/rl", "resp"},
	"upstream/export":     {"upstream", "persist/rdb"},
	"upstream/directives": {"config", "upstream"},
	"engine/stats": {
		"engine/stats/topk", "commands", "commands/rl", "limiter", "store", "resp", "clock", "words",
	},
	"engine/stats/topk": {},
	"engine/accounts":   {"engine/logins", "acl", "commands", "store", "resp", "config", "persist/disk"},
	"engine/cluster":    {"commands", "store", "resp", "config", "persist/disk"},
	"engine/debug":      {"engine/faults", "commands", "store", "resp"},
	"engine/faults":     {"commands", "store", "resp"},
	"engine/doctor":     {"commands", "store", "resp"},
	"engine/info": {
		"engine/doctor", "engine/durable", "engine/memory", "engine/policies", "engine/process",
		"engine/pubsub",
		"engine/replication", "engine/room", "engine/slowlog", "engine/stats", "engine/tracking", "acl",
		"scripting",
		"commands", "commands/rl", "calendar", "store", "upstream/call", "resp", "clock", "config", "words",
	},
	"engine/latency":     {"engine/stats", "commands", "resp"},
	"engine/logins":      {},
	"engine/memory":      {"engine/process", "scripting", "commands", "store", "resp"},
	"engine/pause":       {"commands", "store", "resp", "clock"},
	"engine/process":     {},
	"engine/pubsub":      {"commands", "store/alloc", "store/dict", "store/effects", "resp"},
	"engine/replication": {"store/effects"},
	"engine/room":        {"engine/latency", "store", "store/effects", "clock", "config"},
	"engine/slowlog":     {"commands", "store", "resp"},
	"engine/traces":      {"engine/stats/topk", "commands", "commands/rl", "store", "resp"},
	"engine/tracking":    {"engine/pubsub", "commands", "store", "store/alloc", "store/effects", "resp"},
	"engine/durable": {
		"engine/latency", "commands", "persist/aof", "persist/disk", "persist/rdb", "store", "store/effects",
		"resp", "clock", "config",
	},
	"upstream/ratelimit": {"commands", "commands/rl", "limiter", "resp"},
	"acl":                {"commands", "words"},
	"scripting": {
		"scripting/lua", "scripting/lua/ast", "scripting/lua/syntax", "scripting/proof", "scripting/redislib",
		"commands", "commands/rl", "persist/dump", "store", "resp",
	},
	"scripting/proof":      {"scripting/lua/ast", "commands"},
	"scripting/lua":        {"scripting/lua/ast", "scripting/lua/syntax"},
	"scripting/lua/ast":    {},
	"scripting/lua/syntax": {"scripting/lua/ast"},
	"scripting/redislib":   {"scripting/lua", "scripting/lua/syntax", "resp"},
	"commands/rl": {
		"commands", "store", "store/decimal", "store/effects", "store/hash", "store/list", "store/set",
		"store/zset", "limiter", "calendar", "resp",
	},
	"commands/introspection": {"commands", "resp"},
	"policy":                 {},
	"commands": {
		"policy", "persist/rdb", "store", "store/bitmap", "store/effects", "store/hash",
		"store/list", "store/set", "store/zset", "resp",
	},
	"persist/rdb": {
		"persist/dump", "store", "store/decimal", "store/hash", "store/list",
		"store/set", "store/zset",
	},
	"persist/dump": {"store/decimal"},
	"store": {
		"store/alloc", "store/decimal", "store/dict", "store/effects", "store/expire",
		"store/hash", "store/list", "store/set", "store/zset",
	},
	"store/set":     {"store/alloc", "store/decimal", "store/dict"},
	"store/hash":    {"store/alloc", "store/dict"},
	"store/list":    {"store/alloc"},
	"store/zset":    {"store/alloc", "store/dict"},
	"store/decimal": {},
	"store/dict":    {"store/alloc"},
	"store/alloc":   {},
	"store/expire":  {"store/alloc"},
	"store/bitmap":  {},
	"store/effects": {"store/decimal"},
	"persist/aof":   {"persist/disk", "words"},
	"persist/disk":  {},
	"calendar":      {},
	"limiter":       {"calendar"},
	"resp":          {},
	"clock":         {},
	"logging":       {},
	"config":        {"words"},
	"words":         {},

	"grammar":                {},
	"oracle":                 {},
	"race":                   {},
	"scenario":               {"words"},
	"testca":                 {},
	"scripting/lua/luatest":  {"scripting/lua"},
	"persist/disk/crashdisk": {"persist/disk"},
}

// testOnly lists the packages of tests, with the programs that may import them.
var testOnly = map[string][]string{
	"grammar":                {},
	"oracle":                 {},
	"race":                   {},
	"scenario":               {},
	"testca":                 {"bench"},
	"scripting/lua/luatest":  {},
	"persist/disk/crashdisk": {},
}

// restricted lists the packages that may import a package from elsewhere.
var restricted = map[string][]string{
	"github.com/tidwall/redcon":         {"server"},
	"github.com/google/btree":           {"store/zset"},
	"github.com/hdt3213/rdb":            {"persist/rdb"},
	"github.com/stretchr/testify":       {},
	"github.com/anishathalye/porcupine": {},
	"github.com/prometheus":             {"metrics"},
	"github.com/redis/go-redis":         {"bench", "upstream", "upstream/export"},
	"github.com/sony/gobreaker":         {"upstream"},
	"net": {
		"server", "metrics", "page", "server/pipe", "limiter/httplimit",
		"zlimittest", "zlimittest/miniredis", "bench", "oracle",
		"testca", "cmd/zlimit-server", "upstream", "upstream/export",
		"doors/rls", "doors/web", "listener",
	},
}

// forbidden lists what a package must not import.
var forbidden = map[string][]string{
	"commands":          {"net", "sync", "time"},
	"limiter":           {"sync", "time", "math/big"},
	"persist/dump":      {"net", "os", "sync", "time"},
	"persist/rdb":       {"net", "os", "sync", "time"},
	"store":             {"net", "time"},
	"store/hash":        {"sync", "time"},
	"store/list":        {"sync", "time"},
	"store/zset":        {"sync", "time"},
	"store/expire":      {"sync", "time"},
	"store/set":         {"sync", "time"},
	"store/bitmap":      {"sync", "time"},
	"store/effects":     {"sync", "time"},
	"resp":              {"time"}, // sync for the blocks that are used again
	"clock":             {"time"},
	"scripting":         {"time", "os"},
	"scripting/lua":     {"net", "os", "sync", "time"},
	"scripting/proof":   {"net", "os", "sync", "time"},
	"engine":            {"time"},
	"engine/durable":    {"time"},
	"engine/accounts":   {"time"},
	"engine/cluster":    {"net", "time"},
	"engine/debug":      {"net", "time"},
	"engine/faults":     {"net", "time"},
	"engine/doctor":     {"net", "time"},
	"engine/info":       {"net", "time"},
	"engine/latency":    {"net", "time"},
	"engine/logins":     {"net", "time"},
	"engine/memory":     {"net", "time"},
	"engine/pause":      {"net", "time"},
	"engine/policies":   {"net", "time"},
	"policy":            {"net", "os", "time"},
	"engine/pubsub":     {"time"},
	"engine/stats":      {"time"},
	"engine/stats/topk": {"sync", "time"},
	"engine/process":    {"time"},
	"engine/room":       {"net", "time"},
	"engine/slowlog":    {"net", "time"},
	"engine/traces":     {"net", "time"},
	"engine/tracking":   {"net", "time"},
}

// faults checks the imports of one file.
func faults(pkg string, imports []string) []string {
	allowed, known := mayImport[pkg]
	if !known {
		return []string{pkg + " is not in the table"}
	}
	var out []string
	for _, imp := range imports {
		if below, ours := relative(imp); ours && !slices.Contains(allowed, below) {
			out = append(out, fmt.Sprintf("%s imports %s, which is not below it", pkg, below))
		} else if importers, ok := testOnly[below]; ours && ok && !slices.Contains(importers, pkg) {
			out = append(out, fmt.Sprintf("%s imports %s, which is for tests", pkg, below))
		}
		for prefix, importers := range restricted {
			if (imp == prefix || strings.HasPrefix(imp, prefix+"/")) && !slices.Contains(importers, pkg) {
				out = append(out, fmt.Sprintf("%s imports %s, which is for %v only", pkg, imp, importers))
			}
		}
		if slices.Contains(forbidden[pkg], imp) {
			out = append(out, fmt.Sprintf("%s imports %s, which it must not import", pkg, imp))
		}
	}
	return out
}

// TestImportMap compares the imports with the table, which ARCHITECTURE.md draws.
func TestImportMap(t *testing.T) {
	seen := make(map[string]bool)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			// Directories with their own go.mod are other modules.
			if file != "." &&
				(strings.HasPrefix(d.Name(), ".") ||
					slices.Contains([]string{"compat", "lab", "dist", "tools", "testdata"}, d.Name())) {
				return filepath.SkipDir
			}
			return nil
		}
		pkg := path.Dir(filepath.ToSlash(file))
		if !strings.HasSuffix(file, ".go") || strings.HasSuffix(file, "_test.go") {
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		seen[pkg] = true
		var imports []string
		for _, spec := range parsed.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			imports = append(imports, name)
		}
		for _, fault := range faults(pkg, imports) {
			t.Errorf("%s: %s", file, fault)
		}
		return nil
	})
	require.NoError(t, err)
	for pkg := range mayImport {
		require.True(t, seen[pkg], "the table lists a package that does not exist: %s", pkg)
	}
}

// faults must detect forbidden imports.
func TestImportMapDetectsFaults(t *testing.T) {
	require.Empty(t, faults("store", []string{"sync", module + "store/dict"}))
	require.NotEmpty(t, faults("engine", []string{strings.TrimSuffix(module, "/")}),
		"engine must not import the root")
	for pkg, imp := range map[string]string{
		"store":    module + "commands",
		"limiter":  module + "resp",
		"commands": "sync",
		"server":   "github.com/stretchr/testify/require",
		"engine":   "github.com/tidwall/redcon",
		"resp":     "net",
		"clock":    "github.com/prometheus/client_golang/prometheus",
		"pkg":      "fmt",
	} {
		require.NotEmpty(t, faults(pkg, []string{imp}), "%s must not import %s", pkg, imp)
	}
}
