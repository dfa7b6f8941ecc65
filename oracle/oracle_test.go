package oracle

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/testca"
)

const testNowMs = 1_700_000_000_123

// startForTest starts Redis, or skips the test if it is not installed: the suite must
// pass on a machine that has only Go.
func startForTest(t *testing.T, args ...string) *Redis {
	t.Helper()
	if err := Find(); err != nil {
		t.Skip(err)
	}
	r, err := Start(Options{NowMs: testNowMs, Args: args})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	return r
}

func ask(t *testing.T, r *Redis, line string) any {
	t.Helper()
	reply, err := r.ask(line)
	require.NoError(t, err, line)
	return reply
}

func TestClockStopsAtEveryMillisecond(t *testing.T) {
	r := startForTest(t)
	for _, nowMs := range []int64{
		testNowMs, 1_700_000_000_999, 1_700_000_001_000, 1_700_000_001_001,
		1_700_000_001_290, 1_700_000_001_577, 1_709_210_096_789, 4_102_444_800_000, testNowMs,
	} {
		require.NoError(t, r.SetClock(nowMs))
		want := []any{fmt.Sprint(nowMs / 1000), fmt.Sprint(nowMs % 1000 * 1000)}
		require.Equal(t, want, ask(t, r, "TIME"))
		require.Equal(t, want, ask(t, r, "EVAL 'return redis.call(\"TIME\")' 0"))
	}
}

func TestKeyExpiresOneMillisecondPastItsDeadline(t *testing.T) {
	r := startForTest(t)
	ask(t, r, "SET k v PX 1000")
	require.Equal(t, int64(1000), ask(t, r, "PTTL k"))
	require.NoError(t, r.SetClock(testNowMs+999))
	require.Equal(t, int64(1), ask(t, r, "PTTL k"))
	require.NoError(t, r.SetClock(testNowMs+1000))
	require.Equal(t, int64(0), ask(t, r, "PTTL k"))
	require.Equal(t, "v", ask(t, r, "GET k"))
	require.NoError(t, r.SetClock(testNowMs+1001))
	require.Equal(t, int64(1), ask(t, r, "DBSIZE"), "before the key is read")
	require.Equal(t, int64(-2), ask(t, r, "PTTL k"))
	require.Equal(t, int64(0), ask(t, r, "DBSIZE"))
}

func TestReclaimRemovesExpiredKeys(t *testing.T) {
	r := startForTest(t)
	for i := range 100 {
		ask(t, r, fmt.Sprintf("SET k%d v PX %d", i, i*10+10))
	}
	require.NoError(t, r.SetClock(testNowMs+501))
	require.Equal(t, int64(100), ask(t, r, "DBSIZE"))
	require.NoError(t, r.Reclaim())
	require.Equal(t, int64(50), ask(t, r, "DBSIZE"))
}

func TestClockMovesWithPassword(t *testing.T) {
	r := startForTest(t, "--requirepass", "secret")
	require.NoError(t, r.SetClock(testNowMs+5))
	c, err := r.dial()
	require.NoError(t, err)
	_, err = c.ask("AUTH secret")
	require.NoError(t, err)
	reply, err := c.ask("TIME")
	require.NoError(t, err)
	require.Equal(t, []any{"1700000000", "128000"}, reply)
	require.NoError(t, c.quit())
}

func TestCloseCleansUp(t *testing.T) {
	r := startForTest(t)
	pid := r.cmd.Process.Pid
	require.NoError(t, r.Close())
	require.NoError(t, r.Close())
	require.NoDirExists(t, r.dir)
	left, err := filepath.Glob(fmt.Sprintf("/dev/shm/*faketime*_%d", pid))
	require.NoError(t, err)
	require.Empty(t, left)
	_, err = r.dial()
	require.Error(t, err)
}

func TestSecondsAreRefused(t *testing.T) {
	_, err := Start(Options{NowMs: 1_700_000_000})
	require.ErrorContains(t, err, "NowMs 1700000000 is below")
}

func TestFindReportsMissingPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	require.ErrorContains(t, Find(), "no redis-server in PATH")
	require.Empty(t, findLibrary([]string{filepath.Join(t.TempDir(), "*.so")}))
}

func TestFindRefusesAnotherVersion(t *testing.T) {
	dir := t.TempDir()
	fake := "#!/bin/sh\necho 'Redis server v=6.2.1 sha=0'\n"
	require.NoError(t, os.WriteFile(filepath.Join(dir, "redis-server"), []byte(fake), 0o700))
	t.Setenv("PATH", dir)
	require.ErrorContains(t, Find(), "redis-server 7.0 is wanted, found Redis server v=6.2.1")
}

func TestFailedStartShowsRedisLog(t *testing.T) {
	if err := Find(); err != nil {
		t.Skip(err)
	}
	_, err := Start(Options{NowMs: testNowMs, Args: []string{"--no-such-directive", "1"}})
	require.ErrorContains(t, err, "no-such-directive")
}

// TestRealTime checks that a server with RealTime follows the system's clock and that
// Wait returns after SHUTDOWN.
func TestRealTime(t *testing.T) {
	if err := FindRealTime(); err != nil {
		t.Skip(err)
	}
	r, err := Start(Options{RealTime: true})
	require.NoError(t, err)
	defer func() { require.NoError(t, r.Close()) }()
	before := time.Now().Unix()
	conn, err := r.Dial()
	require.NoError(t, err)
	_, err = io.WriteString(conn, "TIME\r\n")
	require.NoError(t, err)
	reply, err := readReply(bufio.NewReader(conn))
	require.NoError(t, err)
	seconds, err := strconv.ParseInt(reply.([]any)[0].(string), 10, 64)
	require.NoError(t, err)
	require.GreaterOrEqual(t, seconds, before)
	require.LessOrEqual(t, seconds, time.Now().Unix())
	_, err = io.WriteString(conn, "SHUTDOWN NOSAVE\r\n")
	require.NoError(t, err)
	r.Wait()
}

// TestCloseEndsChildren checks that Close does not wait for a child, which has the log open.
func TestCloseEndsChildren(t *testing.T) {
	if err := FindRealTime(); err != nil {
		t.Skip(err)
	}
	r, err := Start(Options{RealTime: true, Args: []string{"--rdb-key-save-delay", "600000000"}})
	require.NoError(t, err)
	conn, err := r.Dial()
	require.NoError(t, err)
	defer conn.Close()
	_, err = io.WriteString(conn, "DEBUG POPULATE 1000\r\nBGSAVE\r\n")
	require.NoError(t, err)
	for in := bufio.NewReader(conn); ; {
		line, err := in.ReadString('\n')
		require.NoError(t, err)
		if strings.HasPrefix(line, "+Background saving started") {
			break
		}
	}
	require.NoError(t, r.Close())
}

// TestTakenPorts: another program may take either port before redis-server binds it. Then others are tried.
func TestTakenPorts(t *testing.T) {
	if err := FindRealTime(); err != nil {
		t.Skip("there is no redis-server on this machine to start: ", err)
	}
	dir := t.TempDir()
	ca, err := testca.New("ca")
	require.NoError(t, err)
	caFile, err := ca.Write(dir, "ca")
	require.NoError(t, err)
	pair, err := ca.Issue(testca.Leaf{Name: "redis"})
	require.NoError(t, err)
	certFile, keyFile, err := pair.Write(dir, "redis")
	require.NoError(t, err)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	free := freePort
	defer func() { freePort = free }()
	for which := 1; which <= 2; which++ {
		asked := 0
		freePort = func() (int, error) {
			if asked++; asked == which {
				return taken.Addr().(*net.TCPAddr).Port, nil
			}
			return free()
		}
		r, err := Start(Options{RealTime: true, TLS: true, Args: []string{
			"--tls-cert-file", certFile, "--tls-key-file", keyFile, "--tls-ca-cert-file", caFile,
			"--tls-port", "0",
		}})
		require.NoError(t, err, which)
		require.Equal(t, 4, asked)
		c, err := net.Dial("tcp", r.TLSAddr())
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NoError(t, r.Close())
	}
}
