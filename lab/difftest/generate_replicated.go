package main

import (
	"encoding/binary"
	"hash/crc64"
	"strings"
)

// replicatedMakers generate what replicas are told in other words than the client's. They are used only with
// -replicas, or if -family names them.
var replicatedMakers = []maker{
	{4, (*generator).function},
	{4, (*generator).callFunction},
	{6, (*generator).served},
	{2, func(g *generator) {
		g.command("GETEX", g.key(), pick(g.r, "PX", "EX"), g.deadline(1000, false))
	}},
	{2, func(g *generator) { g.command("SET", g.key(), g.text(), "PXAT", g.deadline(1, true)) }},
	{2, func(g *generator) { g.command("SET", g.key(), g.text(), "KEEPTTL") }},
	{3, func(g *generator) { g.command("MOVE", g.key(), itoa(g.r.IntN(databases))) }},
	{3, func(g *generator) {
		g.command("COPY", g.key(), g.key(), "DB", itoa(g.r.IntN(databases)), "REPLACE")
	}},
	{2, func(g *generator) { g.command("SELECT", itoa(g.r.IntN(databases))) }},
	{1, func(g *generator) { g.send("SWAPDB", itoa(g.r.IntN(databases)), itoa(g.r.IntN(databases))) }},
	{1, func(g *generator) { g.send(pick(g.r, "FLUSHDB", "FLUSHDB", "FLUSHALL"), "ASYNC") }},
	{2, func(g *generator) {
		ttl, at := g.deadline(1, false), ""
		if g.chance(40) {
			ttl, at = g.deadline(1, true), "ABSTTL"
		}
		payload := dumped("\x00" + stored(strings.Repeat("v", g.between(0, 80))))
		g.command(append([]string{"RESTORE", g.key(), ttl, payload, "REPLACE"}, strings.Fields(at)...)...)
	}},
}

// library returns one of three libraries, in one of two versions.
func (g *generator) library() (name, code string) {
	name = "lib" + itoa(g.r.IntN(3))
	body := pick(g.r, "return redis.call(args[1], keys[1], unpack(args, 2))",
		"redis.call('INCR', keys[1])\nreturn redis.pcall(args[1], keys[1], unpack(args, 2))")
	return name, "#!lua name=" + name + "\nredis.register_function('f" + name + "', function(keys, args)\n" +
		body + "\nend)"
}

// function sends FUNCTION LOAD, DELETE, FLUSH or RESTORE.
func (g *generator) function() {
	name, code := g.library()
	switch g.r.IntN(8) {
	case 0:
		g.send("FUNCTION", "DELETE", name)
	case 1:
		g.send("FUNCTION", "FLUSH", pick(g.r, "SYNC", "ASYNC"))
	case 2:
		g.send("FUNCTION", "LOAD", code)
	case 3, 4:
		const library = "\xf5" // the opcode of a library in a dump
		g.send("FUNCTION", "RESTORE", dumped(library+stored(code)), pick(g.r, "APPEND", "REPLACE", "FLUSH"))
	default:
		g.send("FUNCTION", "LOAD", "REPLACE", code)
	}
}

// callFunction sends FCALL with a command of another family in it.
func (g *generator) callFunction() {
	name, _ := g.library()
	inner := g.dataCommand()
	if len(inner) < 2 || keyless[strings.ToUpper(inner[0])] {
		return
	}
	args := append([]string{"FCALL", "f" + name, "1", inner[1], inner[0]}, inner[2:]...)
	g.add(step{args: args, inner: inner})
}

// served sends a command that waits for an element, and an element from another connection, by itself, in a
// transaction or by a script.
func (g *generator) served() {
	// Of a pushed key that is emptied at once, Redis tells clients that track it in another order.
	if g.capture != nil || g.users || g.tracks || g.conn != 0 {
		g.send("TYPE", g.key())
		return
	}
	k, to := pick(g.r, g.lists...), pick(g.r, g.lists...)
	push := []string{pick(g.r, "RPUSH", "LPUSH"), k, g.element(), g.element()}
	var pop []string
	switch g.r.IntN(4) {
	case 0:
		pop = []string{pick(g.r, "BLPOP", "BRPOP"), k, "0"}
	case 1:
		pop = []string{"BLMOVE", k, to, pick(g.r, "LEFT", "RIGHT"), pick(g.r, "LEFT", "RIGHT"), "0"}
	case 2:
		pop = []string{"BLMPOP", "0", "1", k, "LEFT", "COUNT", itoa(g.between(1, 3))}
	default:
		k = pick(g.r, g.sets...)
		push = []string{"ZADD", k, "1.5", g.member(), "2", "b"}
		pop = []string{pick(g.r, "BZPOPMIN", "BZPOPMAX"), k, "0"}
	}
	db := itoa(g.r.IntN(databases))
	g.send("SELECT", db)
	g.send("UNWATCH") // a transaction that is aborted would push nothing
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
		for _, args := range [][]string{{"MULTI"}, push, {"INCR", g.counter()}, {"EXEC"}} {
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
