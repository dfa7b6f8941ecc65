package scripting

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/redislib"
)

// userFunction is the chunk name of every library.
const userFunction = "@user_function"

// A library is a loaded source of FUNCTION LOAD. Its functions share the interpreter state that ran the
// source, and with it the source's locals (docs/adr/0013).
type library struct {
	name      string
	source    string
	proto     *lua.Proto
	functions []*libraryFunction // in order of registration; fixed once loaded

	mu       sync.Mutex // protects the fields below and the callbacks; one call runs at a time
	in       *interp
	measured int64 // bytes that it held when they were measured

	held atomic.Int64 // bytes that it holds at most: what was measured, and what was allocated since
}

// A libraryFunction holds the arguments of redis.register_function.
type libraryFunction struct {
	script      *script // holds the name, for error texts, and the flags
	description lua.Value
	flagNames   []string
	lib         *library
	callback    lua.Value
}

func (f *libraryFunction) name() string { return f.script.sha }

// newLibrary compiles and runs a source whose name none of others has. It may use what lua-memory-limit
// leaves beside those that are kept, unless of the same name. FUNCTION LOAD answers the error's text.
func (e *Engine) newLibrary(source string, others, kept []*library) (*library, error) {
	name, body, err := parseLibraryHead(source)
	if err != nil {
		return nil, err
	}
	if libraryIndex(others, name) >= 0 {
		return nil, fmt.Errorf(errLibraryExists, name)
	}
	lib := &library{name: name, source: source}
	if _, lib.proto, err = compile(body, userFunction, e.maxTokens(), bindings().Partial()); err != nil {
		return nil, errors.New(errCompiling + err.Error())
	}
	lib.proto.PrepareSites(e.resolveCall)
	return lib, lib.run(e, e.roomBeside(name, kept))
}

// parseLibraryHead parses a `#!lua name=...` line. The body starts at the end
// of that line, so that line numbers are right.
func parseLibraryHead(source string) (name, body string, err error) {
	end := strings.IndexByte(source, '\n')
	if !strings.HasPrefix(source, "#!") {
		return "", "", errors.New(errNoLibraryMeta)
	}
	if end < 0 {
		return "", "", errors.New(errLibraryShebang)
	}
	words, ok := splitWords(source[:end])
	if !ok || len(words) == 0 {
		return "", "", errors.New(errLibraryShebang)
	}
	named := false
	for _, word := range words[1:] {
		const option = "name="
		if len(word) < len(option) || !strings.EqualFold(word[:len(option)], option) {
			return "", "", errors.New(errLibraryMetaValue + word)
		}
		if named {
			return "", "", errors.New(errLibraryNameTwice)
		}
		name, named = word[len(option):], true
	}
	engine := strings.TrimPrefix(words[0], "#!")
	switch {
	case !named:
		return "", "", errors.New(errNoLibraryName)
	case !isLibraryName(name):
		return "", "", errors.New(errName)
	case !strings.EqualFold(engine, "lua"):
		return "", "", fmt.Errorf(errNoEngine, engine)
	}
	return name, source[end:], nil
}

func isLibraryName(s string) bool {
	for _, ch := range []byte(s) {
		if !isLetterOrDigit(ch) && ch != '_' {
			return false
		}
	}
	return s != ""
}

// run runs the library's source, which may use so many bytes, 0 for any number.
func (lib *library) run(e *Engine, room int64) (err error) {
	in := newInterp(e, true)
	in.owner, lib.in, lib.functions = lib, in, nil
	defer in.allowLoading(lib)()
	var reply resp.Value
	in.start(&commands.Ctx{}, &script{sha: lib.name}, false, runLoad, room)
	defer func() {
		in.finish(&reply)
		if reply.IsError() {
			err = errors.New(reply.Str())
		} else if err == nil {
			lib.measure()
		}
	}()
	L := in.state.Main()
	L.Push(lua.FunctionValue(in.state.NewClosure(lib.proto)))
	if err := L.Run(0); err != nil {
		return errors.New(errRegistering + in.errorText(err.Value))
	}
	if len(lib.functions) == 0 {
		return errors.New(errNoFunctions)
	}
	return nil
}

func (f *libraryFunction) call(c *commands.Ctx, readOnly bool, keys, args [][]byte) resp.Value {
	lib := f.lib
	lib.mu.Lock()
	defer lib.mu.Unlock()
	e := lib.in.engine
	room := e.roomBeside(lib.name, e.library.all())
	reply := lib.in.callFunction(c, f, readOnly || f.script.flags.noWrites, room, keys, args)
	if lib.in.unusable {
		lib.rebuild(e)
	} else {
		lib.count()
	}
	return reply
}

// rebuild gives the library a new state after a call has made the old one
// unusable. The values of its locals are lost.
func (lib *library) rebuild(e *Engine) {
	e.logf("library %s: begins anew", lib.name)
	fresh := &library{name: lib.name, source: lib.source, proto: lib.proto}
	if err := fresh.run(e, e.maxMemory.Load()); err != nil || len(fresh.functions) != len(lib.functions) {
		return // it loaded before; a damaged state is better than none
	}
	for i, f := range lib.functions {
		f.callback = fresh.functions[i].callback
	}
	lib.in, fresh.in.owner = fresh.in, lib
	lib.measure()
}

func (in *interp) callFunction(
	c *commands.Ctx, f *libraryFunction, readOnly bool, room int64, keys, args [][]byte,
) (reply resp.Value) {
	in.start(c, f.script, readOnly, runFunction, room)
	defer in.finish(&reply)
	L := in.state.Main()
	L.Push(f.callback)
	L.Push(stringTable(L, keys))
	L.Push(stringTable(L, args))
	return in.result(c, L.CallFirst(2))
}

// stringTable returns a table of copies: a function may keep it.
func stringTable(L *lua.Thread, values [][]byte) lua.Value {
	t := L.NewTable(len(values), 0)
	for i, v := range values {
		t.SetInt(i+1, L.NewString(v))
	}
	return lua.TableValue(t)
}

// allowLoading hides the globals while a library's source is loaded: it may only
// use redis.log, redis.register_function and the constants, and the same under
// server. It returns a function that restores them.
func (in *interp) allowLoading(lib *library) (restore func()) {
	g := in.state.Globals
	saved := make(map[lua.Value]lua.Value)
	for key, value, _ := g.Next(lua.Nil); !key.IsNil(); key, value, _ = g.Next(key) {
		saved[key] = value
		g.Set(key, lua.Nil)
	}
	in.state.Unbind()
	in.loading = lib
	t := lua.TableValue(in.loadingRedis())
	for _, name := range []string{"redis", "server"} {
		g.SetString(name, t)
	}
	return func() {
		in.loading = nil
		for key, value := range saved {
			g.Set(key, value)
		}
		in.state.Bind(bindings())
	}
}

// loadingRedis returns the table redis for use during loading.
func (in *interp) loadingRedis() *lua.Table {
	t, meta := lua.NewTable(0, 16), lua.NewTable(0, 1)
	in.state.Register(t, []lua.Entry{
		{Name: "log", Fn: redisLog}, {Name: "register_function", Fn: registerFunction},
	})
	for name, n := range redisNumbers {
		if !strings.HasPrefix(name, "REPL_") {
			t.SetString(name, lua.Number(float64(n)))
		}
	}
	t.SetString("REDIS_VERSION", lua.String(redisVersion))
	in.state.Register(meta, []lua.Entry{{Name: "__index", Fn: redislib.MissingGlobal}})
	t.SetMetatable(meta)
	t.SetReadOnly(true)
	meta.SetReadOnly(true)
	return t
}

// Libraries returns the source of every library, in the order of loading.
func (e *Engine) Libraries() []string {
	all, _ := e.library.snapshot()
	out := make([]string, len(all))
	for i, lib := range all {
		out[i] = lib.source
	}
	return out
}
