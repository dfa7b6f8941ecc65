package main

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// A script is a text that was sent in this round.
type script struct{ text string }

func (s script) sha() string {
	sum := sha1.Sum([]byte(s.text))
	return hex.EncodeToString(sum[:])
}

var luaMakers = []maker{
	{40, func(g *generator) { g.add(g.wrapInScript(g.dataCommand())) }},
	{14, (*generator).limiterScript},
	{22, (*generator).conversionScript},
	{26, (*generator).programScript},
	{3, (*generator).brokenScript},
	{4, (*generator).scriptCommand},
}

// numberLiteral matches numbers that mean the same to Redis when written into a script: its arguments are
// formatted with %.17g.
var numberLiteral = regexp.MustCompile(`^-?[0-9]{1,15}(\.[0-9]{1,6})?(e[0-9]{1,2})?$`)

// keyless lists the commands whose first argument is not a key.
var keyless = map[string]bool{
	"SCAN": true, "KEYS": true, "RANDOMKEY": true, "SWAPDB": true, "FLUSHDB": true, "FLUSHALL": true,
	"OBJECT": true, "SELECT": true,
	"PING": true, "ECHO": true,
}

// wrapInScript returns the step that runs one command inside a script and returns its reply. The forms have
// everything in ARGV, or the key declared, or the command's name as a constant, which a server may compile.
func (g *generator) wrapInScript(inner []string) step {
	call := pick(g.r, "redis.call", "redis.call", "redis.pcall")
	var text string
	var keys, argv []string
	hasKey := len(inner) > 1 && !keyless[strings.ToUpper(inner[0])]
	switch n := g.r.IntN(100); {
	case n < 25 || inner[0] == "":
		text = "return " + call + "(unpack(ARGV))"
		argv = inner
	case n < 40 && hasKey:
		text = "return " + call + "(ARGV[1], KEYS[1], unpack(ARGV, 2))"
		keys = inner[1:2]
		argv = append([]string{inner[0]}, inner[2:]...)
	default:
		var b strings.Builder
		name := luaString(g.spell(inner[0]))
		parts := []string{name}
		for i, a := range inner[1:] {
			switch {
			case i == 0 && hasKey:
				keys = append(keys, a)
				parts = append(parts, "KEYS[1]")
			case numberLiteral.MatchString(a) && g.chance(25):
				parts = append(parts, a)
			case g.chance(10):
				parts = append(parts, luaString(a))
			default:
				argv = append(argv, a)
				parts = append(parts, fmt.Sprintf("ARGV[%d]", len(argv)))
			}
		}
		if len(keys) == 1 && g.chance(40) {
			b.WriteString("local key = KEYS[1]\n")
			parts[1] = "key"
		}
		if g.chance(50) {
			fmt.Fprintf(&b, "return %s(%s)", call, strings.Join(parts, ", "))
		} else {
			fmt.Fprintf(&b, "local reply = %s(%s)\nreturn reply", call, strings.Join(parts, ", "))
		}
		text = b.String()
	}
	s := step{args: g.eval(text, keys, argv), inner: inner}
	return s
}

// eval returns EVAL, EVALSHA or a read-only form with the text.
func (g *generator) eval(text string, keys, argv []string) []string {
	name := pick(g.r, "EVAL", "EVAL", "EVAL", "EVAL", "EVAL", "EVALSHA", "EVALSHA", "EVAL_RO")
	body := text
	if name == "EVALSHA" {
		body = script{text}.sha()
		known := false
		for _, s := range g.scripts {
			known = known || s.text == text
		}
		if !known && g.chance(85) && g.capture == nil {
			g.send("SCRIPT", "LOAD", text)
		}
		if g.chance(10) {
			body = strings.ToUpper(body)
		}
		if g.chance(5) {
			name = "EVALSHA_RO"
		}
	}
	g.remember(text)
	args := append([]string{g.spell(name), body, itoa(len(keys))}, keys...)
	return append(args, argv...)
}

func (g *generator) remember(text string) {
	const most = 20
	if len(g.scripts) < most {
		g.scripts = append(g.scripts, script{text})
		return
	}
	g.scripts[g.r.IntN(most)] = script{text}
}

// luaString formats s as a Lua 5.1 string constant.
func luaString(s string) string {
	var b strings.Builder
	b.WriteByte('\'')
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '\'' || c == '\\' {
			fmt.Fprintf(&b, "\\%03d", c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('\'')
	return b.String()
}

// limiterScripts have the forms of real limiters: a window in a sorted set, a counter with an expiry, replies
// as numbers, strings and tables.
var limiterScripts = []string{
	`local key = KEYS[1]
local now = tonumber(ARGV[1])
local window = tonumber(ARGV[2])
local limit = tonumber(ARGV[3])
redis.call('ZREMRANGEBYSCORE', key, 0, now - window)
local count = redis.call('ZCARD', key)
if count < limit then
  redis.call('ZADD', key, now, now)
  redis.call('EXPIRE', key, window + 1)
  return 1
end
return 0`,
	`redis.call('zremrangebyscore', KEYS[1], '-inf', tonumber(ARGV[1]) - tonumber(ARGV[2]))
local n = redis.call('zcard', KEYS[1])
if n >= tonumber(ARGV[3]) then
  local oldest = redis.call('zrange', KEYS[1], 0, 0, 'withscores')
  return {0, n, oldest[2]}
else
  redis.call('zadd', KEYS[1], ARGV[1], ARGV[4])
  redis.call('pexpire', KEYS[1], ARGV[2])
  return {1, n + 1}
end`,
	`local current = tonumber(redis.call('GET', KEYS[1]) or '0')
if current + 1 > tonumber(ARGV[3]) then
  return '0'
end
redis.call('INCRBY', KEYS[1], 1)
redis.call('EXPIRE', KEYS[1], ARGV[2])
return '1'`,
	`local count = redis.call('INCR', KEYS[1])
if count == 1 then redis.call('EXPIRE', KEYS[1], tonumber(ARGV[2])) end
if count > tonumber(ARGV[3]) then return {err = 'limited'} end
return {ok = 'ALLOWED'}`,
	`local window_start = math.floor(tonumber(ARGV[1]) / tonumber(ARGV[2])) * tonumber(ARGV[2])
local key = KEYS[1] .. ':' .. window_start
local n = redis.call('incr', key)
redis.call('pexpire', key, tonumber(ARGV[2]) * 2)
redis.call('del', key)
return {window_start, n, key}`,
	`for i = 1, tonumber(ARGV[3]) do
  redis.call('ZADD', KEYS[1], tonumber(ARGV[1]) + i, tostring(tonumber(ARGV[1]) + i))
end
return redis.call('ZRANGE', KEYS[1], -3, -1, 'WITHSCORES')`,
	`local t = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local sum = 0
for i = 2, #t, 2 do sum = sum + (tonumber(t[i]) or 0) end
return {#t / 2, tostring(sum)}`,
	`local ttl = redis.call('PTTL', KEYS[1])
if ttl == -1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) return 'set' end
if ttl == -2 then return false end
return redis.status_reply('has')`,
	`local t = redis.call('TIME')
return redis.call('ZADD', KEYS[1], 'GT', 'CH', t[1], t[1])`,
}

func (g *generator) limiterScript() {
	text := pick(g.r, limiterScripts[:len(limiterScripts)-1]...)
	if !g.plan.runningClock && g.chance(10) {
		text = limiterScripts[len(limiterScripts)-1]
	}
	if g.plan.runningClock && strings.Contains(text, "PEXPIRE', KEYS[1], ARGV[2]") {
		return
	}
	k := pick(g.r, g.logs...)
	at := g.logAt[k]
	switch {
	case strings.Contains(text, "INCR"):
		k = g.counter()
	case g.chance(20):
		k = pick(g.r, g.sets...)
	}
	if g.chance(80) {
		g.logNext(k)
		at = g.logAt[k]
	}
	window := pick(g.r, "10", "60", "60", "1000", "3600")
	if g.plan.runningClock {
		window = "1000000"
	}
	argv := []string{itoa(at), window, itoa(g.between(1, 12)), itoa(at)}
	if contains(g.sets, k) {
		argv[3] = pick(g.r, itoa(at), "m"+itoa(at), "x")
	}
	if g.chance(3) {
		argv[g.r.IntN(4)] = pick(g.r, "", "x", "1.5", "-1", "0")
	}
	g.add(step{args: g.eval(text, []string{k}, argv)})
}

func (g *generator) conversionScript() {
	text := pick(g.r, conversions...)
	for strings.Contains(text, "$") {
		v := pick(g.r, conversionValues...)
		if strings.Contains(text, "tostring($)") && v[0] == '{' {
			continue // a table's text is its address
		}
		text = strings.Replace(text, "$", v, 1)
	}
	g.add(step{args: g.eval(text, []string{pick(g.r, g.sets...), pick(g.r, g.texts...)},
		[]string{g.member(), itoa(g.between(-5, 50)), "third"})})
}

// brokenScript sends a script that does not compile, fails, or is called with wrong arguments.
func (g *generator) brokenScript() {
	switch g.r.IntN(3) {
	case 0:
		text := pick(g.r, "return (", "local = 1", "if x then", "return 'unfinished", "}", "return 1 1",
			"for", "x ==", "goto a", "return 1..2", "local function end", "return [[open", "\x00",
			"return '\\400'")
		g.send(pick(g.r, "EVAL", "EVAL_RO"), text, "0")
	case 1:
		args := [][]string{
			{"EVAL", "return 1"},
			{"EVAL"},
			{"EVAL", "return 1", "x"},
			{"EVAL", "return 1", "-1"},
			{"EVAL", "return 1", "2", "a"},
			{"EVAL", "return 1", "1.5"},
			{"EVALSHA", "x", "0"},
			{"EVALSHA", strings.Repeat("f", 40), "0"},
			{"EVALSHA", strings.Repeat("f", 41), "0"},
			{"EVALSHA", strings.Repeat("g", 40), "1"},
			{"EVALSHA_RO", strings.Repeat("0", 40), "0"},
			{"EVAL", "return 1", "9223372036854775807"},
			{"EVAL", "return 1", ""},
			{"EVALSHA"},
		}
		g.send(pick(g.r, args...)...)
	default:
		text := pick(g.r, "return nil + 1", "return {} .. 'x'", "local x; return x.y", "return 1 < 'a'",
			"return #nil", "local x; x()", "return ('x'):nosuch()",
			"redis.call('SET', 's1', 1)\nlocal x\nreturn x.y", "return string.rep()",
			"return math.floor('x')", "return setmetatable(1, 2)", "return tostring()",
			"return loadstring('return 1')()", "return tonumber({})", "return ipairs(nil)")
		g.add(step{args: g.eval(text, nil, nil)})
	}
}

// scriptCommand sends SCRIPT and its subcommands; FLUSH is rare, and NOSCRIPT follows it.
func (g *generator) scriptCommand() {
	text := "return 1"
	if len(g.scripts) > 0 {
		text = pick(g.r, g.scripts...).text
	}
	sha := script{text}.sha()
	switch n := g.r.IntN(100); {
	case n < 40:
		g.send("SCRIPT", g.spell("LOAD"), text)
	case n < 70:
		g.send("SCRIPT", g.spell("EXISTS"), sha, strings.Repeat("0", 40), strings.ToUpper(sha))
	case n < 80:
		g.send("SCRIPT", "FLUSH", pick(g.r, "SYNC", "ASYNC", "NOSUCH"))
	case n < 85:
		g.send("SCRIPT", "FLUSH")
	default:
		args := [][]string{
			{"SCRIPT"},
			{"SCRIPT", "NOSUCH"},
			{"SCRIPT", "LOAD"},
			{"SCRIPT", "EXISTS"},
			{"SCRIPT", "LOAD", "return ("},
			{"SCRIPT", "FLUSH", "SYNC", "x"},
			{"SCRIPT", "EXISTS", "", "x"},
			{"SCRIPT", "LOAD", ""},
		}
		g.send(pick(g.r, args...)...)
	}
}
