package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// peeks maps calls about the key "k" to their replies while it does not exist: "" for a call that
// may write, "explained" for any reply that is no refusal.
var peeks = map[string]string{
	"RL.ALLOW k 2 1s PEEK":             "[1 2 2 0 0]",
	"RL.ALLOW k 2 1s 5 1m COST 0":      "[1 2 2 0 0]",
	"RL.ALLOW k 2 1s ALGO FIXED peek":  "[1 2 2 0 0]",
	"RL.MALLOW 1 k 2 1s PEEK":          "[1 1 2 2 0 0]",
	"RL.MALLOW 2 k 2 1s k2 3 1s":       "",
	"RL.MALLOW 1 k 2 1s cost 0":        "[1 1 2 2 0 0]",
	"CL.THROTTLE k 1 1 1 0":            "[0 2 2 -1 0]",
	"RL.EXPLAIN k 2 1s":                "explained",
	"RL.INFO k":                        "[]",
	"RL.ALLOW k 2 1s":                  "",
	"RL.ALLOW k 2 1s COST 1":           "",
	"CL.THROTTLE k 1 1 1":              "",
	"CL.THROTTLE k 1 1 1 1":            "",
	"RL.RESERVE k 2 1s 1 HOLD 1m ID b": "",
	"RL.ACQUIRE k 1 LEASE 1m ID b":     "",
	"RL.RENEW k b LEASE 1m":            "",
	"RL.RELEASE k b":                   "",
	"RL.SETTLE k b 1":                  "",
	"RL.CANCEL k b":                    "",
	"RL.REFUND k 0":                    "",
	"RL.RESET k":                       "",
}

// inScript returns a call of a script, and with it of line; the script has no keys of its own.
func inScript(command, line string) [][]byte {
	return append([][]byte{[]byte(command), []byte("return redis.call(unpack(ARGV))"), []byte("0")},
		args(line)...)
}

// peekLibrary has a function that calls what its arguments say, and one that says it writes
// nothing.
const peekLibrary = `#!lua name=peeks
local function call(_, args) return redis.call(unpack(args)) end
redis.register_function('call', call)
redis.register_function{function_name = 'look', callback = call, flags = {'no-writes'}}`

// A user who may read a key may make every call that only reads it, in every way to call.
func TestReadersMayPeek(t *testing.T) {
	e, _ := newEngine(t)
	admin, reader := newSession(t, e), newSession(t, e)
	require.Equal(t, "OK", do(admin, "ACL SETUSER reader on nopass +@all %R~k*"))
	require.Equal(t, "OK", do(reader, "AUTH reader x"))
	load := [][]byte{[]byte("FUNCTION"), []byte("LOAD"), []byte(peekLibrary)}
	require.Equal(t, "peeks", show(admin.Do(load)))
	check := func(line, how, want, got string) {
		t.Helper()
		switch want {
		case "explained":
			require.NotContains(t, got, "NOPERM", "%s: %s", how, line)
		case "":
			require.Contains(t, got, "access", "%s: %s", how, line)
			require.Contains(t, got, "keys", "%s: %s", how, line)
		default:
			require.Equal(t, want, got, "%s: %s", how, line)
		}
	}
	for line, want := range peeks {
		denied := want == ""
		do(admin, "ACL LOG RESET")
		check(line, "plain", want, do(reader, line))
		check(line, "EVAL", want, show(reader.Do(inScript("EVAL", line))))
		check(line, "FCALL", want, do(reader, "FCALL call 0 "+line))
		if !denied {
			check(line, "EVAL_RO", want, show(reader.Do(inScript("EVAL_RO", line))))
			check(line, "FCALL_RO", want, do(reader, "FCALL_RO look 1 k "+line))
		}
		require.Equal(t, "OK", do(reader, "MULTI"))
		queued, replies := do(reader, line), do(reader, "EXEC")
		entries := show(admin.Do(args("ACL LOG")))
		if denied {
			check(line, "MULTI", want, queued)
			require.Contains(t, replies, "EXECABORT", line)
			require.Equal(t, 3, strings.Count(entries, "reason key"), "%s: %s", line, entries)
			require.Equal(t, "This user has no permissions to access the 'k' key",
				do(admin, "ACL DRYRUN reader "+line), line)
			continue
		}
		require.Equal(t, "QUEUED", queued, line)
		check(line, "EXEC", want, strings.TrimSuffix(strings.TrimPrefix(replies, "["), "]"))
		require.Equal(t, "[]", entries, line)
		require.Equal(t, "OK", do(admin, "ACL DRYRUN reader "+line), line)
	}
	require.Equal(t, "0", do(admin, "DBSIZE"), "nobody wrote")
}

// Whoever may only write a key, or read another one, may not look at it; and what a
// transaction has queued is checked as what it is.
func TestPeekNeedsToRead(t *testing.T) {
	e, _ := newEngine(t)
	admin := newSession(t, e)
	as := func(rules string) *engine.Session {
		require.Equal(t, "OK", do(admin, "ACL SETUSER u reset on nopass +@all "+rules))
		s := newSession(t, e)
		require.Equal(t, "OK", do(s, "AUTH u x"))
		return s
	}
	for line, want := range peeks {
		if want == "" {
			continue
		}
		require.Contains(t, do(as("%W~k*"), line), "NOPERM", line)
		require.Contains(t, do(as("%R~other"), line), "NOPERM", line)
	}
	s := as("%R~a %W~b")
	require.Contains(t, do(s, "RL.MALLOW 2 a 1 1s b 1 1s PEEK"), "NOPERM")

	s = as("~k")
	do(s, "MULTI")
	require.Equal(t, "QUEUED", do(s, "RL.ALLOW k 2 1s PEEK"))
	require.Equal(t, "QUEUED", do(s, "RL.ALLOW k 2 1s"))
	require.Equal(t, "OK", do(admin, "ACL SETUSER u resetkeys %R~k"))
	replies := do(s, "EXEC")
	require.True(t, strings.HasPrefix(replies, "[[1 2 2 0 0] NOPERM "), replies)
}

// COMMAND says that flags of keys vary, and what they are for one call.
func TestKeyFlagsOfPeeks(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	for line, want := range peeks {
		got := do(s, "COMMAND GETKEYSANDFLAGS "+line)
		if want != "" {
			require.Equal(t, "[[k [RO access]]]", got, line)
			continue
		}
		require.NotContains(t, got, "RO", line)
		require.NotContains(t, got, "variable_flags", line)
	}
	require.Equal(t, "[[a [RO access]] [b [RO access]]]",
		do(s, "COMMAND GETKEYSANDFLAGS RL.MALLOW 2 a 1 1s b 1 1s PEEK"))
	var vary []string
	for _, name := range []string{"rl.allow", "rl.mallow", "cl.throttle", "rl.refund", "rl.reserve", "set"} {
		if strings.Contains(do(s, "COMMAND INFO "+name), "variable_flags") {
			vary = append(vary, name)
		}
	}
	require.Equal(t, []string{"rl.allow", "rl.mallow", "cl.throttle", "set"}, vary)
	for _, short := range []string{"RL.ALLOW k", "RL.MALLOW 1 k", "CL.THROTTLE k 1"} {
		require.Contains(t, do(s, "COMMAND GETKEYSANDFLAGS "+short), "ERR Invalid number of arguments")
	}
}

// A call that only reads is a read while memory is exhausted and while writes are paused, and
// remains one that uses the keyspace, which a monitor must not.
func TestPeeksAreReads(t *testing.T) {
	e, _ := newEngine(t)
	s, paused, monitor := newSession(t, e), newSession(t, e), newSession(t, e)
	require.Equal(t, "+OK\r\n", do(monitor, "MONITOR"))
	require.Equal(t, "OK", do(s, "CONFIG SET maxmemory 1"))
	for line, want := range peeks {
		if want == "" || want == "explained" {
			continue
		}
		require.Equal(t, want, do(s, line), line)
		require.Contains(t, do(monitor, line), "Replica can't interact with the keyspace", line)
	}
	require.Equal(t, oom, do(s, "RL.ALLOW k 2 1s"))
	require.Equal(t, "OK", do(s, "CONFIG SET maxmemory 0"))

	do(s, "CLIENT PAUSE 1000 WRITE")
	for line, want := range peeks {
		if want != "" && want != "explained" {
			require.Equal(t, want, do(s, line), line)
		}
	}
	requireHeld(t, paused, "RL.ALLOW k 2 1s")
}
