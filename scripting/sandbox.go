package scripting

import (
	"maps"
	"slices"
	"sync"

	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/redislib"
)

const (
	redisVersion    = "7.0.15"
	redisVersionNum = 7<<16 | 0<<8 | 15
)

var redisNumbers = map[string]int{
	"LOG_DEBUG": 0, "LOG_VERBOSE": 1, "LOG_NOTICE": 2, "LOG_WARNING": 3,
	"REPL_NONE": 0, "REPL_AOF": 1, "REPL_SLAVE": 2, "REPL_REPLICA": 2, "REPL_ALL": 3,
	"REDIS_VERSION_NUM": redisVersionNum,
}

// openLibraries creates everything that a script can reach. All of it is
// read-only but KEYS and ARGV, which each run sets anew.
func (in *interp) openLibraries() {
	s := in.state
	s.OpenLibraries()
	in.libraries = redislib.Open(s)
	g := s.Globals
	redis := lua.NewTable(0, 32)
	s.Register(redis, redisLibrary)
	for name, fn := range siteFunctions {
		v := redis.GetString(name)
		v.Function().SetSiteFunction(fn)
	}
	for _, name := range slices.Sorted(maps.Keys(redisNumbers)) {
		redis.SetString(name, lua.Number(float64(redisNumbers[name])))
	}
	redis.SetString("REDIS_VERSION", lua.String(redisVersion))
	g.SetString("redis", lua.TableValue(redis))
	g.SetString("server", lua.TableValue(redis)) // Valkey's name
	redislib.Protect(s)
	in.keys, in.argv = lua.NewTable(0, 0), lua.NewTable(0, 0)
	if !in.persistent {
		g.SetString("KEYS", lua.TableValue(in.keys))
		g.SetString("ARGV", lua.TableValue(in.argv))
	}
}

// bindings are those of every state's globals.
var bindings = sync.OnceValue(func() *lua.Bindings {
	return lua.NewBindings(newUnboundInterp(&Engine{}, false).state)
})
