package scripting

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	lua "github.com/yuin/gopher-lua"

	"github.com/zlimit/zlimit/resp"
)

// redisLibrary returns the table `redis`, which Valkey also names `server`.
func (in *interp) redisLibrary() map[string]lua.LGFunction {
	return map[string]lua.LGFunction{
		"call": in.redisCall, "pcall": in.redisPcall, "log": in.redisLog, "setresp": in.setResp,
		"error_reply": in.errorReplyFunction, "status_reply": in.statusReply, "sha1hex": in.sha1Hex,
		"replicate_commands": in.replicateCommands, "set_repl": in.setRepl,
		"breakpoint": in.breakpoint, "debug": func(*lua.LState) int { return 0 },
		"acl_check_cmd": in.aclCheckCmd,
	}
}

// throwErrorTable raises an error table without position, as the redis
// functions do.
func (in *interp) throwErrorTable(L *lua.LState, text string) {
	in.throw(L, in.errorTable(text, false))
}

func (in *interp) errorReplyFunction(L *lua.LState) int {
	if s, ok := in.onlyString(L); ok {
		if in.engine.keepsErrorText(s) {
			L.Push(in.singleField("err", lua.LString(s)))
		} else {
			L.Push(in.errorTable(s, false))
		}
	}
	return 1
}

// keepsErrorText reports whether error_reply adds no ERR to a text. Redis 6
// sent texts unchanged, and a popular scheduler compares some without a space,
// such as UNKNOWN_CLIENT and OVERWEIGHT:3:2. Redis 7 adds ERR.
func (e *Engine) keepsErrorText(text string) bool {
	if e.options.ErrorReplyPrefix == nil {
		return false
	}
	switch e.options.ErrorReplyPrefix() {
	case "never":
		return !strings.HasPrefix(text, "-")
	case "auto":
		return beginsWithCode(text)
	}
	return false
}

// beginsWithCode reports whether text starts with an upper-case word (a letter
// from A to Z, then letters, digits and underscores) that ends at the end of
// the text or at an ASCII punctuation mark, and has neither spaces nor control
// characters.
func beginsWithCode(text string) bool {
	word := 0
	for word < len(text) && isCodeByte(text[word], word) {
		word++
	}
	if word == 0 || word < len(text) && (isAlnum(text[word]) || text[word] >= 0x80) {
		return false
	}
	for _, ch := range []byte(text[word:]) {
		if ch <= ' ' || ch == 0x7f {
			return false
		}
	}
	return true
}

// isCodeByte reports whether ch may be byte i of an upper-case word.
func isCodeByte(ch byte, i int) bool {
	return 'A' <= ch && ch <= 'Z' || i > 0 && (ch == '_' || '0' <= ch && ch <= '9')
}

func (in *interp) statusReply(L *lua.LState) int {
	if s, ok := in.onlyString(L); ok {
		L.Push(in.singleField("ok", lua.LString(s)))
	}
	return 1
}

// onlyString returns the single string argument, or pushes an error table.
func (in *interp) onlyString(L *lua.LState) (string, bool) {
	s, ok := L.Get(1).(lua.LString)
	if !ok || L.GetTop() != 1 {
		L.Push(in.errorTable(errOneString, false))
		return "", false
	}
	return string(s), true
}

func (in *interp) sha1Hex(L *lua.LState) int {
	if L.GetTop() != 1 {
		in.throwErrorTable(L, errSHA1Arguments)
	}
	s, _ := asString(L.Get(1))
	in.grow(L, len(s))
	sum := sha1.Sum([]byte(s))
	L.Push(lua.LString(hex.EncodeToString(sum[:])))
	return 1
}

func (in *interp) redisLog(L *lua.LState) int {
	n := L.GetTop()
	if n < 2 {
		in.throwErrorTable(L, errLogArguments)
	}
	level, ok := L.Get(1).(lua.LNumber)
	if !ok {
		in.throwErrorTable(L, errLogLevelType)
	}
	if level < 0 || level >= 4 {
		in.throwErrorTable(L, errLogLevel)
	}
	var words []string
	for i := 2; i <= n; i++ {
		if s, ok := asString(L.Get(i)); ok {
			in.grow(L, len(s))
			words = append(words, s)
		}
	}
	if in.engine.options.Log != nil {
		in.engine.options.Log(int(level), strings.Join(words, " "))
	}
	return 0
}

func (in *interp) setResp(L *lua.LState) int {
	if L.GetTop() != 1 {
		in.throwErrorTable(L, "ERR redis.setresp() requires one argument.")
	}
	f, _ := asNumber(L.Get(1))
	if n := toInteger(f); n == resp.RESP2 || n == resp.RESP3 {
		in.child.Proto = int(n)
		return 0
	}
	in.throwErrorTable(L, "ERR RESP version must be 2 or 3.")
	return 0
}

func (in *interp) replicateCommands(L *lua.LState) int {
	L.Push(lua.LTrue)
	return 1
}

// setRepl validates its argument as Redis does. It has no effect: there are no
// replicas.
func (in *interp) setRepl(L *lua.LState) int {
	if L.GetTop() != 1 {
		in.throwErrorTable(L, "ERR redis.set_repl() requires two arguments.")
	}
	f, _ := asNumber(L.Get(1))
	if n := toInteger(f); n < 0 || n > 3 {
		in.throwErrorTable(L,
			"ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

func (in *interp) breakpoint(L *lua.LState) int {
	L.Push(lua.LFalse)
	return 1
}

// aclCheckCmd returns whether the client's user may make a call.
func (in *interp) aclCheckCmd(L *lua.LState) int {
	n := L.GetTop()
	if n == 0 {
		in.throwErrorTable(L, errNoArguments)
	}
	args := make([][]byte, n)
	for i := range args {
		text, ok := asString(L.Get(i + 1))
		if !ok {
			in.throwErrorTable(L, errArgumentType)
		}
		args[i] = []byte(text)
	}
	cmd := in.engine.lookupCommand(args)
	if cmd == nil {
		in.throwErrorTable(L, "ERR Invalid command passed to redis.acl_check_cmd()")
	}
	guard := in.child.Guard
	L.Push(lua.LBool(guard == nil || guard.Permits(cmd, args)))
	return 1
}
