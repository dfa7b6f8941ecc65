package scripting

import (
	"crypto/sha1"
	"encoding/hex"
	"strings"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
)

// redisLibrary are the functions of the table `redis`, which Valkey also names
// `server`.
var redisLibrary = []lua.Entry{
	{Name: "call", Fn: redisCall},
	{Name: "pcall", Fn: redisPcall},
	{Name: "log", Fn: redisLog},
	{Name: "setresp", Fn: setResp},
	{Name: "error_reply", Fn: errorReplyFunction},
	{Name: "status_reply", Fn: statusReply},
	{Name: "sha1hex", Fn: sha1Hex},
	{Name: "replicate_commands", Fn: replicateCommands},
	{Name: "set_repl", Fn: setRepl},
	{Name: "breakpoint", Fn: breakpoint},
	{Name: "debug", Fn: func(*lua.Thread) int { return 0 }},
	{Name: "acl_check_cmd", Fn: aclCheckCmd},
}

// siteFunctions do the same at calls that are resolved when a script is loaded.
var siteFunctions = map[string]lua.SiteFunction{"call": redisCallAtSite, "pcall": redisPcallAtSite}

// throwErrorTable raises an error table without position, as the redis
// functions do.
func throwErrorTable(L *lua.Thread, text string) {
	L.Throw(errorTable(L, text, false))
}

func errorReplyFunction(L *lua.Thread) int {
	if s, ok := onlyString(L); ok {
		if hostOf(L).engine.keepsErrorText(s) {
			L.Push(singleField(L, fieldErr, lua.String(s)))
		} else {
			L.Push(errorTable(L, s, false))
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
	if word == 0 || word < len(text) && (isLetterOrDigit(text[word]) || text[word] >= 0x80) {
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

func statusReply(L *lua.Thread) int {
	if s, ok := onlyString(L); ok {
		L.Push(singleField(L, fieldOK, lua.String(s)))
	}
	return 1
}

// onlyString returns the single string argument, or pushes an error table.
func onlyString(L *lua.Thread) (string, bool) {
	v := L.Get(1)
	if !v.IsString() || L.Top() != 1 {
		L.Push(errorTable(L, errOneString, false))
		return "", false
	}
	return v.Str(), true
}

func sha1Hex(L *lua.Thread) int {
	if L.Top() != 1 {
		throwErrorTable(L, errSHA1Arguments)
	}
	s, _ := L.AsString(L.Get(1))
	L.Grow(len(s))
	sum := sha1.Sum([]byte(s))
	L.Push(L.CopyString(hex.EncodeToString(sum[:])))
	return 1
}

func redisLog(L *lua.Thread) int {
	n := L.Top()
	if n < 2 {
		throwErrorTable(L, errLogArguments)
	}
	v := L.Get(1)
	if !v.IsNumber() {
		throwErrorTable(L, errLogLevelType)
	}
	level := v.Num()
	if level < 0 || level >= 4 {
		throwErrorTable(L, errLogLevel)
	}
	var words []string
	for i := 2; i <= n; i++ {
		if s, ok := L.AsString(L.Get(i)); ok {
			L.Grow(len(s))
			words = append(words, s)
		}
	}
	if log := hostOf(L).engine.options.Log; log != nil {
		log(int(level), strings.Join(words, " "))
	}
	return 0
}

func setResp(L *lua.Thread) int {
	if L.Top() != 1 {
		throwErrorTable(L, "ERR redis.setresp() requires one argument.")
	}
	v := L.Get(1)
	f, _ := v.AsNumber()
	if n := lua.ToInteger(f); n == resp.RESP2 || n == resp.RESP3 {
		hostOf(L).child.Proto = int(n)
		return 0
	}
	throwErrorTable(L, "ERR RESP version must be 2 or 3.")
	return 0
}

func replicateCommands(L *lua.Thread) int {
	L.Push(lua.True)
	return 1
}

// setRepl validates its argument as Redis does. It has no effect: there are no
// replicas.
func setRepl(L *lua.Thread) int {
	if L.Top() != 1 {
		throwErrorTable(L, "ERR redis.set_repl() requires two arguments.")
	}
	v := L.Get(1)
	f, _ := v.AsNumber()
	if n := lua.ToInteger(f); n < 0 || n > 3 {
		throwErrorTable(L,
			"ERR Invalid replication flags. Use REPL_AOF, REPL_REPLICA, REPL_ALL or REPL_NONE.")
	}
	return 0
}

func breakpoint(L *lua.Thread) int {
	L.Push(lua.False)
	return 1
}

// aclCheckCmd returns whether the client's user may make a call.
func aclCheckCmd(L *lua.Thread) int {
	n := L.Top()
	if n == 0 {
		throwErrorTable(L, errNoArguments)
	}
	args := make([][]byte, n)
	for i := range args {
		text, ok := L.AsString(L.Get(i + 1))
		if !ok {
			throwErrorTable(L, errArgumentType)
		}
		args[i] = []byte(text)
	}
	in := hostOf(L)
	cmd := in.engine.lookupCommand(args)
	if cmd == nil {
		throwErrorTable(L, "ERR Invalid command passed to redis.acl_check_cmd()")
	}
	guard := in.child.Guard()
	L.PushBool(guard == nil || guard.Permits(cmd, args))
	return 1
}

func isLetterOrDigit(ch byte) bool {
	return '0' <= ch && ch <= '9' || 'a' <= ch|0x20 && ch|0x20 <= 'z'
}
