//go:build linux && (amd64 || arm64)

package server_test

import (
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/store"
)

// pinToOneCPU pins the test's thread to one processor, so that what it sends on
// several connections arrives in the order in which it is sent.
func pinToOneCPU(t *testing.T) {
	runtime.LockOSThread() // the thread ends with the test
	var allowed, one [16]uint64
	_, _, e := syscall.RawSyscall(syscall.SYS_SCHED_GETAFFINITY, 0, unsafe.Sizeof(allowed),
		uintptr(unsafe.Pointer(&allowed)))
	require.Zero(t, e)
	for i, word := range allowed {
		if word != 0 {
			one[i] = word & -word
			break
		}
	}
	_, _, e = syscall.RawSyscall(syscall.SYS_SCHED_SETAFFINITY, 0, unsafe.Sizeof(one),
		uintptr(unsafe.Pointer(&one)))
	require.Zero(t, e)
}

// TestEarlierCommandsRunFirst: a client's command runs before a later command of
// another client that affects it, although neither waits for replies. Without the
// wait each of these failed in more than half of the rounds.
func TestEarlierCommandsRunFirst(t *testing.T) {
	t.Parallel()
	if *fed {
		t.Skip("goroutines read in the order of Go's scheduler: docs/adr/0027 is about what loops read")
	}
	const rounds = 100
	srv := start(t, "--bind", "127.0.0.1")
	srv.ExtendOrderTimeout()
	pinToOneCPU(t)
	a, b, blocked := connect(t, srv), connect(t, srv), connect(t, srv)
	send := func(w *wire, line string) { require.NoError(t, w.sendRaw([]byte(line+"\r\n"))) }

	beside := besideKey("l")
	for i := range 2 * rounds { // an element moved into a watched key, of another shard and of the same
		k := []string{"k", beside}[i%2]
		a.call(t, "DEL", "l", k)
		a.call(t, "WATCH", k)
		a.call(t, "MULTI")
		a.call(t, "LLEN", k)
		send(blocked, "BLMOVE l "+k+" LEFT LEFT 0")
		eventually(t, func() bool {
			return strings.Contains(b.call(t, "INFO", "clients"), "\r\nblocked_clients:1\r\n")
		}, func() {})
		send(a, "EXEC")
		send(b, "LPUSH l v")
		require.Equal(t, "*1\r\n:0", a.reply(t))
		require.Equal(t, ":1", b.reply(t))
		require.Equal(t, "$1\r\nv", blocked.reply(t))
	}
	for range rounds { // a watched key changed by a command and by a transaction
		a.call(t, "SET", "k", "1")
		b.call(t, "MULTI")
		b.call(t, "SET", "k", "2")
		a.call(t, "WATCH", "k")
		a.call(t, "MULTI")
		a.call(t, "GET", "k")
		send(a, "EXEC")
		send(b, "EXEC")
		require.Equal(t, "*1\r\n$1\r\n1", a.reply(t))
		require.Equal(t, "*1\r\n+OK", b.reply(t))
	}
	for _, how := range []string{"SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE"} {
		prefix := strings.TrimSuffix(how, "SUBSCRIBE")
		publish := map[string]string{"": "PUBLISH", "P": "PUBLISH", "S": "SPUBLISH"}[prefix]
		for range rounds {
			a.call(t, how, "c")
			send(a, prefix+"UNSUBSCRIBE c")
			send(b, publish+" c m")
			require.Equal(t, ":0", b.reply(t))
			require.Contains(t, a.reply(t), "unsubscribe")

			a.call(t, how, "c")
			b.call(t, "MULTI")
			b.call(t, publish, "c", "m")
			send(a, prefix+"UNSUBSCRIBE c")
			send(b, "EXEC")
			require.Equal(t, "*1\r\n:0", b.reply(t))
			require.Contains(t, a.reply(t), "unsubscribe")
		}
	}
	for range rounds { // commands of a killed client
		victim := connect(t, srv)
		id := victim.call(t, "CLIENT", "ID")[1:]
		b.call(t, "DEL", "k")
		send(victim, "SET k v")
		send(b, "CLIENT KILL ID "+id)
		require.Equal(t, ":1", b.reply(t))
		require.Equal(t, "$1\r\nv", b.call(t, "GET", "k"))
	}
}

// besideKey returns a key in the same shard as another.
func besideKey(key string) string {
	for i := 0; ; i++ {
		if other := "beside:" + strconv.Itoa(i); store.ShardOf([]byte(other)) == store.ShardOf([]byte(key)) {
			return other
		}
	}
}

// TestWaitForEarlierCommandsIsBounded: a subscriber whose command does not end does
// not block publishers, and two clients that publish to each other do not deadlock.
func TestWaitForEarlierCommandsIsBounded(t *testing.T) {
	t.Parallel()
	srv := start(t, "--bind", "127.0.0.1", "--busy-reply-threshold", "1")
	a, b := connect(t, srv), connect(t, srv)
	a.call(t, "HELLO", "3")
	a.call(t, "SUBSCRIBE", "c")
	require.NoError(t, a.send([][]byte{[]byte("EVAL"), []byte("while true do end"), []byte("0")}))
	eventually(t, func() bool { return strings.HasPrefix(b.call(t, "PUBLISH", "d", "m"), "-BUSY") },
		func() {})
	require.Equal(t, "+OK", b.call(t, "SCRIPT", "KILL"))
	require.Contains(t, a.reply(t), "-ERR Script killed")

	b.call(t, "HELLO", "3")
	b.call(t, "SUBSCRIBE", "c")
	const rounds = 100
	for range rounds {
		for _, w := range []*wire{a, b} {
			require.NoError(t, w.sendRaw([]byte("PUBLISH c m\r\n")))
		}
		for _, w := range []*wire{a, b} {
			replies := 0
			for range 3 {
				if w.reply(t) == ":2" {
					replies++
				}
			}
			require.Equal(t, 1, replies)
		}
	}
}
