package scripting

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// newKillingEngine returns an engine whose command time calls meanwhile, in
// place of another client. Scripts are past the threshold after some thousand
// steps.
func newKillingEngine(t *testing.T, meanwhile func(e *Engine)) (*Engine, *commands.Ctx) {
	e, c := newTestEngine(t)
	nowUs := int64(0)
	e.runs = newRunTracker(func() int64 { nowUs += 10_000; return nowUs }, 1)
	e.SetTable(commands.NewTable(commands.Strings, commands.Keys, e.Commands(), []commands.Command{
		{Name: "time", Arity: 1, Handler: func(*commands.Ctx) resp.Value {
			meanwhile(e)
			return resp.OK
		}},
	}))
	return e, c
}

// TestKilledScriptWritesNoMore checks that a script does not write between
// being killed and noticing it: SCRIPT KILL has reported that it has not
// written.
func TestKilledScriptWritesNoMore(t *testing.T) {
	const (
		wait = "for i = 1, 1e4 do end redis.call('time') "
		set  = "redis.call('set','x',2) return 1"
		all  = "-ERR Script killed by user with SCRIPT KILL... script: "
	)
	endReaders := func(e *Engine) { e.StopReaders(true) }
	killAndEnd := func(e *Engine) {
		_ = e.runs.kill(runScript)
		e.StopAll()
	}
	for name, c := range map[string]struct {
		source, kill string // what SCRIPT KILL answers
		cut          commands.Cut
		end          func(e *Engine)
		written      bool
	}{
		"plain":       {source: wait + set},
		"interpreted": {source: "local f = function() " + wait + "end f() " + set},
		"by pcall":    {source: wait + "redis.pcall('set','x',1) return 1"},
		"caught":      {source: wait + "pcall(redis.call,'set','x',1) " + set},
		"in a coroutine": {
			source: wait + "coroutine.wrap(function() redis.pcall('set','x',1) end)() return 1",
		},
		"last statement": {source: wait + "return redis.call('set','x',1)"},
		"last, caught":   {source: wait + "return pcall(redis.call,'set','x',1)"},
		"End":            {source: wait + set, end: (*Engine).StopAll, cut: commands.CutClean},
		"EndReaders":     {source: wait + set, end: endReaders, cut: commands.CutClean},
		"End, has written": {
			source: "redis.call('set','x',1) " + wait + set,
			end:    (*Engine).StopAll, cut: commands.CutHalf, written: true,
		},
		"killed, then End": {source: wait + set, end: killAndEnd, cut: commands.CutClean},
	} {
		t.Run(name, func(t *testing.T) {
			e, ctx := newKillingEngine(t, func(e *Engine) {
				if c.end != nil {
					c.end(e)
					return
				}
				require.Equal(t, c.kill, e.runs.kill(runScript))
			})
			reply := evaluate(e, ctx, resp.RESP2, evalArgs(c.source))
			require.Contains(t, reply, all)
			require.Equal(t, c.cut, ctx.Cut)
			want := "$-1\r\n"
			if c.written {
				want = "$1\r\n1\r\n"
			}
			require.Equal(t, want, evaluate(e, ctx, resp.RESP2, splitFields("GET x")))
		})
	}
}

// TestWriterIsNotKilled checks that a script that has written can neither be
// killed nor stopped by EndReaders, and runs to its end.
func TestWriterIsNotKilled(t *testing.T) {
	e, c := newKillingEngine(t, func(e *Engine) {
		require.Equal(t, errUnkillable, e.runs.kill(runScript))
		e.StopReaders(true)
		e.StopReaders(false)
	})
	const source = "redis.call('set','x',1) for i = 1, 1e4 do end redis.call('time') for i = 1, 1e4 do " +
		"end redis.call('set','x',2) return 1"
	require.Equal(t, ":1\r\n", evaluate(e, c, resp.RESP2, evalArgs(source)))
	require.Equal(t, commands.CutNone, c.Cut)
	require.Equal(t, "$1\r\n2\r\n", evaluate(e, c, resp.RESP2, splitFields("GET x")))
	require.Equal(t, ":1\r\n", evaluate(e, c, resp.RESP2, evalArgs("for i = 1, 1e4 do end return 1")),
		"EndReaders was undone")
}
