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
	return algoNames(func(a *algorithm) string { return strings.ToLower(a.name) })
}

// Function returns the name of the Lua function for a call of RL.ALLOW or CL.THROTTLE, and its arguments
// before the cost and the options of callers.
func (l *LimitCall) Function() (name string, args []int64) {
	return strings.ToLower(l.Algorithm), l.algorithm.functionArgs(l)
}

func limitAndWindow(l *LimitCall) []int64 {
	return []int64{l.Quotas[0].Limit, l.Quotas[0].WindowMs}
}
