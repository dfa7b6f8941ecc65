package scripting

import (
	"maps"
	"slices"

	"github.com/zlimit/zlimit/resp"
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
	s.Register(g, []lua.Entry{{Name: "pcall", Fn: pcall}})
	redis := lua.NewTable(0, 32)
	s.Register(redis, redisLibrary)
	for _, name := range slices.Sorted(maps.Keys(redisNumbers)) {
		redis.SetString(name, lua.Number(float64(redisNumbers[name])))
	}
	redis.SetString("REDIS_VERSION", lua.String(redisVersion))
	g.SetString("redis", lua.TableValue(redis))
	g.SetString("server", lua.TableValue(redis)) // Valkey's name
	in.keys, in.argv = lua.NewTable(0, 0), lua.NewTable(0, 0)
	if !in.ownStrings {
		g.SetString("KEYS", lua.TableValue(in.keys))
		g.SetString("ARGV", lua.TableValue(in.argv))
	}
	meta := lua.NewTable(0, 1)
	s.Register(meta, []lua.Entry{{Name: "__index", Fn: missingGlobal}})
	g.SetMetatable(meta)
	in.protect(g, meta, s.StringMetatable())
}

// protect makes tables read-only, and those in their fields.
func (in *interp) protect(tables ...*lua.Table) {
	for _, t := range tables {
		if t.ReadOnly() || t == in.keys || t == in.argv {
			continue
		}
		t.SetReadOnly(true)
		for key, value, _ := t.Next(lua.Nil); !key.IsNil(); key, value, _ = t.Next(key) {
			if value.IsTable() {
				in.protect(value.Table())
			}
		}
	}
}

// missingGlobal is the metamethod for a global, or a field of a table of Redis,
// that does not exist.
func missingGlobal(L *lua.Thread) int {
	key := L.Get(2)
	name, ok := L.AsString(key)
	if !ok {
		L.Error("Second argument to luaProtectedTableError must be a string or number")
	}
	L.Grow(len(name))
	L.Error("Script attempted to access nonexistent global variable '" + resp.CString(name) + "'")
	return 0
}

// pcall returns the text of an error table instead of the table, as in Redis.
func pcall(L *lua.Thread) int {
	if L.Top() == 0 {
		L.Push(lua.False)
		L.PushString("attempt to call a nil value")
		return 2
	}
	err := L.PCall(L.Top()-1, lua.Nil)
	if err == nil {
		L.Push(lua.True)
		L.Insert(1)
		return L.Top()
	}
	L.SetTop(0)
	L.Push(lua.False)
	if !err.Value.IsTable() {
		L.Push(err.Value)
		return 2
	}
	text := L.Index(err.Value, fieldErr)
	if text.IsString() || text.IsNumber() {
		L.Push(text)
		return 2
	}
	L.Push(err.Value)
	L.Push(text)
	return 3
}
