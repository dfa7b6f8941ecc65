package upstream

import (
	"fmt"
	"io"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/upstream/call"
)

// replyText returns the call's reply.
func replyText(c *call.Call) string {
	if c.Long != nil {
		return string(c.Long.Bytes())
	}
	return string(c.Reply)
}

// limit returns a bound of bytes.
func limit(bytes int64) *call.Bound { return call.NewBound(commands.OutputBounds{Limit: bytes}) }

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// TestBoundedReplies: of many long replies on one lane no more is kept than their bound allows, and those of
// others on it are right. A redirection is followed although the bound has been passed: every call runs.
func TestBoundedReplies(t *testing.T) {
	const size = 1 << 20
	long := bulk(strings.Repeat("v", size))
	var home atomic.Pointer[string] // where m is
	var ran atomic.Int64
	answer := func(args []string) string {
		switch {
		case args[0] == "CLUSTER":
			return constant("")(args)
		case args[1] == "m":
			ran.Add(1)
			return ":1\r\n"
		}
		return long
	}
	away := newFake(t, answer)
	home.Store(&away.addr)
	f := newFake(t, func(args []string) string {
		if len(args) > 1 && args[1] == "m" {
			return "-MOVED 1 " + *home.Load() + "\r\n"
		}
		return answer(args)
	})
	u := open(t, "redis+single://"+f.addr, nil)
	bound := limit(16 << 20)
	var calls []*call.Call
	for range 200 {
		c := newCall("GET k")
		c.Bound = bound
		calls = append(calls, c)
	}
	moved, other := newCall("INCR m"), newCall("GET other")
	moved.Bound = bound
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	u.Run(append(calls, moved, other))
	runtime.ReadMemStats(&after)
	require.Less(t, int(after.TotalAlloc-before.TotalAlloc)>>20, 64)
	require.True(t, bound.Passed())
	require.Greater(t, bound.Bytes(), int64(200*size))
	require.Equal(t, int64(1), ran.Load())
	require.True(t, replyText(other) == long)
}

// A reply that breaks off is asked for again, and counts once.
func TestBrokenLongReply(t *testing.T) {
	long := bulk(strings.Repeat("v", 100_000))
	var asked atomic.Int64
	f := newFake(t, func(args []string) string {
		if args[0] == "GET" && asked.Add(1) == 1 {
			return long[:len(long)/2] + hangUp
		}
		return constant(long)(args)
	})
	u := open(t, "redis+single://"+f.addr, nil)
	c := newCall("GET k")
	c.Bound = limit(150_000)
	u.Run([]*call.Call{c})
	require.True(t, replyText(c) == long)
	require.Equal(t, int64(len(long)), c.Bound.Bytes())
}

// The replies of several nodes are merged whether they are long or not.
func TestMergedLongReplies(t *testing.T) {
	for _, size := range []int{1, 1000, 5000, 70_000, 300_000} {
		value := func(name string) string { return bulk(name + strings.Repeat("v", size)) }
		a, _ := pair(t, func(_ int, args []string) string {
			switch strings.ToLower(args[0]) {
			case "mget":
				reply := fmt.Sprintf("*%d\r\n", len(args)-1)
				for _, key := range args[1:] {
					reply += value(key)
				}
				return reply
			case "keys":
				return "*3\r\n" + value("k") + "$-1\r\n" + "*2\r\n:1\r\n" + value("l")
			case "scan":
				return "*2\r\n$1\r\n7\r\n*2\r\n" + value("k") + value("l")
			}
			return ""
		})
		u := open(t, "redis://"+a.addr, func(o *Options) { o.Split = true })
		line, want := "MGET", "*40\r\n"
		for i := range 40 {
			key := fmt.Sprint("key", i)
			line += " " + key
			want += value(key)
		}
		c := newCall(line)
		u.Run([]*call.Call{c})
		require.True(t, replyText(c) == want, "MGET %d", size)
		c = newCall("KEYS *")
		u.Run([]*call.Call{c})
		keys := value("k") + "$-1\r\n" + "*2\r\n:1\r\n" + value("l")
		require.True(t, replyText(c) == "*6\r\n"+keys+keys, "KEYS %d", size)
		c = newCall("SCAN 0")
		u.Run([]*call.Call{c})
		require.True(t, replyText(c) == "*2\r\n$4\r\n7168\r\n*2\r\n"+value("k")+value("l"), "SCAN %d", size)
	}
}

// What a short reply takes beside what the client library allocates: nothing up to the space that a reading
// has, and one slice beyond it.
func TestReadingAllocations(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates, too; make test counts without")
	}
	for text, want := range map[string]float64{"": 0, "hello": 0, strings.Repeat("v", 1000): 1} {
		text += "\r\n"
		src, from := strings.NewReader(text), io.LimitedReader{}
		line, end := fmt.Appendf(nil, "$%d", len(text)-2), []byte("\r\n")
		r := new(reading)
		got := testing.AllocsPerRun(100, func() {
			src.Reset(text)
			from = io.LimitedReader{R: src, N: int64(len(text))}
			*r = reading{blocks: true}
			_, _ = r.Write(line)
			_, _ = r.Write(end)
			_, _ = r.ReadFrom(&from)
		})
		require.Equal(t, want, got, len(text))
		require.Equal(t, string(line)+"\r\n"+text, string(r.head))
	}
}
