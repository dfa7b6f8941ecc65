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
		if !known && g.chance(85) {
			g.say("SCRIPT", "LOAD", text)
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

// sentScript returns a script of this round.
func (g *generator) sentScript() script {
	if len(g.scripts) == 0 {
		return script{"return 1"}
	}
	return pick(g.r, g.scripts...)
}

// limiterScript sends a script in the form of a real limiter.
func (g *generator) limiterScript() {
	kind, k := "windowScript", pick(g.r, g.keys["log"]...)
	switch {
	case !g.plan.runningClock && g.chance(10):
		kind = "clockScript"
	case g.chance(33):
		kind = "counterScript"
	}
	text := g.value(kind)
	if g.plan.runningClock && strings.Contains(text, "PEXPIRE', KEYS[1], ARGV[2]") {
		return
	}
	at := g.logAt[k]
	member := itoa(at)
	switch {
	case kind == "counterScript":
		k = g.value("counter")
	case g.chance(20):
		k = pick(g.r, g.keys["zset"]...)
		member = pick(g.r, itoa(at), "m"+itoa(at), "x")
	case g.chance(80):
		g.logNext(k)
		at = g.logAt[k]
		member = itoa(at)
	}
	window := pick(g.r, "10", "60", "60", "1000", "3600")
	if g.plan.runningClock {
		window = "1000000"
	}
	argv := []string{itoa(at), window, itoa(g.between(1, 12)), member}
	if g.chance(3) {
		argv[g.r.IntN(4)] = pick(g.r, "", "x", "1.5", "-1", "0")
	}
	g.add(step{args: g.eval(text, []string{k}, argv)})
}

func (g *generator) conversionScript() {
	text := g.value("conversion")
	for strings.Contains(text, "$") {
		v := g.value("converted")
		if strings.Contains(text, "tostring($)") && v[0] == '{' {
			continue // a table's text is its address
		}
		text = strings.Replace(text, "$", v, 1)
	}
	g.add(step{args: g.eval(text, []string{pick(g.r, g.keys["zset"]...), pick(g.r, g.keys["string"]...)},
		[]string{g.value("anyMember"), itoa(g.between(-5, 50)), "third"})})
}
