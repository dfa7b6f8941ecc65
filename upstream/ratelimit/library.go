package ratelimit

import (
	"crypto/sha1" //nolint:gosec // EVALSHA names scripts by SHA-1
	"embed"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/zlimit/zlimit/commands/rl"
)

//go:embed lua
var sources embed.FS

// parts are the files of the library, in their order: a file uses those before it. "" stands for those of
// the algorithms.
var parts = []string{"prelude", "states", "", "terms", "keys", "adopt", "increx", "commands"}

// functions are the functions of the library; see commands.lua.
var functions = func() []string {
	all := []string{
		"reset", "refund", "info", "reserve", "settle", "acquire", "renew", "release", "adopt", "increx",
	}
	for _, name := range append(rl.LuaFunctions(), "mallow") {
		all = append(all, name, name+"_peek")
	}
	return all
}()

var (
	source = joinParts()
	// LibraryName is the name of the library. It is different for different sources, so
	// that gateways of two versions can use one engine.
	LibraryName = "zlimit_" + sha1Of(source)[:12]
	library     = makeLibrary()
	script      = makeScript()
	// ScriptSHA is the name of Script for EVALSHA.
	ScriptSHA = sha1Of(script)
)

// Library returns the source for FUNCTION LOAD. If a library of its name exists, it is
// the same.
func Library() string { return library }

// Script returns the source for SCRIPT LOAD, for engines without FUNCTION.
func Script() string { return script }

// NeedsLoad reports whether an error reply says that the engine does not have the library
// or the script.
func NeedsLoad(reply []byte) bool {
	return strings.HasPrefix(string(reply), "-ERR Function not found") ||
		strings.HasPrefix(string(reply), "-NOSCRIPT ")
}

func joinParts() string {
	var b strings.Builder
	for _, part := range parts {
		if part == "" {
			b.WriteString(rl.LuaSource())
			continue
		}
		text, err := sources.ReadFile("lua/" + part + ".lua")
		if err != nil {
			panic(err)
		}
		b.Write(text)
		b.WriteByte('\n')
	}
	return b.String()
}

func makeLibrary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "#!lua name=%s\n%s", LibraryName, source)
	for _, f := range functions {
		fmt.Fprintf(&b, "redis.register_function({ function_name = '%s', flags = functions.%s[2],\n"+
			"  callback = function(keys, args) return run(functions.%s, keys, args) end })\n",
			functionName(f), f, f)
	}
	return b.String()
}

func makeScript() string {
	return source + "return run(functions[table.remove(ARGV, 1)], KEYS, ARGV)\n"
}

// functionName returns the name that the library registers for a function.
func functionName(function string) string { return LibraryName + "_" + function }

func sha1Of(text string) string {
	sum := sha1.Sum([]byte(text)) //nolint:gosec // see the import
	return hex.EncodeToString(sum[:])
}
