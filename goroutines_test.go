package zlimit_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// What a panic ends in what runs beside its caller.
const (
	endsClient  = "the client"      // whose command it is
	endsProcess = "the process"     // it may hold what the others need: they start again from the files
	endsProgram = "another program" // not the server's
)

// besides lists the files of the server that start something beside their caller.
var besides = map[string]string{
	"engine/blocking.go":           endsClient, // what a command waits for: Blocked.endOnPanic
	"server/conn_blocking.go":      endsClient, // its timeout: Blocked.endOnPanic
	"server/output.go":             endsProcess,
	"server/server.go":             endsProcess, // a handshake in it: conn.survives
	"server/conn_end.go":           endsProcess,
	"server/fed.go":                endsProcess,
	"server/loop.go":               endsProcess, // a command in it: conn.step
	"server/loops.go":              endsProcess,
	"server/output_stream.go":      endsProcess, // making a reply in it: output.writeStream
	"server/dial.go":               endsProcess,
	"server/door_rls.go":           endsProcess, // a request in it: rls.Server.Serve
	"doors/rls/server.go":          endsProcess,
	"doors/rls/grpc.go":            endsProcess, // a decision in it: waiting.go
	"server/pipe/conn.go":          endsProcess,
	"engine/failover.go":           endsProcess,
	"engine/shutdown.go":           endsProcess,
	"engine/durable/jobs.go":       endsProcess,
	"engine/durable/log.go":        endsProcess,
	"engine/durable/rewrite.go":    endsProcess,
	"engine/durable/storage.go":    endsProcess,
	"engine/memory/commands.go":    endsProcess, // a collection of Go's
	"engine/replication/link.go":   endsProcess,
	"engine/replication/master.go": endsProcess,
	"persist/aof/open.go":          endsProcess,
	"scripting/meter.go":           endsProcess,
	"upstream/lane.go":             endsProcess, // reading a reply in it: node.exchange
	"upstream/own.go":              endsProcess,
	"upstream/pubsub.go":           endsProcess,
	"upstream/topology.go":         endsProcess,
	"upstream/upstream.go":         endsProcess,
	"upstream/export/source.go":    endsProgram,
	"metrics/server.go":            endsProcess,
	"zlimit.go":                    endsProcess,
	"cmd/zlimit-server/main.go":    endsProcess,
	"cmd/zlimit-server/parent.go":  endsProcess,
	"cmd/zlimit-server/profile.go": endsProcess,
	"cmd/zlimit-server/export.go":  endsProgram,
}

// TestPanicsBeside requires that each file which starts a goroutine or a timer says what a panic ends there:
// SECURITY.md promises that input ends one connection at most.
func TestPanicsBeside(t *testing.T) {
	race.OneGoroutine(t)
	found := map[string]bool{}
	for _, dir := range []string{
		".", "cmd", "server", "engine", "commands", "store", "scripting", "persist", "resp", "upstream",
		"metrics", "doors",
	} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && (dir == "." && path != "." || d.Name() == "luatest"):
				return fs.SkipDir
			case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
				return nil
			}
			f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if startsBeside(n) {
					found[filepath.ToSlash(path)] = true
				}
				return true
			})
			return nil
		}))
	}
	require.Equal(t, slices.Sorted(maps.Keys(besides)), slices.Sorted(maps.Keys(found)))
}

// startsBeside reports whether a node is a go statement, or a call of WaitGroup.Go, Upstream.background or
// time.AfterFunc.
func startsBeside(n ast.Node) bool {
	if _, ok := n.(*ast.GoStmt); ok {
		return true
	}
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return false
	}
	name, ok := call.Fun.(*ast.SelectorExpr)
	return ok && slices.Contains([]string{"Go", "background", "AfterFunc"}, name.Sel.Name)
}
