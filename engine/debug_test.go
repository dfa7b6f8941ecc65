package engine_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

const debugOn = "--enable-debug-command yes"

func startDebug(t *testing.T, d *crashdisk.Disk, directives string) *process {
	t.Helper()
	return start(t, d.FS(), 0, strings.Fields(debugOn+" "+directives)...)
}

// loadLibrary loads a library of one function.
func loadLibrary(c *client, name string) {
	doWords(c.Session, "FUNCTION", "LOAD", "#!lua name="+name+"\nredis.register_function('"+name+
		"', function() end)")
}

// TestDebugReload: the replies are those of redis-server 7.0.15.
func TestDebugReload(t *testing.T) {
	d := crashdisk.New(1)
	p := startDebug(t, d, "")
	c := p.client(t)
	for _, tc := range []struct{ call, want string }{
		{"DEBUG RELOAD NOSAVE", "ERR Error trying to load the RDB dump"},
		{"SET s abc", "OK"},
		{"SET e abc PX 5000", "OK"},
		{"HSET h f v", "1"},
		{"RL.ALLOW l 5 60s", "[1 5 4 60000 0]"},
		{"SELECT 3", "OK"},
		{"SADD set 1 2", "2"},
		{"SELECT 0", "OK"},
		{"FUNCTION LOAD #!lua\tname=f\n", "ERR No functions registered"},
		{"DEBUG RELOAD", "OK"},
		{"debug reload NoSave", "OK"},
		{"MGET s e", "[abc abc]"},
		{"PTTL e", "5000"},
		{"HGET h f", "v"},
		{"RL.ALLOW l 5 60s", "[1 5 3 60000 0]"},
		{"SET more x", "OK"},
		{"DEBUG RELOAD NOSAVE", "OK"},
		{"GET more", "(nil)"},
		{"RL.ALLOW l 5 60s PEEK", "[1 5 3 60000 0]"},
		{"SET more x", "OK"},
		{"SET s other", "OK"},
		{"DEBUG RELOAD NOSAVE NOFLUSH", "ERR Error trying to load the RDB dump"},
		{"DEBUG RELOAD NOSAVE NOFLUSH MERGE", "OK"},
		{"MGET s more", "[abc x]"},
		{"SELECT 3", "OK"},
		{"SMEMBERS set", "[1 2]"},
		{"MULTI", "OK"},
		{"SET in exec", "QUEUED"},
		{"DEBUG RELOAD", "QUEUED"},
		{"GET in", "QUEUED"},
		{"EXEC", "[OK OK exec]"},
	} {
		got := c.do(tc.call)
		if strings.HasPrefix(tc.call, "RL.ALLOW") || strings.HasPrefix(tc.call, "FUNCTION") {
			continue // the digests below compare them
		}
		require.Equal(t, tc.want, got, tc.call)
	}
	counted, recounted := p.CountedMemory()
	require.Equal(t, recounted, counted)

	before := c.do("DEBUG DIGEST")
	p.hands.pass(6000)
	require.Equal(t, before, c.do("DEBUG DIGEST"), "a key has expired, and is not removed, as in Redis")
	require.Equal(t, "OK", c.do("DEBUG RELOAD"))
	require.Equal(t, "2", c.do("DBSIZE"), "expired keys are not loaded")
}

// TestDebugReloadLibraries: the replies are those of redis-server 7.0.15.
func TestDebugReloadLibraries(t *testing.T) {
	c := startDebug(t, crashdisk.New(1), "").client(t)
	loadLibrary(c, "a")
	require.Equal(t, "ERR Error trying to load the RDB dump", c.do("DEBUG RELOAD NOFLUSH"))
	require.Equal(t, "OK", c.do("DEBUG RELOAD NOFLUSH MERGE"))
	loadLibrary(c, "b")
	require.Equal(t, "ERR Error trying to load the RDB dump", c.do("DEBUG RELOAD NOSAVE NOFLUSH"))
	require.Equal(t, "OK", c.do("DEBUG RELOAD NOSAVE NOFLUSH MERGE"))
	require.Equal(t, "(nil)", c.do("FCALL b 0"))
	require.Equal(t, "OK", c.do("DEBUG RELOAD NOSAVE"))
	require.Equal(t, "ERR Function not found", c.do("FCALL b 0"))
	require.Equal(t, "(nil)", c.do("FCALL a 0"))
}

// TestDebugReloadKeepsTheLog: a reload is not recorded, and LOADAOF finds everything.
func TestDebugReloadKeepsTheLog(t *testing.T) {
	d := crashdisk.New(1)
	p := startDebug(t, d, "--appendonly yes")
	c := p.client(t)
	do(c.Session, "SET s abc EX 1000")
	loadLibrary(c, "kept")
	do(c.Session, "ZADD z 1 a 2.5 b")
	before := do(c.Session, "DEBUG DIGEST")
	for range 3 {
		require.Equal(t, "OK", do(c.Session, "DEBUG RELOAD"))
		require.Equal(t, before, do(c.Session, "DEBUG DIGEST"))
		require.Equal(t, "OK", do(c.Session, "DEBUG LOADAOF"))
		require.Equal(t, before, do(c.Session, "DEBUG DIGEST"))
	}
	require.Contains(t, do(c.Session, "DEBUG RELOAD NOSAVE"), "is refused while appendonly is on")
	require.Equal(t, "OK", do(c.Session, "DEBUG POPULATE 20 key 30"))
	before = do(c.Session, "DEBUG DIGEST")
	require.Equal(t, "OK", do(c.Session, "DEBUG LOADAOF"))
	require.Equal(t, before, do(c.Session, "DEBUG DIGEST"))
	require.Equal(t, "(nil)", do(c.Session, "FCALL kept 0"))
	do(c.Session, "SET after it")
	before = do(c.Session, "DEBUG DIGEST")
	require.NoError(t, p.Close())
	again := startDebug(t, d, "--appendonly yes")
	require.Equal(t, before, do(again.client(t).Session, "DEBUG DIGEST"))
	require.NoError(t, again.Close())
}

func TestDebugReloadErrors(t *testing.T) {
	e, _ := newEngine(t, strings.Fields(debugOn)...)
	s := newSession(t, e)
	do(s, "SET k v")
	require.Equal(t, "ERR", do(s, "DEBUG RELOAD"), "no directory")
	require.Equal(t, "ERR Error trying to load the RDB dump", do(s, "DEBUG RELOAD NOSAVE"))
	require.Equal(t, "ERR Error trying to load the AOF files, check server logs", do(s, "DEBUG LOADAOF"))

	d := crashdisk.New(1)
	p := startDebug(t, d, "")
	c := p.client(t)
	do(c.Session, "SET k v")
	d.SetCapacity(1)
	require.Equal(t, "ERR", do(c.Session, "DEBUG RELOAD"), "the disk is full")
	require.Equal(t, "v", do(c.Session, "GET k"))
	require.Empty(t, d.Names())
	require.Equal(t, "ERR Command not allowed inside a transaction", func() string {
		do(c.Session, "MULTI")
		return do(c.Session, "DEBUG LOADAOF")
	}())
}

func TestDebugSleep(t *testing.T) {
	p := startDebug(t, crashdisk.New(1), "")
	c := p.client(t)
	slept := func(seconds string) (us int64) {
		p.waits = nil
		require.Equal(t, "OK", do(c.Session, "DEBUG SLEEP "+seconds))
		for _, w := range p.waits {
			us += w
		}
		return us
	}
	require.EqualValues(t, 1_500_000, slept("1.5"))
	require.Zero(t, slept("0"))
	require.Zero(t, slept("-1"))
	require.Zero(t, slept("nan"))
	require.Zero(t, slept("many"))
	p.End()
	require.Zero(t, slept("1e300"), "the server ends")
}

// TestDebugNeedsPermission checks that DEBUG reveals nothing to a client that may not use
// it.
func TestDebugNeedsPermission(t *testing.T) {
	e, _ := newEngine(t)
	s := newSession(t, e)
	for _, call := range []string{
		"DEBUG FOO", "DEBUG HELP", "DEBUG DIGEST x", "DEBUG DIGEST", "DEBUG PANIC",
	} {
		require.Contains(t, do(s, call), "ERR DEBUG command not allowed.", call)
	}
}

// TestDebugLog: the message is one line of the log.
func TestDebugLog(t *testing.T) {
	p := startDebug(t, crashdisk.New(1), "")
	c := p.client(t)
	require.Equal(t, "OK", show(c.Do([][]byte{[]byte("DEBUG"), []byte("LOG"), []byte("a\nb")})))
	require.Contains(t, p.logged(), "DEBUG LOG: a b")
}
