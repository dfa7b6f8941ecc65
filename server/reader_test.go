package server

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// feed passes in to r in pieces and returns the parsed commands and the error. size
// returns the size of the next piece, which may exceed what is left or fits.
func feed(r *reader, in string, size func() int) (got [][]string, err error) {
	for len(in) > 0 && err == nil {
		n := copy(r.free(), in[:min(len(in), max(size(), 1))])
		in = in[n:]
		r.filled(n)
		ahead := r.peek(make([]engine.Arrived, 0, 16))
		for i := 0; ; i++ {
			args, ok, e := r.next()
			err = e
			if !ok {
				break
			}
			got = append(got, texts(args))
			if i < len(ahead) && !begins(args, &ahead[i]) {
				panic(fmt.Sprintf("peek has said %q of %q", ahead[i].Args, args))
			}
		}
	}
	return got, err
}

// begins reports whether a is the beginning of args: all of them, or as many as it has room for.
func begins(args [][]byte, a *engine.Arrived) bool {
	return a.Len == min(len(args), len(a.Args)) && slices.EqualFunc(args[:a.Len], a.Args[:a.Len], bytes.Equal)
}

func texts(args [][]byte) []string {
	s := make([]string, len(args))
	for i, a := range args {
		s[i] = string(a)
	}
	return s
}

func whole() int { return 1 << 30 }

func pieces(n int) func() int { return func() int { return n } }

// encode returns args as a multibulk command.
func encode(args ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(args))
	for _, a := range args {
		fmt.Fprintf(&b, "$%d\r\n%s\r\n", len(a), a)
	}
	return b.String()
}

func (c readCase) limits() limits {
	l := defaultLimits()
	l.authenticated = !c.guest
	return l
}

func (c readCase) name() string {
	in := strconv.Quote(c.in)
	if len(in) > 60 {
		in = fmt.Sprintf("%s... %d bytes", in[:60], len(c.in))
	}
	if c.guest {
		return "guest " + in
	}
	return in
}

func TestReaderCases(t *testing.T) {
	for _, c := range readCases() {
		t.Run(c.name(), func(t *testing.T) {
			for _, n := range []int{1, 2, 3, 7, 1000, 1 << 20} {
				got, err := feed(newReader(c.limits()), c.in, pieces(n))
				require.Equal(t, c.want, got, "pieces of %d", n)
				require.Equal(t, c.err, err, "pieces of %d", n)
			}
		})
	}
}

// Every split of every short case into two reads.
func TestReaderPartialReads(t *testing.T) {
	for _, c := range readCases() {
		if len(c.in) > 200 {
			continue
		}
		for cut := 1; cut < len(c.in); cut++ {
			next := cut
			got, err := feed(newReader(c.limits()), c.in,
				func() int { n := next; next = len(c.in); return n })
			require.Equal(t, c.want, got, "%s cut at %d", c.name(), cut)
			require.Equal(t, c.err, err, "%s cut at %d", c.name(), cut)
		}
	}
}

func TestReaderErrorStays(t *testing.T) {
	r := newReader(defaultLimits())
	_, err := feed(r, "*x\r\n", whole)
	require.Equal(t, errCountInvalid, err)
	r.filled(copy(r.free(), encode("PING")))
	_, ok, err := r.next()
	require.False(t, ok)
	require.Equal(t, errCountInvalid, err)
}

func TestReaderProtocolErrorText(t *testing.T) {
	require.EqualError(t, expectedDollar('x'), "Protocol error: expected '$', got 'x'")
	require.EqualError(t, expectedDollar('\r'), "Protocol error: expected '$', got ' '")
	require.EqualError(t, expectedDollar('\n'), "Protocol error: expected '$', got ' '")
}

// AUTH lifts the limits for the commands behind it in the same read.
func TestReaderLimitsChangeBetweenCommands(t *testing.T) {
	l := defaultLimits()
	l.authenticated = false
	r := newReader(l)
	long := strings.Repeat("x", unauthBulk+1)
	in := encode("AUTH", "secret") + encode("ECHO", long)
	for len(in) > 0 && r.buffered() < len(in) {
		n := copy(r.free(), in[r.buffered():])
		r.filled(n)
	}
	args, ok, err := r.next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"AUTH", "secret"}, texts(args))
	l.authenticated = true
	r.setLimits(l)
	args, ok, err = r.next()
	require.NoError(t, err)
	require.True(t, ok)
	require.Equal(t, []string{"ECHO", long}, texts(args))
}

func TestReaderQueryBufferLimit(t *testing.T) {
	const limit = 1 << 20
	header := func(n int) string { return fmt.Sprintf("*2\r\n$4\r\nECHO\r\n$%d\r\n", n) }
	x := func(n int) string { return strings.Repeat("x", n) }
	for _, c := range []struct {
		name string
		in   string
		ran  int
		err  error
	}{
		// Redis counts the current argument with its line end, and not the lines before it.
		{"longest", header(limit-2) + x(limit-2) + "\r\n", 1, nil},
		{"one more", header(limit-1) + x(limit-1) + "\r\n", 0, errQueryBufferLimit},
		{"promised", header(2 * limit), 0, nil},
		{"promised, limit received", header(2*limit) + x(limit), 0, nil},
		{"promised, one more received", header(2*limit) + x(limit+1), 0, errQueryBufferLimit},
		{"many arguments", "*20\r\n" + strings.Repeat("$100000\r\n"+x(100000)+"\r\n", 20), 1, nil},
		{"many commands", strings.Repeat(encode("PING"), 300000), 300000, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			l := defaultLimits()
			l.maxQueryBuf = limit
			for _, n := range []int{1 << 30, 4096, 1000} {
				got, err := feed(newReader(l), c.in, pieces(n))
				require.Len(t, got, c.ran)
				require.Equal(t, c.err, err)
			}
		})
	}
}

func TestReaderQueryBufferLimitInOneRead(t *testing.T) {
	l := defaultLimits()
	l.maxQueryBuf = 10
	got, err := feed(newReader(l), encode("12345678")+encode("123456789"), whole)
	require.Equal(t, cmds(cmd("12345678")), got)
	require.Equal(t, errQueryBufferLimit, err)
}

// maxCommand takes precedence over other errors of the line that exceeds it.
func TestReaderCommandLimitComesFirst(t *testing.T) {
	for _, c := range []struct {
		in  string
		max int64
		err error
	}{
		{"*" + strings.Repeat("1", maxLine+10), maxLine, errQueryBufferLimit},
		{"*" + strings.Repeat("1", maxLine+10), maxLine + 1, errCountLineTooBig},
		{"*1\r\n$x\r\n", 7, errQueryBufferLimit},
		{"*1\r\n$x\r\n", 8, errBulkInvalid},
		{"*1\r\n$200\r\n" + strings.Repeat("x", 90), 100, nil},
		{"*1\r\n$200\r\n" + strings.Repeat("x", 91), 100, errQueryBufferLimit},
	} {
		l := defaultLimits()
		l.maxCommand = c.max
		for _, n := range []int{1, 1 << 20} {
			_, err := feed(newReader(l), c.in, pieces(n))
			require.Equal(t, c.err, err)
		}
	}
}

func TestReaderCommandLimit(t *testing.T) {
	in := encode("DEL", "a", "b", "c")
	for _, n := range []int{1, 5, 1000} {
		l := defaultLimits()
		l.maxCommand = int64(len(in) + 4*argOverhead)
		got, err := feed(newReader(l), in+in, pieces(n))
		require.NoError(t, err)
		require.Len(t, got, 2)
		l.maxCommand--
		got, err = feed(newReader(l), in+in, pieces(n))
		require.Equal(t, errQueryBufferLimit, err)
		require.Empty(t, got)
	}
}

// The work must be linear in the bytes for any split into reads.
func TestReaderWorkIsLinear(t *testing.T) {
	many := make([]string, 20000)
	for i := range many {
		many[i] = "member:" + strconv.Itoa(i)
	}
	for name, in := range map[string]string{
		"20,000 arguments":  encode(many...),
		"20,000 empty ones": "*20000\r\n" + strings.Repeat("$0\r\n\r\n", 20000),
		"odd line ends":     "*20000\rX" + strings.Repeat("$1\rXaXX", 20000),
		"long count":        "*" + strings.Repeat("0", maxLine-10),
		"long length":       "*1\r\n$" + strings.Repeat("0", maxLine-10),
		"NUL in a length":   "*1\r\n$\x00" + strings.Repeat("0", maxLine-10),
		"long inline":       "ECHO " + strings.Repeat("x", maxLine-10) + "\r\n",
		"NUL inline":        "\x00" + strings.Repeat("x", maxLine-10),
		"large bulk":        encode("ECHO", strings.Repeat("x", 300000)),
		"commands to skip":  strings.Repeat("*0\r\n\r\n*-1\r\n", 5000),
	} {
		t.Run(name, func(t *testing.T) {
			for _, n := range []int{1, 2, 100, 1 << 20} {
				r := newReader(defaultLimits())
				_, err := feed(r, in, pieces(n))
				require.NoError(t, err)
				// A byte is examined when it arrives, once more at the end of a
				// read, and when a line is split.
				require.LessOrEqual(t, r.examined, 3*int64(len(in))+int64(maxRead(in, n)), "pieces of %d", n)
				require.LessOrEqual(t, r.moved, 4*int64(len(in)), "pieces of %d", n)
			}
		})
	}
}

// TestPeekIsBounded checks that peek skips commands of many arguments, which it would otherwise parse again
// after each read.
func TestPeekIsBounded(t *testing.T) {
	peeked := func(args int) int {
		r := newReader(defaultLimits())
		r.filled(copy(r.free(), encode("PING")+encode(slices.Repeat([]string{"a"}, args)...)+encode("PING")))
		return len(r.peek(make([]engine.Arrived, 0, 16)))
	}
	require.Equal(t, 3, peeked(maxPeekedArgs))
	require.Equal(t, 1, peeked(maxPeekedArgs+1))
}

// maxRead returns the number of reads for pieces of n bytes: each may examine one
// byte again.
func maxRead(in string, n int) int { return len(in)/n + 1 }

// TestReaderWorkIsCounted proves that the counter detects a scan that restarts with
// every read.
func TestReaderWorkIsCounted(t *testing.T) {
	in := "*1\r\n$" + strings.Repeat("0", 1000)
	r := newReader(defaultLimits())
	for i := range in {
		copy(r.free(), in[i:i+1])
		r.filled(1)
		r.pos, r.left, r.searched = r.start, 0, 0
		_, _, err := r.next()
		require.NoError(t, err)
	}
	require.Greater(t, r.examined, 100*int64(len(in)))
}

func TestReaderDoesNotAllocate(t *testing.T) {
	allow := encode("RL.ALLOW", "rate_limit:{user_123}:/api/login", "100", "60s")
	packet := []byte(strings.Repeat(allow, 16) + "PING \"a b\\x41\"\r\n")
	r := newReader(defaultLimits())
	run := func() {
		r.filled(copy(r.free(), packet))
		n := 0
		for _, ok, _ := r.next(); ok; _, ok, _ = r.next() {
			n++
		}
		if n != 17 {
			panic(n)
		}
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
}

// Arguments alias the buffer and are valid until the next free, also after further
// calls of next.
func TestReaderArgumentsStayValid(t *testing.T) {
	r := newReader(defaultLimits())
	r.filled(copy(r.free(), encode("ECHO", "one")+"ECHO \"t\\x77o\"\r\n"+encode("ECHO", "three")+"*1\r\n$4"))
	var kept [][]byte
	for args, ok, _ := r.next(); ok; args, ok, _ = r.next() {
		kept = append(kept, args[1])
	}
	require.Equal(t, "one two three", string(bytes.Join(kept, []byte(" "))))
}
