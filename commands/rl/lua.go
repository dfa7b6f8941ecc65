package rl

import (
	"embed"
	"strings"
)

//go:embed *.lua
var twins embed.FS

// LuaSource returns the Lua sources of the algorithms, in their order; see package upstream/ratelimit.
func LuaSource() string {
	var b strings.Builder
	for _, a := range algorithms {
		text, err := twins.ReadFile(strings.ToLower(a.name) + ".lua")
		if err != nil {
			panic(err)
		}
		b.Write(text)
	}
	return b.String()
}

// LuaFunctions returns the names of the functions of RL.ALLOW.
func LuaFunctions() []string {
	return algoNames((*algorithm).inALGO, func(a *algorithm) string { return strings.ToLower(a.name) })
}
