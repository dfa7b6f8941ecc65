package engine_test

import (
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
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

// TestAlwaysWaitsForTheDisk checks that no reply is sent before the sync, neither to the
// client that has written nor to one that has read the change.
func TestAlwaysWaitsForTheDisk(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), always...)
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
	_ = p.Close()
}

// TestMessagesWaitForTheirCommand checks that the messages of a script are sent when its
// effects are in the log, not while it runs.
func TestMessagesWaitForTheirCommand(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), always...)
	listener, writer := p.client(t), p.client(t)
	listener.do("SUBSCRIBE news")
	listener.Deliver(nil)
	heard := make(chan string, 1)
	go func() {
		<-listener.woken
		b, _ := listener.Deliver(nil)
		_ = listener.WaitDurable()
		heard <- string(b) + string(d.Bytes("appendonlydir/appendonly.aof.1.incr.aof"))
	}()
	doWords(writer.Session, "EVAL",
		"redis.call('SET','k','v') redis.call('PUBLISH','news','told') for i=1,3e6 do end", "0")
	got := <-heard
	require.Contains(t, got, "told")
	require.Contains(t, got, "SET", "the message came before what precedes it was on disk")
	require.NoError(t, p.Close())
}

// TestWaitAOFSurvivesFaults checks that WAITAOF asks the present log, and is answered
// when a failed disk works again.
func TestWaitAOFSurvivesFaults(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), always...)
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
	require.Error(t, p.Facts().Storage().LogErr)
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
	p := start(t, d.FS(), always...)
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
	p = start(t, d.FS(), always...)
	require.Equal(t, "last", p.client(t).do("GET k"))
	require.NoError(t, p.Close())
}
