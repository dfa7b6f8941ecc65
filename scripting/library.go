package scripting

import (
	"errors"
	"fmt"
	"strings"
	"sync"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// userFunction is the chunk name of every library.
const userFunction = "@user_function"

// A library is a loaded source of FUNCTION LOAD. Its functions share the
// interpreter state that ran the source, and with it the source's locals
// (docs/adr/0013).
type library struct {
	name      string
	source    string
	proto     *lua.FunctionProto
	functions []*libraryFunction // in order of registration; fixed once loaded

	mu sync.Mutex // protects in and the callbacks; one call runs at a time
	in *interp
}

// A libraryFunction holds the arguments of redis.register_function.
type libraryFunction struct {
	script      *script // holds the name, for error texts
	description lua.LValue
	flags       []string
	noWrites    bool
	allowOOM    bool
	allowStale  bool
	lib         *library
	callback    *lua.LFunction
}

func (f *libraryFunction) name() string { return f.script.sha }

// newLibrary compiles a source without running it. FUNCTION LOAD answers the
// error's text.
func newLibrary(source string, maxTokens int) (*library, error) {
	name, body, err := parseLibraryHead(source)
	if err != nil {
		return nil, err
	}
	lib := &library{name: name, source: source}
	if lib.proto, err = compile(body, userFunction, maxTokens); err != nil {
		return lib, errors.New(errCompiling + err.Error())
	}
	return lib, nil
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
		if !isAlnum(ch) && ch != '_' {
			return false
		}
	}
	return s != ""
}

func (lib *library) run(e *Engine) (err error) {
	in := newInterp(e)
	lib.in, lib.functions = in, nil
	defer in.allowLoading(lib)()
	var reply resp.Value
	in.start(&commands.Ctx{}, &script{sha: lib.name}, false, runLoad)
	defer func() {
		in.finish(&reply)
		if reply.IsError() {
			err = errors.New(reply.Str())
		}
	}()
	in.L.Push(in.trampoline)
	in.L.Push(in.L.NewFunctionFromProto(lib.proto))
	if err := in.L.PCall(1, 0, nil); err != nil {
		return errors.New(errRegistering + in.errorText(err))
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
	reply := lib.in.callFunction(c, f, readOnly || f.noWrites, keys, args)
	if e := lib.in.engine; lib.in.unusable {
		lib.rebuild(e)
	}
	return reply
}

// rebuild gives the library a new state after a call has made the old one
// unusable. The values of its locals are lost.
func (lib *library) rebuild(e *Engine) {
	e.logf("library %s: begins anew", lib.name)
	fresh := &library{name: lib.name, source: lib.source, proto: lib.proto}
	if err := fresh.run(e); err != nil || len(fresh.functions) != len(lib.functions) {
		return // it loaded before; a damaged state is better than none
	}
	for i, f := range lib.functions {
		f.callback = fresh.functions[i].callback
	}
	lib.in = fresh.in
}

func (in *interp) callFunction(
	c *commands.Ctx, f *libraryFunction, readOnly bool, keys, args [][]byte,
) (reply resp.Value) {
	in.start(c, f.script, readOnly, runFunction)
	defer in.finish(&reply)
	in.L.Push(in.trampoline)
	in.L.Push(f.callback)
	in.L.Push(in.stringTable(keys))
	in.L.Push(in.stringTable(args))
	if err := in.L.PCall(3, 1, nil); err != nil {
		return in.errorReply(err)
	}
	return in.result(c)
}

// allowLoading hides the globals that a library's source must not use while it
// is loaded: all but redis.log, redis.register_function and the constants, and
// the same under server. It returns a function that restores them.
func (in *interp) allowLoading(lib *library) (restore func()) {
	hidden := make(map[string]lua.LValue)
	for key, value := in.env.Next(lua.LNil); key != lua.LNil; key, value = in.env.Next(key) {
		name, ok := key.(lua.LString)
		if ok && name[0] != '(' && name != "redis.log" && name != "server.log" {
			hidden[string(name)] = value
		}
	}
	for name := range hidden {
		in.env.RawSetString(name, lua.LNil)
	}
	in.loading = lib
	t := in.loadingRedis()
	in.env.RawSetString("redis", t)
	in.env.RawSetString("server", t)
	return func() {
		in.loading = nil
		for name, value := range hidden {
			in.env.RawSetString(name, value)
		}
	}
}

// loadingRedis returns the table redis for use during loading.
func (in *interp) loadingRedis() *lua.LTable {
	content := in.L.CreateTable(0, 16)
	content.RawSetString("log", in.env.RawGetString("redis.log"))
	content.RawSetString("register_function", in.L.NewFunction(in.registerFunction))
	in.constants("redis", content)
	for name := range redisNumbers {
		if strings.HasPrefix(name, "REPL_") {
			content.RawSetString(name, lua.LNil)
		}
	}
	index := in.L.NewFunction(func(L *lua.LState) int {
		v := content.RawGet(L.Get(2))
		if v == lua.LNil {
			in.nonexistent(L, L.Get(2))
		}
		L.Push(v)
		return 1
	})
	refuse := in.L.NewFunction(func(L *lua.LState) int {
		in.fail(L, errReadOnlyTable)
		return 0
	})
	return in.seal(content, index, refuse)
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
