package server

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/words"
)

// slowRead is the reference: it adds one byte at a time and parses the command from
// its start again each time.
func slowRead(in string, l limits) (got [][]string, err error) {
	start := 0
	for end := 1; end <= len(in); end++ {
		args, whole, err := slowCommand(in[start:end], l)
		if err != nil {
			return got, err
		}
		if whole {
			start = end
			if len(args) > 0 {
				got = append(got, args)
			}
		}
	}
	return got, nil
}

// slowCommand parses s, whose last byte is new.
func slowCommand(s string, l limits) (args []string, whole bool, err error) {
	if s[0] != '*' {
		return slowInline(s)
	}
	args, whole, err = slowMultibulk(s, l)
	if int64(len(s)+argOverhead*len(args)) > l.maxCommand {
		return nil, false, errQueryBufferLimit
	}
	return args, whole, err
}

func slowMultibulk(s string, l limits) (args []string, whole bool, err error) {
	line, rest, ok := slowLine(s)
	if !ok {
		return nil, false, tooLong(s, errCountLineTooBig)
	}
	count, ok := slowNumber(line[1:])
	switch {
	case !ok || count > 1<<31-1:
		return nil, false, errCountInvalid
	case count > 10 && !l.authenticated:
		return nil, false, errCountUnauthenticated
	}
	for int64(len(args)) < count {
		line, after, ok := slowLine(rest)
		if !ok {
			return args, false, tooLong(rest, errBulkLineTooBig)
		}
		if line == "" || line[0] != '$' {
			return args, false, expectedDollar(rest[0])
		}
		length, ok := slowNumber(line[1:])
		switch {
		case !ok || length < 0 || length > l.maxBulkLen:
			return args, false, errBulkInvalid
		case length > 16384 && !l.authenticated:
			return args, false, errBulkUnauthenticated
		case int64(len(after)) > l.maxQueryBuf && l.maxQueryBuf < length+2:
			return args, false, errQueryBufferLimit
		case int64(len(after))-2 < length:
			return args, false, nil
		}
		args, rest = append(args, after[:length]), after[length+2:]
	}
	return args, true, nil
}

// slowLine splits s behind its first '\r' and the byte after it.
func slowLine(s string) (line, rest string, ok bool) {
	line, rest, ok = strings.Cut(s, "\r")
	if !ok || rest == "" || strings.Contains(line, "\x00") {
		return "", "", false
	}
	return line, rest[1:], true
}

func tooLong(s string, err error) error {
	if len(s) > 65536 && (!strings.Contains(s[:65537], "\r") || strings.Contains(s, "\x00")) {
		return err
	}
	return nil
}

func slowNumber(s string) (int64, bool) {
	v, err := strconv.ParseInt(s, 10, 64)
	return v, err == nil && strconv.FormatInt(v, 10) == s
}

func slowInline(s string) (args []string, whole bool, err error) {
	if !strings.HasSuffix(s, "\n") || strings.Contains(s, "\x00") {
		if len(s) > 65536 {
			return nil, false, errInlineTooBig
		}
		return nil, false, nil
	}
	split, ok := words.Split([]byte(strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r")), nil)
	if !ok {
		return nil, false, errUnbalancedQuotes
	}
	return texts(split), true, nil
}

// The reference itself must agree with Redis on the recorded cases.
func TestSlowReadMatchesRecordedCases(t *testing.T) {
	for _, c := range readCases() {
		if len(c.in) > 1000 {
			continue
		}
		got, err := slowRead(c.in, c.limits())
		require.Equal(t, c.want, got, c.name())
		require.Equal(t, c.err, err, c.name())
	}
	for _, s := range []string{"*" + strings.Repeat("1", 65537), "\x00" + strings.Repeat("x", 65537)} {
		_, _, err := slowCommand(s, defaultLimits())
		require.Error(t, err)
		_, _, err = slowCommand(s[:65536], defaultLimits())
		require.NoError(t, err)
	}
}

// Small limits combine with each other and with every error far more often than in
// the recorded cases.
func TestReaderAgainstSlowRead(t *testing.T) {
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	failed := map[error]int{}
	for i := range 20000 {
		in := randomWire(random)
		l := limits{
			maxBulkLen: int64(random.IntN(8)), maxQueryBuf: 2 + int64(random.IntN(10)),
			maxCommand: int64(20 + random.IntN(150)), authenticated: random.IntN(4) > 0,
		}
		want, wantErr := slowRead(in, l)
		failed[wantErr]++
		for _, n := range []int{1, 1 + random.IntN(20), len(in)} {
			got, err := feed(newReader(l), in, pieces(n))
			require.Equal(t, want, got, "seed %d, input %d: %q, %+v", seed, i, in, l)
			require.Equal(t, wantErr, err, "seed %d, input %d: %q, %+v", seed, i, in, l)
		}
	}
	for _, err := range []error{
		nil, errQueryBufferLimit, errBulkInvalid, errCountInvalid,
		errUnbalancedQuotes, errCountUnauthenticated,
	} {
		require.Greater(t, failed[err], 10, "%v", err)
	}
}

// FuzzReader feeds the same bytes whole and in pieces, and compares with slowRead.
// The bytes of shape are the sizes of the pieces, repeated, and its first byte
// selects the limits.
func FuzzReader(f *testing.F) {
	for _, c := range readCases() {
		if len(c.in) < 300 {
			f.Add([]byte(c.in), []byte{1})
			f.Add([]byte(c.in), []byte{6, 3, 200})
		}
	}
	f.Fuzz(func(t *testing.T, in, shape []byte) {
		if len(in) > 1000 {
			return
		}
		l := defaultLimits()
		if len(shape) > 0 {
			l.authenticated = shape[0]&1 == 0
			if shape[0]&2 != 0 {
				l.maxBulkLen = 20
			}
			if shape[0]&4 != 0 {
				l.maxQueryBuf = 10
			}
			if shape[0]&8 != 0 {
				l.maxCommand = 150
			}
		}
		want, wantErr := slowRead(string(in), l)
		turn := 0
		shaped := func() int {
			if turn++; len(shape) < 2 {
				return 1
			}
			return int(shape[1+turn%(len(shape)-1)])
		}
		for _, size := range []func() int{whole, shaped} {
			r := newReader(l)
			got, err := feed(r, string(in), size)
			require.Equal(t, want, got)
			require.ErrorIs(t, err, wantErr)
			require.LessOrEqual(t, r.examined, int64(4*len(in)+4))
			require.LessOrEqual(t, r.memory(), 2*minBuffer+2*len(in)+2*argOverhead*len(in))
		}
	})
}
