package main

import (
	"encoding/binary"
	"hash/crc64"
	"strings"
)

// library returns the code of a library, in one of two versions.
func (g *generator) library(name string) string {
	body := pick(g.r, "return redis.call(args[1], keys[1], unpack(args, 2))",
		"redis.call('INCR', keys[1])\nreturn redis.pcall(args[1], keys[1], unpack(args, 2))")
	return "#!lua name=" + name + "\nredis.register_function('f" + name + "', function(keys, args)\n" +
		body + "\nend)"
}

// dumpedLibrary returns a library as FUNCTION DUMP does.
func dumpedLibrary(code string) string {
	const library = "\xf5" // the opcode of a library
	return dumped(library + stored(code))
}

// callFunction sends FCALL with a command of another family in it.
func (g *generator) callFunction() {
	inner := g.dataCommand()
	if len(inner) < 2 || keyless[strings.ToUpper(inner[0])] {
		return
	}
	args := append([]string{"FCALL", "f" + g.value("library"), "1", inner[1], inner[0]}, inner[2:]...)
	g.add(step{args: args, inner: inner})
}

// served sends a command that waits for an element, and an element from another connection, by itself, in a
// transaction or by a script.
func (g *generator) served() {
	// Of a pushed key that is emptied at once, Redis tells clients that track it in another order.
	if g.users || g.tracks || g.conn != 0 {
		return
	}
	k, kind := pick(g.r, g.keys["list"]...), ""
	if g.chance(25) {
		k, kind = pick(g.r, g.keys["zset"]...), "Scored"
	}
	push, pop := g.words("pushes"+kind, k), g.words("waits"+kind, k)
	db := itoa(g.r.IntN(databases))
	g.say("SELECT", db)
	g.say("UNWATCH") // a transaction that is aborted would push nothing
	g.add(step{args: []string{"DEL", k}})
	g.onConn(1, func() {
		g.add(step{args: []string{"SELECT", db}, glue: true})
		g.add(step{args: pop, silent: true, glue: true})
	})
	g.add(step{args: []string{"ECHO", "let it wait"}, glue: true})
	switch g.r.IntN(3) {
	case 0:
		g.add(step{args: push, glue: true})
	case 1:
		for _, args := range [][]string{{"MULTI"}, push, {"INCR", g.value("counter")}, {"EXEC"}} {
			g.add(step{args: args, glue: true})
		}
	default:
		const text = "return redis.call(ARGV[1], KEYS[1], unpack(ARGV, 2))"
		args := append([]string{"EVAL", text, "1", k, push[0]}, push[2:]...)
		g.add(step{args: args, inner: push, glue: true})
	}
	g.onConn(1, func() { g.add(step{glue: true}) }) // which sends nothing and reads the reply
}

// dumped appends to a value what DUMP and FUNCTION DUMP have at the end: a version and a checksum.
func dumped(value string) string {
	b := append([]byte(value), 10, 0)
	const jones = 0x95ac9329ac4bc9b5
	// Redis inverts neither before nor after.
	sum := ^crc64.Update(^uint64(0), crc64.MakeTable(jones), b)
	return string(binary.LittleEndian.AppendUint64(b, sum))
}

// stored returns a string as it is in a dump, with its length before it.
func stored(s string) string {
	if len(s) < 64 {
		return string(rune(len(s))) + s
	}
	return string([]byte{0x40 | byte(len(s)>>8), byte(len(s))}) + s
}
