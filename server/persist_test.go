package server_test

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/server"
)

// startWithDisk runs a server on fs until end is called.
func startWithDisk(t *testing.T, fs disk.FS, directives ...string) (srv *server.Server, end func() error) {
	t.Helper()
	directives = append([]string{"--bind", "127.0.0.1"}, directives...)
	srv, served := serve(t, server.Options{Disk: fs}, directives...)
	return srv, func() error { return errors.Join(srv.Close(), <-served) }
}

// connectLoaded connects a client and waits until the server has loaded.
func connectLoaded(t *testing.T, srv *server.Server) *wire {
	t.Helper()
	c := connect(t, srv)
	eventually(t, func() bool { return c.call(t, "PING") == "+PONG" }, func() {})
	return c
}

var fsyncAlways = []string{"--appendonly", "yes", "--appendfsync", "always"}

// TestRepliesWaitForSync: under always, replies to the writer and to readers of the
// change, and messages to subscribers, are sent only after the sync.
func TestRepliesWaitForSync(t *testing.T) {
	t.Parallel()
	d := crashdisk.New(1)
	srv, end := startWithDisk(t, d.FS(), fsyncAlways...)
	writer, reader, listener := connectLoaded(t, srv), connectLoaded(t, srv), connectLoaded(t, srv)
	listener.call(t, "SUBSCRIBE", "news")

	syncing, resume := make(chan struct{}, 1), make(chan struct{})
	d.Hook(func(op crashdisk.Op) crashdisk.Fault {
		if op.Kind == crashdisk.Sync && strings.Contains(op.Name, "incr") {
			select {
			case syncing <- struct{}{}:
			default:
			}
			<-resume
		}
		return crashdisk.Fault{}
	})
	require.NoError(t, writer.sendRaw([]byte("INCR n\r\nPUBLISH news 1\r\n")))
	<-syncing
	require.NoError(t, reader.sendRaw([]byte("GET n\r\n")))
	arrived := make(chan string, 3)
	for _, w := range []*wire{writer, reader, listener} {
		go func() {
			reply, err := w.readReply()
			if err == nil {
				arrived <- string(reply)
			} else {
				arrived <- err.Error()
			}
		}()
	}
	select {
	case reply := <-arrived:
		require.Fail(t, "a reply before the sync", reply)
	default:
	}
	close(resume)
	var got []string
	for range 3 {
		got = append(got, strings.TrimSpace(<-arrived))
	}
	require.ElementsMatch(t, []string{":1", "$1\r\n1", "*3\r\n$7\r\nmessage\r\n$4\r\nnews\r\n$1\r\n1"}, got)
	require.NoError(t, end())
}

// TestLoopGoesOnDuringSync has a disk that hangs in a sync, on the loop's own goroutine. What another client
// of the same loop sends meanwhile runs, and is written.
func TestLoopGoesOnDuringSync(t *testing.T) {
	t.Parallel()
	d := crashdisk.New(1)
	srv, end := startWithDisk(t, d.FS(), append([]string{"--io-loops", "1"}, fsyncAlways...)...)
	first, second := connectLoaded(t, srv), connectLoaded(t, srv)
	ops, resume := make(chan crashdisk.Kind, 100), make(chan struct{})
	d.Hook(func(op crashdisk.Op) crashdisk.Fault {
		if strings.Contains(op.Name, "incr") {
			ops <- op.Kind
			if op.Kind == crashdisk.Sync {
				<-resume
			}
		}
		return crashdisk.Fault{}
	})
	require.NoError(t, first.sendRaw([]byte("SET a 1\r\n")))
	require.Equal(t, crashdisk.Write, <-ops)
	require.Equal(t, crashdisk.Sync, <-ops)
	require.NoError(t, second.sendRaw([]byte("SET b 2\r\n")))
	require.Equal(t, crashdisk.Write, <-ops)
	close(resume)
	for _, w := range []*wire{first, second} {
		reply, err := w.readReply()
		require.NoError(t, err)
		require.Equal(t, "+OK", strings.TrimSpace(string(reply)))
	}
	require.NoError(t, end())
}

// TestNoReplyIfSyncFails: a client whose change cannot be written is disconnected
// without a reply. Others can still read.
func TestNoReplyIfSyncFails(t *testing.T) {
	t.Parallel()
	d := crashdisk.New(1)
	srv, end := startWithDisk(t, d.FS(), fsyncAlways...)
	writer, reader := connectLoaded(t, srv), connectLoaded(t, srv)
	d.Hook(func(op crashdisk.Op) crashdisk.Fault {
		if op.Kind == crashdisk.Write && strings.Contains(op.Name, "incr") {
			return crashdisk.Fault{Err: syscall.EROFS}
		}
		return crashdisk.Fault{}
	})
	require.NoError(t, writer.sendRaw([]byte("SET k v\r\n")))
	require.Zero(t, writer.awaitClose(t), "no reply")
	require.Equal(t, "$1\r\nv", reader.call(t, "GET", "k"))
	require.Equal(t, "-MISCONF Errors writing to the AOF file: Read-only file system",
		reader.call(t, "SET", "k", "w"))
	d.Hook(nil)
	eventually(t, func() bool { return reader.call(t, "SET", "k", "w") == "+OK" }, func() {})
	require.NoError(t, end())
}

// TestFailedLoadStopsServer: the error names the file, and nothing is served from a
// partial load.
func TestFailedLoadStopsServer(t *testing.T) {
	t.Parallel()
	d := crashdisk.New(1)
	d.Put("dump.rdb", []byte("REDIS0010 and nonsense"))
	cfg := config.New()
	srv, err := server.Listen(server.Options{Config: cfg, FreePort: true, Disk: d.FS()})
	require.NoError(t, err)
	require.ErrorContains(t, srv.Serve(), "--check-rdb dump.rdb")
	require.True(t, srv.LoadFailed())
}

// TestLoadingByDebug checks what other clients are answered while DEBUG RELOAD and LOADAOF take long.
func TestLoadingByDebug(t *testing.T) {
	t.Parallel()
	const loading = "-LOADING Redis is loading the dataset in memory"
	begin := func(t *testing.T, d *crashdisk.Disk, begin string) (c *wire, end func() error) {
		t.Helper()
		directives := append([]string{
			"--enable-debug-command", "yes", "--enable-protected-configs", "yes",
			"--busy-reply-threshold", "1",
		}, fsyncAlways...)
		srv, end := startWithDisk(t, d.FS(), directives...)
		c = connectLoaded(t, srv)
		c.call(t, "SET", "k", "v")
		c.call(t, "CONFIG", "SET", "key-load-delay", "1000000000")
		d.Put("appendonlydir/appendonly.aof.1.incr.aof",
			[]byte("*3\r\n$4\r\nEVAL\r\n$17\r\nwhile true do end\r\n$1\r\n0\r\n"))
		require.NoError(t, connect(t, srv).sendRaw([]byte(begin+"\r\n")))
		return c, end
	}
	t.Run("RELOAD", func(t *testing.T) {
		t.Parallel()
		c, end := begin(t, crashdisk.New(1), "DEBUG RELOAD")
		for _, set := range []string{
			"appendonly no", "dir .", "dir /none", "appendonly x", "dir . nonsense 1", "dir . hz x",
			"hz 20 dir .",
		} {
			call := append([]string{"CONFIG", "SET"}, strings.Fields(set)...)
			eventually(t, func() bool { return c.call(t, call...) == loading }, func() {})
		}
		require.Contains(t, c.call(t, "CONFIG", "SET", "nonsense", "1", "dir", "."), "Unknown option")
		require.Equal(t, "+OK", c.call(t, "CONFIG", "SET", "hz", "20"))
		require.NoError(t, end())
	})
	t.Run("LOADAOF", func(t *testing.T) {
		t.Parallel()
		c, end := begin(t, crashdisk.New(1), "DEBUG LOADAOF")
		eventually(t, func() bool { return strings.HasPrefix(c.call(t, "INFO"), "-BUSY") }, func() {})
		require.Equal(t, loading, c.call(t, "GET", "k"))
		require.Equal(t, loading, c.call(t, "SCRIPT", "KILL"))
		require.NoError(t, end())
	})
}
