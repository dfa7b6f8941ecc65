package server

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Announced lengths allocate nothing; received bytes a small multiple of
// themselves.
func TestReaderMemoryFollowsBytesReceived(t *testing.T) {
	for _, in := range []string{
		"*1048576\r\n", "*2147483647\r\n", "*2\r\n$4\r\nECHO\r\n$536870912\r\n",
		"*2147483647\r\n$536870912\r\n",
	} {
		r := newReader(defaultLimits())
		_, err := feed(r, in, whole)
		require.NoError(t, err)
		r.free()
		require.LessOrEqual(t, r.memory(), minBuffer+1024, "%q", in)
	}
	r := newReader(defaultLimits())
	sent := 0
	for in := "*1\r\n$8000000\r\n"; sent < 8000000; in = strings.Repeat("x", 1000) {
		_, err := feed(r, in, whole)
		require.NoError(t, err)
		sent += len(in)
		require.LessOrEqual(t, r.memory(), max(2*sent+minBuffer, minBuffer))
		require.LessOrEqual(t, r.memory(), 8000000+2*minBuffer, "a known length caps the last doubling")
	}
}

func TestReaderReleasesLargeBuffer(t *testing.T) {
	big := encode("ECHO", strings.Repeat("x", 4<<20))
	r := newReader(defaultLimits())
	got, err := feed(r, big, whole)
	require.NoError(t, err)
	require.Len(t, got, 1)
	r.free()
	require.LessOrEqual(t, r.memory(), pipelineBytes, "after a large command")

	// The rest of the read that ended the large command must not keep its buffer.
	_, err = feed(r, big+"*1\r\n$4\r\nPI", whole)
	require.NoError(t, err)
	r.free()
	require.LessOrEqual(t, r.memory(), pipelineBytes, "with an unfinished command behind it")
	got, err = feed(r, "NG\r\n", whole)
	require.NoError(t, err)
	require.Equal(t, cmds(cmd("PING")), got)

	many := make([]string, 1<<20)
	_, err = feed(r, encode(many...), whole)
	require.NoError(t, err)
	r.free()
	require.LessOrEqual(t, r.memory(), pipelineBytes+argOverhead*maxKeptArgs, "after many arguments")

	r.release()
	require.Zero(t, r.memory())
	got, err = feed(r, encode("PING"), pieces(1))
	require.NoError(t, err)
	require.Equal(t, cmds(cmd("PING")), got)
}

func TestReaderReleaseKeepsUnfinishedCommand(t *testing.T) {
	in := encode("SET", "key", strings.Repeat("v", 40000)) + "PING\r\n"
	for cut := 1; cut < len(in); cut += 997 {
		r := newReader(defaultLimits())
		got, err := feed(r, in[:cut], pieces(3000))
		require.NoError(t, err)
		r.release()
		require.LessOrEqual(t, r.memory(), max(2*cut, 2*minBuffer))
		more, err := feed(r, in[cut:], pieces(3000))
		require.NoError(t, err)
		require.Equal(t, cmds(cmd("SET", "key", strings.Repeat("v", 40000)), cmd("PING")),
			append(got, more...))
	}
}

// As in redis-server: while a command runs, all bytes of the last read count as
// used; afterwards those that are not yet part of an argument.
func TestReaderQueryBuffer(t *testing.T) {
	list := encode("CLIENT", "LIST")
	r := newReader(defaultLimits())
	query := func(running bool) [2]int {
		used, unused := r.queryBuffer(running)
		return [2]int{used, unused}
	}
	require.Equal(t, [2]int{0, 4}, query(false))
	_, err := feed(r, list+"*3\r\n$4\r\nECHO", whole)
	require.NoError(t, err)
	require.Equal(t, [2]int{38, 20436}, query(true))
	require.Equal(t, [2]int{4, 20470}, query(false))
	_, err = feed(r, "\r\n$1\r\na\r\n$1\r\nb\r\n"+list, whole)
	require.NoError(t, err)
	require.Equal(t, [2]int{4 + 16 + len(list), 20474 - 20 - len(list)}, query(true))
	require.Equal(t, [2]int{0, 20474}, query(false))
}

// TestReaderQueryBufferOfLargeArguments has the figures of redis-server 7.0.15 for
// a client that has sent a part of an argument, and then the rest.
func TestReaderQueryBufferOfLargeArguments(t *testing.T) {
	for _, c := range []struct {
		length, sent int
		pending      [2]int
		freeAfter    int
	}{
		{100, 50, [2]int{50, 20424}, 20474},
		{5010, 3000, [2]int{3000, 17474}, 20474},
		{20010, 20000, [2]int{20000, 474}, 20474},
		{40000, 40000, [2]int{40000, 954}, 40954},
		{50010, 50000, [2]int{50000, 7338}, 57338},
		{100000, 100000, [2]int{100000, 14678}, 114678},
		{200010, 200000, [2]int{200000, 29366}, 229366},
		{5000000, 4999999, [2]int{4999999, 242871}, 5242870},
	} {
		r := newReader(defaultLimits())
		head := "*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$" + strconv.Itoa(c.length) + "\r\n"
		_, err := feed(r, head+strings.Repeat("x", c.sent), whole)
		require.NoError(t, err)
		used, unused := r.queryBuffer(false)
		require.Equal(t, c.pending[0], used, c.length)
		require.Equal(t, c.pending[1], unused, c.length)
		require.LessOrEqual(t, len(r.buf), 2*(c.sent+pipelineBytes), "announced bytes allocate nothing")
		got, err := feed(r, strings.Repeat("x", c.length-c.sent)+"\r\n", whole)
		require.NoError(t, err)
		require.Len(t, got, 1)
		used, unused = r.queryBuffer(false)
		require.Zero(t, used, c.length)
		require.Equal(t, c.freeAfter, unused, c.length)
		_, err = feed(r, encode("CLIENT", "INFO"), whole)
		require.NoError(t, err)
		used, unused = r.queryBuffer(true)
		require.Equal(t, 26, used, c.length)
		require.Equal(t, 20448, unused, c.length)
	}
}

// The largest length of an int must not overflow the sums of the scan or the
// buffer.
func TestReaderLargestLength(t *testing.T) {
	l := defaultLimits()
	l.maxBulkLen = math.MaxInt64
	for _, length := range []string{
		"9223372036854775805", "9223372036854775804", "2147483647",
		"2147483648",
	} {
		r := newReader(l)
		got, err := feed(r, "*1\r\n$"+length+"\r\n"+strings.Repeat("x", 10000), pieces(1000))
		require.NoError(t, err)
		require.Empty(t, got)
		require.LessOrEqual(t, r.memory(), 8*minBuffer)
	}
	_, err := feed(newReader(l), "*1\r\n$9223372036854775806\r\n", whole)
	require.Equal(t, errBulkInvalid, err)
}

// The buffer grows, up to a bound, with reads that fill it, so that a long pipeline
// needs few.
func TestReaderGrowsForPipelines(t *testing.T) {
	in := strings.Repeat(encode("PING"), 50000)
	r := newReader(defaultLimits())
	reads := 0
	got, err := feed(r, in, func() int { reads++; return len(in) })
	require.NoError(t, err)
	require.Len(t, got, 50000)
	require.LessOrEqual(t, reads, len(in)/pipelineBytes+8)
	require.LessOrEqual(t, len(r.buf), pipelineBytes)
}

// After a timeout free is called again, which must not grow the buffer.
func TestReaderFreeTwice(t *testing.T) {
	r := newReader(defaultLimits())
	r.filled(len(r.free()))
	size := len(r.free())
	require.Len(t, r.free(), size)
}

// TestReaderIsIdle: a reader goes to another connection only while it holds nothing, and reads as a new one.
func TestReaderIsIdle(t *testing.T) {
	var b buffers
	r := b.get()
	require.True(t, r.isIdle())
	feed := func(text string) { r.filled(copy(r.free(), text)) }
	feed("PING\r\nECHO a")
	_, ok, err := r.next()
	require.True(t, ok && err == nil)
	require.False(t, r.isIdle(), "a part of a command is there")
	feed("bc\r\n")
	args, ok, err := r.next()
	require.True(t, ok && err == nil)
	require.Equal(t, [][]byte{[]byte("ECHO"), []byte("abc")}, args)
	require.True(t, r.isIdle())
	b.put(r)
	require.Same(t, r, b.get())
	feed("*1\r\n$4\r\nPING\r\n")
	args, ok, err = r.next()
	require.True(t, ok && err == nil)
	require.Equal(t, [][]byte{[]byte("PING")}, args)
	feed("*x\r\n")
	_, _, err = r.next()
	require.Error(t, err)
	require.False(t, r.isIdle(), "its connection ends")
}
