package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/store"
)

// newEndlessOn is newEndless with a directory.
func newEndlessOn(t *testing.T, fs disk.FS, directives ...string) *endless {
	x := &endless{reply: make(chan string, 1)}
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(directives, nil))
	x.engine = engine.New(engine.Options{
		Config: cfg, Disk: fs,
		Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { return x.realUs.Add(100_000) },
			Wall:      func() int64 { return startNowMs * 1000 },
		}),
		Shutdown: func() { x.ended.Store(true) },
	})
	require.NoError(t, x.engine.Open())
	require.NoError(t, x.engine.Load(func() {}))
	x.other = newSession(t, x.engine)
	return x
}

// restarted runs a command in an engine that has loaded the files of another.
func restarted(t *testing.T, fs disk.FS, directives []string, lines ...string) (replies []string) {
	p := start(t, fs, 0, directives...)
	defer func() { require.NoError(t, p.Close()) }()
	c := p.client(t)
	for _, line := range lines {
		replies = append(replies, c.do(line))
	}
	return replies
}

const (
	plainHalf       = "redis.call('set','x',1) while true do end redis.call('set','y',1)"
	interpretedHalf = "local f = function() while true do end end redis.call('set','x',1) f() " +
		"redis.call('set','y',1)"
	caughtHalf = "redis.call('set','x',1) pcall(function() while true do end end) " +
		"redis.call('set','y',1) return 1"
	manyHalf = "redis.call('set','x',1) redis.call('del','old') redis.call('pexpire','kept',150) " +
		"redis.call('rpush','l','a') redis.call('set','n',2) while true do end redis.call('set','y',1)"
	ownKeysHalf = "redis.call('set',KEYS[1],1) while true do end redis.call('set',KEYS[2],1)"
	halfLibrary = "#!lua name=half\nredis.register_function('half', function() " +
		"redis.call('set','x',1) while true do end redis.call('set','y',1) end)"
)

// cutCommands are endless commands that have written.
var cutCommands = map[string][]string{
	"plain":             {"eval", plainHalf, "0"},
	"interpreted":       {"eval", interpretedHalf, "0"},
	"caught":            {"eval", caughtHalf, "0"},
	"many writes":       {"eval", manyHalf, "0"},
	"with its own keys": {"eval", ownKeysHalf, "2", "x", "y"},
	"function":          {"fcall", "half", "0"},
}

// ends are the ways to end a process.
var ends = map[string]func(t *testing.T, x *endless){
	"SIGTERM": func(_ *testing.T, x *endless) { x.engine.End() },
	"SHUTDOWN NOSAVE": func(t *testing.T, x *endless) {
		require.Equal(t, "(nothing)", do(x.other, "shutdown nosave"))
		require.True(t, x.ended.Load())
	},
	"SHUTDOWN NOSAVE NOW FORCE": func(t *testing.T, x *endless) {
		for _, line := range []string{
			"shutdown", "shutdown save", "shutdown now", "shutdown force",
			"shutdown save now force",
		} {
			require.True(t, strings.HasPrefix(do(x.other, line), "BUSY"), line)
		}
		require.Equal(t, "ERR No shutdown in progress.", do(x.other, "shutdown abort"))
		require.Equal(t, "(nothing)", do(x.other, "shutdown nosave now force"))
	},
}

func TestHalfAScriptIsNotLogged(t *testing.T) {
	for how, end := range ends {
		for name, command := range cutCommands {
			t.Run(how+"/"+name, func(t *testing.T) {
				d := crashdisk.New(1)
				x := newEndlessOn(t, d.FS(), always...)
				require.Equal(t, "half", show(x.other.Do(words("function", "load", halfLibrary))))
				for _, line := range []string{"set n 1", "set old 1", "set kept 1"} {
					require.Equal(t, "OK", do(x.other, line))
				}
				x.run(t, command...)
				end(t, x)
				require.Contains(t, <-x.reply, killed)
				require.Equal(t, "(nothing)", do(x.other, "get x"), "nobody sees half of it")
				require.True(t, x.other.Closing())
				x.engine.Reclaim()
				require.NoError(t, x.engine.Close())
				require.Equal(t, []string{"0", "1", "1", "1", "-1", "3"},
					restarted(t, d.FS(), always, "exists x y l", "get n", "get old", "get kept", "ttl kept",
						"dbsize"))
			})
		}
	}
}

// Nothing of an EXEC is kept either, and the commands after the script do not run.
func TestHalfATransactionIsNotLogged(t *testing.T) {
	for name, script := range map[string]string{
		"that wrote":     plainHalf,
		"that only read": "redis.call('get','x') while true do end",
		"function":       "",
	} {
		t.Run(name, func(t *testing.T) {
			d := crashdisk.New(1)
			x := newEndlessOn(t, d.FS(), always...)
			require.Equal(t, "half", show(x.other.Do(words("function", "load", halfLibrary))))
			require.Equal(t, "OK", do(x.other, "set n 1"))
			s := newSession(t, x.engine)
			for _, line := range []string{"multi", "set a 1", "incr n"} {
				do(s, line)
			}
			if script == "" {
				do(s, "fcall half 0")
			} else {
				s.Do(words("eval", script, "0"))
			}
			require.Equal(t, "QUEUED", do(s, "set b 1"))
			x.runIn(s, "exec")
			x.engine.End()
			require.Contains(t, <-x.reply,
				"EXECABORT Transaction discarded because of: Script killed by user")
			require.Equal(t, "(nothing)", do(s, "get a"))
			require.NoError(t, x.engine.Close())
			require.Equal(t, []string{"0", "1"}, restarted(t, d.FS(), always, "exists a b x y", "get n"))
		})
	}
}

// A script that has not written delays nothing: other sessions go on, and saving works.
func TestCutReaderTearsNothing(t *testing.T) {
	d := crashdisk.New(1)
	directives := append([]string{"--save", "3600 1"}, always...)
	x := newEndlessOn(t, d.FS(), directives...)
	require.Equal(t, "OK", do(x.other, "set n 1"))
	s := newSession(t, x.engine)
	do(s, "multi")
	s.Do(words("eval", "redis.call('del','nothing') while true do end", "0"))
	do(s, "set b 1")
	x.runIn(s, "exec")
	x.engine.End()
	require.Contains(t, <-x.reply, "EXECABORT")
	require.Equal(t, "[1 (nil)]", do(x.other, "mget n b"))
	require.Equal(t, "OK", do(x.other, "set after 1"))
	require.NoError(t, x.engine.Close())
	require.Equal(t, []string{"1", "1", "2"},
		restarted(t, d.FS(), directives, "get n", "get after", "dbsize"))
	require.Equal(t, []string{"2"}, restarted(t, d.FS(), []string{"--save", "3600 1"}, "dbsize"),
		"dump.rdb was written")
}

// Commands on other shards complete, are answered and kept.
func TestOtherShardsGoOn(t *testing.T) {
	d := crashdisk.New(1)
	x := newEndlessOn(t, d.FS(), always...)
	x.run(t, "eval", ownKeysHalf, "2", "x", "y")
	x.engine.End()
	require.Contains(t, <-x.reply, killed)
	elsewhere := "other"
	for store.ShardOf([]byte(elsewhere))&(store.ShardOf([]byte("x"))|store.ShardOf([]byte("y"))) != 0 {
		elsewhere += "r" // which shard a key has differs from process to process
	}
	require.Equal(t, "OK", do(x.other, "set "+elsewhere+" 1"))
	require.NoError(t, x.other.WaitDurable())
	require.Equal(t, "(nothing)", do(x.other, "set x 1"))
	require.NoError(t, x.engine.Close())
	require.Equal(t, []string{"1", "1"}, restarted(t, d.FS(), always, "get "+elsewhere, "dbsize"))
}

// A waiter is not served with elements that half a script has pushed.
func TestWaitersAreNotServedHalf(t *testing.T) {
	d := crashdisk.New(1)
	x := newEndlessOn(t, d.FS(), always...)
	waiter := newSession(t, x.engine)
	require.Equal(t, "(nothing)", do(waiter, "blpop l 0"))
	x.run(t, "eval", "redis.call('rpush','l','a') while true do end", "0")
	x.engine.End()
	require.Contains(t, <-x.reply, killed)
	require.False(t, waiter.Ready())
	require.NoError(t, x.engine.Close())
	require.Equal(t, []string{"0"}, restarted(t, d.FS(), always, "dbsize"))
}

// No snapshot holds half a script: without a log the last one stays.
func TestHalfAScriptIsNotSaved(t *testing.T) {
	for name, c := range map[string]struct {
		directives []string
		failed     bool
		want       []string
	}{
		"save points": {[]string{"--save", "3600 1"}, true, []string{"0", "1", "0"}},
		"save points and log": {
			append([]string{"--save", "3600 1"}, always...), false,
			[]string{"0", "1", "1"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := crashdisk.New(1)
			x := newEndlessOn(t, d.FS(), c.directives...)
			saver := &client{Session: x.other}
			require.Equal(t, "OK", do(x.other, "set saved 1"))
			require.NoError(t, x.engine.PrepareShutdown(nil))
			require.Equal(t, "OK", saver.do("set later 1"))
			x.run(t, "eval", plainHalf, "0")
			x.engine.End()
			require.Contains(t, <-x.reply, killed)
			err := x.engine.Close()
			require.Equal(t, c.failed, err != nil, "%v", err)
			require.Equal(t, c.want, restarted(t, d.FS(), c.directives, "exists x y", "get saved",
				"exists later"))
			require.Equal(t, []string{"0", "1", "0"},
				restarted(t, d.FS(), []string{"--save", "3600 1"}, "exists x y", "get saved", "exists later"))
		})
	}
}

// A script that ends by itself is whole, even if an end was requested meanwhile.
func TestWholeScriptAtTheEndIsKept(t *testing.T) {
	d := crashdisk.New(1)
	x := newEndlessOn(t, d.FS(), "--appendonly", "yes", "--appendfsync", "always", "--busy-reply-threshold",
		"0")
	x.engine.End() // it never gets late
	require.Equal(t, "1",
		show(x.other.Do(words("eval",
			"redis.call('set','x',1) for i=1,1e5 do end redis.call('set','y',1) return 1", "0"))))
	require.NoError(t, x.engine.Close())
	require.Equal(t, []string{"2"}, restarted(t, d.FS(), always, "exists x y"))
}

// PrepareShutdown waits for a script that has written until its channel is closed, and
// kills scripts that have not.
func TestPrepareShutdownWaits(t *testing.T) {
	d := crashdisk.New(1)
	saving := []string{"--save", "3600 1"}
	x := newEndlessOn(t, d.FS(), saving...)
	require.Equal(t, "OK", do(x.other, "set n 1"))
	x.run(t, "eval", "while true do end redis.call('set','y',1)", "0")
	require.NoError(t, x.engine.SaveAtSignal())
	require.Contains(t, <-x.reply, killed)

	require.Equal(t, "OK", do(x.other, "set n 2"))
	x.run(t, "eval", plainHalf, "0")
	insist, saved := make(chan struct{}), make(chan error, 1)
	go func() { saved <- x.engine.PrepareShutdown(insist) }()
	close(insist)
	require.Error(t, <-saved)
	x.engine.End()
	require.Contains(t, <-x.reply, killed)
	require.Error(t, x.engine.Close())
	require.Equal(t, []string{"1", "1"}, restarted(t, d.FS(), saving, "get n", "dbsize"))
}

// An EXEC that has written is not killed for a save, even if its script only reads.
func TestPrepareShutdownWaitsForExec(t *testing.T) {
	d := crashdisk.New(1)
	saving := []string{"--save", "3600 1"}
	x := newEndlessOn(t, d.FS(), saving...)
	s := newSession(t, x.engine)
	do(s, "multi")
	do(s, "set a 1")
	s.Do(words("eval", "while true do end", "0"))
	x.runIn(s, "exec")
	insist, saved := make(chan struct{}), make(chan error, 1)
	go func() { saved <- x.engine.PrepareShutdown(insist) }()
	close(insist)
	require.Error(t, <-saved)
	require.True(t, strings.HasPrefix(do(x.other, "get a"), "BUSY"), "it goes on")
	x.engine.End()
	require.Contains(t, <-x.reply, "EXECABORT")
	require.NoError(t, x.engine.Close(), "nothing has changed that is whole")
	require.Equal(t, []string{"0"}, restarted(t, d.FS(), saving, "dbsize"))
}

// With a log, saving at the end waits for no script.
func TestPrepareShutdownWithALog(t *testing.T) {
	d := crashdisk.New(1)
	directives := append([]string{"--save", "3600 1"}, always...)
	x := newEndlessOn(t, d.FS(), directives...)
	require.Equal(t, "OK", do(x.other, "set n 1"))
	x.run(t, "eval", plainHalf, "0")
	require.NoError(t, x.engine.PrepareShutdown(nil))
	x.engine.End()
	require.Contains(t, <-x.reply, killed)
	require.NoError(t, x.engine.Close())
	require.Equal(t, []string{"1", "1"}, restarted(t, d.FS(), directives, "get n", "dbsize"))
}
