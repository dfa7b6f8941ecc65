package engine_test

import (
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

const (
	misconfLog  = "MISCONF Errors writing to the AOF file: No space left on device"
	misconfSave = "MISCONF Redis is configured to save RDB snapshots, but it's currently unable to " +
		"persist to disk."
)

// full makes every operation of a kind fail as on a full disk, on files whose names
// contain part.
func full(d *crashdisk.Disk, kind crashdisk.Kind, part string) {
	d.Hook(func(op crashdisk.Op) crashdisk.Fault {
		if op.Kind == kind && strings.Contains(op.Name, part) {
			return crashdisk.Fault{Err: syscall.ENOSPC}
		}
		return crashdisk.Fault{}
	})
}

// TestWritesAreRefusedWhileTheLogFails checks that reads and peeks go on, and that the
// log recovers by itself.
func TestWritesAreRefusedWhileTheLogFails(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, always...)
	c := p.client(t)
	require.Equal(t, "OK", c.do("SET k v"))
	require.NoError(t, c.WaitDurable())
	require.Equal(t, "OK", c.do("MULTI"))
	require.Equal(t, "QUEUED", c.do("INCR n"))

	full(d, crashdisk.Write, "incr")
	w := p.client(t)
	require.Equal(t, "OK", w.do("SET lost 1"))
	require.ErrorIs(t, w.WaitDurable(), syscall.ENOSPC, "it must not be answered")

	require.Equal(t, "EXECABORT Transaction discarded because of: "+misconfLog, c.do("EXEC"))
	for _, line := range []string{
		"SET k w", "RL.ALLOW u 3 60000", "PING", "DEL k",
		"EVAL return{redis.call('DEL','k')} 0", "FLUSHALL",
	} {
		require.Contains(t, c.do(line), misconfLog, line)
	}
	require.Equal(t, misconfLog, doWords(c.Session, "EVAL", "#!lua\nreturn 1", "0"), "it says that it writes")
	require.Equal(t, "1", doWords(c.Session, "EVAL", "#!lua flags=no-writes\nreturn 1", "0"))
	for line, want := range map[string]string{
		"GET k": "v", "RL.ALLOW u 3 60000 PEEK": "[1 3 3 0 0]", "EVAL return{redis.call('GET','k')} 0": "[v]",
		"ZADD k": "ERR wrong number of arguments for 'zadd' command",
	} {
		require.Equal(t, want, c.do(line), line)
		require.NoError(t, c.WaitDurable(), "it has written nothing")
	}
	require.Contains(t, c.do("INFO persistence"), "aof_last_write_status:err\r\n")
	require.Error(t, p.Facts().Storage().LogErr)

	d.Hook(nil)
	for w.WaitDurable() != nil {
		p.hands.pass(1000)
		p.Tick()
	}
	require.Equal(t, "OK", c.do("SET k w"))
	require.NoError(t, c.WaitDurable())
	require.Equal(t, "PONG", c.do("PING"))
	require.Contains(t, c.do("INFO persistence"), "aof_last_write_status:ok\r\n")
	require.NoError(t, p.Close())
	p = start(t, d.FS(), 0, always...)
	require.Equal(t, "[w 1]", p.client(t).do("MGET k lost"))
	require.NoError(t, p.Close())
}

func TestWritesAreRefusedWhileSavesFail(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, "--save", "10 1")
	c := p.client(t)
	require.Equal(t, "OK", c.do("SAVE"))
	for _, fail := range []func(){
		func() { full(d, crashdisk.Rename, "dump.rdb") },
		func() { full(d, crashdisk.Sync, "temp-") },
	} {
		fail()
		require.Equal(t, "ERR", c.do("SAVE"))
		require.NotContains(t, strings.Join(d.Names(), " "), "temp-", "it is removed")
	}
	require.Equal(t, "ERR Errors trying to SHUTDOWN. Check logs.", c.do("SHUTDOWN SAVE"))
	require.Contains(t, c.do("INFO persistence"), "rdb_last_bgsave_status:ok\r\n")
	require.Equal(t, "OK", c.do("SET k v"), "only BGSAVE says that changes cannot be kept")
	require.Equal(t, "1", c.do("DEL k"))
	require.Equal(t, "Background saving started", c.do("BGSAVE"))
	c.awaitInfo("rdb_bgsave_in_progress:0")
	require.Contains(t, c.do("INFO persistence"), "rdb_last_bgsave_status:err\r\n")
	require.Contains(t, c.do("SET k v"), misconfSave)
	d.Hook(nil)
	require.Equal(t, "OK", c.do("SAVE"))
	require.Equal(t, "OK", c.do("SET k v"), "a SAVE that succeeds says that they can")
	require.Equal(t, "1", c.do("DEL k"))
	full(d, crashdisk.Sync, "temp-")
	require.Equal(t, "Background saving started", c.do("BGSAVE"))
	c.awaitInfo("rdb_bgsave_in_progress:0")
	require.Contains(t, c.do("SET k v"), misconfSave)
	require.Equal(t, "(nil)", c.do("GET k"))
	require.Equal(t, "OK", c.do("CONFIG SET stop-writes-on-bgsave-error no"))
	require.Equal(t, "OK", c.do("SET k v"))
	require.Equal(t, "OK", c.do("CONFIG SET stop-writes-on-bgsave-error yes"))
	require.Contains(t, c.do("SET k w"), misconfSave)
	require.Equal(t, "ERR Errors trying to SHUTDOWN. Check logs.", c.do("SHUTDOWN SAVE"))

	d.Hook(nil)
	p.hands.pass(20_000) // the save point, and long enough since the last try
	p.Tick()
	c.awaitInfo("rdb_last_bgsave_status:ok")
	require.Equal(t, "OK", c.do("SET k w"))
	require.NoError(t, p.Close())
	p = start(t, d.FS(), 0)
	require.Equal(t, "w", p.client(t).do("GET k"), "saved at the end")
	require.NoError(t, p.Close())
}

// TestAlwaysWaitsForTheDisk checks that no reply is sent before the sync, neither to the
// client that has written nor to one that has read the change.
func TestAlwaysWaitsForTheDisk(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, always...)
	writer, reader := p.client(t), p.client(t)
	syncing, goOn := make(chan struct{}), make(chan struct{})
	d.Hook(func(op crashdisk.Op) crashdisk.Fault {
		if op.Kind == crashdisk.Sync && strings.Contains(op.Name, "incr") {
			syncing <- struct{}{}
			<-goOn
		}
		return crashdisk.Fault{}
	})
	require.Equal(t, "1", writer.do("INCR n"))
	require.Equal(t, "1", reader.do("GET n"))
	kept := make(chan error, 2)
	for _, c := range []*client{writer, reader} {
		go func() { kept <- c.WaitDurable() }()
	}
	<-syncing
	require.Empty(t, kept)
	d.Hook(nil)
	close(goOn)
	require.NoError(t, <-kept)
	require.NoError(t, <-kept)
	require.Equal(t, "OK", writer.do("CONFIG SET appendfsync everysec"))
	full(d, crashdisk.Sync, "incr")
	writer.do("INCR n")
	require.NoError(t, writer.WaitDurable(), "everysec promises nothing at once")
	d.Hook(nil)
	_ = p.Close()
}

// TestServedReplyWaitsForTheDisk checks that a waiter that another client's push has
// served is answered once that is on disk.
func TestServedReplyWaitsForTheDisk(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, always...)
	waiting, pushing := p.client(t), p.client(t)
	require.Equal(t, "(nothing)", show(waiting.Do(args("BLPOP l 0"))))
	full(d, crashdisk.Write, "incr")
	require.Equal(t, "1", pushing.do("RPUSH l a"))
	require.Equal(t, "[l a]", show(waiting.Resume()))
	require.Error(t, waiting.WaitDurable())
	d.Hook(nil)
	_ = p.Close()
}

// TestMessagesWaitForTheirCommand checks that the messages of a script are sent when its
// effects are in the log, not while it runs.
func TestMessagesWaitForTheirCommand(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, always...)
	listener, writer := p.client(t), p.client(t)
	listener.do("SUBSCRIBE news")
	listener.Deliver(nil)
	heard := make(chan string, 1)
	go func() {
		<-listener.woke
		b, _ := listener.Deliver(nil)
		_ = listener.WaitDurable()
		heard <- string(b) + string(d.Bytes("appendonlydir/appendonly.aof.1.incr.aof"))
	}()
	writer.Do([][]byte{
		[]byte("EVAL"),
		[]byte("redis.call('SET','k','v') redis.call('PUBLISH','news','told') for i=1,3e6 do end"),
		[]byte("0"),
	})
	got := <-heard
	require.Contains(t, got, "told")
	require.Contains(t, got, "SET", "the message came before what precedes it was on disk")
	require.NoError(t, p.Close())
}

// TestWaitAOFSurvivesFaults checks that WAITAOF asks the present log, and is answered
// when a failed disk works again.
func TestWaitAOFSurvivesFaults(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, always...)
	c, o := p.client(t), p.client(t)
	for range 9 {
		c.do("SET k v")
	}
	o.do("CONFIG SET appendonly no")
	await := func(want string) {
		for !strings.Contains(o.do("INFO persistence"), want) {
			runtime.Gosched()
		}
	}
	await("aof_enabled:0")
	for o.do("CONFIG SET appendonly yes") != "OK" { // the log of before is being closed
		runtime.Gosched()
	}
	await("aof_rewrite_in_progress:0")
	require.Equal(t, "[1 0]", c.do("WAITAOF 1 0 0"), "it has written to another log")

	full(d, crashdisk.Write, "incr")
	c.do("SET k w")
	require.Error(t, c.WaitDurable())
	c.Do(args("WAITAOF 1 0 0"))
	require.NotNil(t, c.Blocked())
	d.Hook(nil)
	for !c.Ready() {
		p.hands.pass(1000)
		p.Tick()
		runtime.Gosched()
	}
	require.Equal(t, "[1 0]", show(c.Resume()))
	require.NoError(t, p.Close())
}

// TestLogOffAndOnAgain checks that neither a sync of the closed log nor a rewrite in
// progress keeps the log from being switched on again.
func TestLogOffAndOnAgain(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), 0, always...)
	c := p.client(t)
	for range 20 {
		c.do("SET k v")
		require.Equal(t, "OK", c.do("CONFIG SET appendonly no"))
		require.Equal(t, "OK", c.do("CONFIG SET appendonly yes"))
		for !strings.Contains(c.do("INFO persistence"), "aof_rewrite_in_progress:0") {
			runtime.Gosched()
		}
		c.do("CONFIG SET appendonly no")
		c.do("BGREWRITEAOF")
		for !strings.Contains(c.do("INFO persistence"), "aof_rewrite_in_progress:0") {
			runtime.Gosched()
		}
		require.Equal(t, "OK", c.do("CONFIG SET appendonly yes"))
		for !strings.Contains(c.do("INFO persistence"), "aof_rewrite_in_progress:0") {
			runtime.Gosched()
		}
	}
	c.do("SET k last")
	require.NoError(t, c.WaitDurable())
	require.NoError(t, p.Close())
	p = start(t, d.FS(), 0, always...)
	require.Equal(t, "last", p.client(t).do("GET k"))
	require.NoError(t, p.Close())
}
