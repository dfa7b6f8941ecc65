package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestParseTraces(t *testing.T) {
	const text = "File: x\nType: cpu\nDuration: 2s, Total samples = 30ms (1.5%)\n" +
		"-----------+-----\n      20ms   runtime.memmove\n             a/b.(*C[go.shape.int]).D (inline)\n" +
		"-----------+-----\n      10ms   main.main\n-----------+-----\n"
	traces, err := parseTraces(text)
	require.NoError(t, err)
	require.Equal(t, []trace{
		{20 * time.Millisecond, []string{"runtime.memmove", "a/b.(*C[go.shape.int]).D"}},
		{10 * time.Millisecond, []string{"main.main"}},
	}, traces)
	for _, wrong := range []string{"", "no profile", "----\n", "----\nmain.main\n", "----\n 10 main.main\n"} {
		_, err := parseTraces(wrong)
		require.ErrorIs(t, err, errTraces, wrong)
	}
}

func TestAttribute(t *testing.T) {
	const path = "github.com/zlimit/zlimit/"
	for _, c := range []struct {
		frames   string // the innermost first
		part     part
		function string
	}{
		{
			"internal/runtime/syscall/linux.Syscall6 syscall.RawSyscall6 Z/server.sysWrite " +
				"Z/server.(*conn).loop",
			kernelPart, "server.sysWrite",
		},
		{"runtime.futex runtime.futexsleep runtime.findRunnable runtime.mcall", kernelPart, "runtime.mcall"},
		{
			"runtime.memmove github.com/tidwall/redcon.ReadNextCommand Z/server.(*reader).next", wirePart,
			"github.com/tidwall/redcon.ReadNextCommand",
		},
		{
			"runtime.nanotime time.Since Z.SystemClock.func1 Z/clock.(*Clock).Read Z/engine.(*Session).Do",
			dispatchPart, "zlimit.SystemClock.func1",
		},
		{
			"Z/engine/stats.(*Run).Flush Z/engine.(*Session).flush Z/server.(*conn).loop", dispatchPart,
			"engine/stats.(*Run).Flush",
		},
		{
			"sync/atomic.(*Uint32).CompareAndSwap Z/store.(*Store).Unlock Z/engine.(*Session).Do",
			dispatchPart,
			"store.(*Store).Unlock",
		},
		{
			"Z/store/dict.(*Dict[go.shape.struct{Z/store.data[int]}]).Get Z/store.(*DB).find",
			lookupPart, "store/dict.(*Dict).Get",
		},
		{
			"Z/store/zset.(*Set).ReadAhead Z/store.(*DB).readAhead Z/engine.(*Session).ReadAhead", lookupPart,
			"engine.(*Session).ReadAhead",
		},
		{
			"Z/store/zset.(*Set).Newest Z/commands/rl.rlAllow Z/commands.(*Ctx).run", decisionPart,
			"store/zset.(*Set).Newest",
		},
		{
			"Z/commands/rl.parseTerms Z/commands/rl.rlMallow Z/commands.(*Ctx).Run", decisionPart,
			"commands/rl.parseTerms",
		},
		{
			"strconv.AppendInt Z/resp.appendLine Z/server.(*conn).appendReply Z/server.(*conn).loop",
			encodingPart, "resp.appendLine",
		},
		{
			"memeqbody Z/store/zset.(*Set).Add Z/scripting.(*interp).resolvedCommand", decisionPart,
			"store/zset.(*Set).Add",
		},
		{
			"memeqbody Z/scripting/lua.(*Table).findString Z/scripting/lua.(*Thread).execute", scriptsPart,
			"scripting/lua.(*Table).findString",
		},
		{"runtime.nextFreeFast runtime.mallocgc Z/commands.zadd", runtimePart, "runtime.mallocgc"},
		{"runtime.scanobject runtime.gcDrain runtime.gcBgMarkWorker", runtimePart, "runtime.gcBgMarkWorker"},
		{"runtime.scanobject runtime.someRoot", runtimePart, "runtime.scanobject"},
		{
			"Z/store.(*Store).Lock Z/engine.(*Engine).Tick Z/server.(*Server).cron", otherPart,
			"server.(*Server).cron",
		},
		{"main.main", otherPart, "main.main"},
	} {
		var frames []string
		for f := range strings.SplitSeq(c.frames, " ") {
			frames = append(frames, strings.ReplaceAll(strings.ReplaceAll(f, "Z/", path), "Z.",
				strings.TrimSuffix(path, "/")+"."))
		}
		p, function := attribute(frames)
		require.Equal(t, c.part, p, c.frames)
		require.Equal(t, c.function, function, c.frames)
	}
}

// TestRecordedProfile splits a part of a profile of the documents' script by EVALSHA.
func TestRecordedProfile(t *testing.T) {
	text, err := os.ReadFile("testdata/evalsha.traces")
	require.NoError(t, err)
	traces, err := parseTraces(string(text))
	require.NoError(t, err)
	s := split{title: "evalsha-16", micros: 2.5, traces: traces}
	require.Equal(t, []string{
		"evalsha-16",
		"2.50 us of processor time a call, 0.67 of them under the shards' locks; a profile of 300ms",
		"",
		"part      share  us a call  most of it",
		"kernel    63%    1.583      server.sysWrite 53%, server.(*inq).read 10%",
		"wire      3%     0.083      redcon.ReadNextCommand 3%",
		"dispatch  7%     0.167      commands.(*Table).Lookup 7%",
		"lookup    10%    0.250      dict.(*Dict).Get 7%, dict.Hash 3%",
		"decision  7%     0.167      commands.(*Tally).nested 3%, zset.(*Set).logRank 3%",
		"scripts   10%    0.250      scripting.isDigit 7%, scripting.appendNumber 3%",
		"",
	}, strings.Split(s.String(), "\n"))
	s.disturbed = 0.3
	require.Contains(t, s.String(), "others took 30% of a core")
}
