package replication

import (
	"bufio"
	"errors"
	"io"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// readCommands returns the commands of a stream, and how it ends.
func readCommands(in io.Reader) (lines []string, raw string, err error) {
	p := parser{in: bufio.NewReaderSize(in, maxLine)}
	for {
		c, err := p.next()
		if err != nil {
			return lines, raw, err
		}
		lines, raw = append(lines, lineOf(c.args)), raw+string(c.raw)
	}
}

func TestParserCutAtEveryByte(t *testing.T) {
	race.OneGoroutine(t)
	big := strings.Repeat("x", 3*growthBytes)
	commands := []string{"PING", "SET a 1", "", "SELECT 0", "SET big " + big, "SET b 2"}
	var whole string
	ends := map[int]int{0: 0} // how many commands end there
	for i, c := range commands {
		if c == "" {
			whole += "\r\n"
		} else {
			whole += string(raw(c))
		}
		ends[len(whole)] = i + 1
	}
	n := 0
	for cut := range len(whole) + 1 {
		if cut > 200 && cut < len(whole)-5 && cut%(growthBytes/2) > 0 {
			continue
		}
		lines, read, err := readCommands(strings.NewReader(whole[:cut]))
		if more, ok := ends[cut]; ok {
			n = more
			require.Equal(t, io.EOF, err, "cut at %d", cut)
		} else {
			require.ErrorIs(t, err, io.ErrUnexpectedEOF, "cut at %d", cut)
		}
		for at, i := range ends { // ends that were passed by
			if at <= cut {
				n = max(n, i)
			}
		}
		require.True(t, strings.Join(commands[:n], "|") == strings.Join(lines, "|"), "cut at %d", cut)
		require.True(t, strings.HasPrefix(whole, read))
	}
	lines, _, err := readCommands(iotest.OneByteReader(strings.NewReader(string(rawAll("SET a 1", "PING")))))
	require.Equal(t, io.EOF, err)
	require.Equal(t, []string{"SET a 1", "PING"}, lines)
}

// A length is believed only as far as bytes follow.
func TestParserAllocatesWhatArrives(t *testing.T) {
	for _, text := range []string{"*1\r\n$536870912\r\nabc", "*1048576\r\n$1\r\na\r\n"} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, _, err := readCommands(strings.NewReader(text))
		runtime.ReadMemStats(&after)
		require.ErrorIs(t, err, io.ErrUnexpectedEOF)
		require.Less(t, after.TotalAlloc-before.TotalAlloc, uint64(4*growthBytes))
	}
}

func FuzzParser(f *testing.F) {
	for _, text := range []string{
		"*1\r\n$4\r\nPING\r\n", "\n", "*0\r\n", "*1\r\n$-1\r\n", "$3\r\n", "*2\r\n$0\r\n\r\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		lines, raw, err := readCommands(strings.NewReader(string(b)))
		again, rawAgain, errAgain := readCommands(iotest.OneByteReader(strings.NewReader(string(b))))
		require.Equal(t, lines, again)
		require.Equal(t, raw, rawAgain)
		require.Equal(t, err, errAgain)
		require.True(t, strings.HasPrefix(string(b), raw), "what is counted is what arrived")
		if errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			require.Equal(t, string(b), raw)
		}
	})
}
