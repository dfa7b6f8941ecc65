package server_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
)

// TestCommandsDoNotAllocate sends commands of rate limiters on existing keys over
// TCP, alone and sixteen per write. All allocations of the process count, those of
// the test's own reading and writing too.
func TestCommandsDoNotAllocate(t *testing.T) {
	race.OneGoroutine(t)
	dial, _ := startForTest(t)
	for _, c := range []struct{ name, setup, line string }{
		{"RL.ALLOW admitted", "RL.ALLOW admitted 16000000 1h", "RL.ALLOW admitted 16000000 1h"},
		{"RL.ALLOW denied", "RL.ALLOW denied 1 1h", "RL.ALLOW denied 1 1h"},
		{"ZADD", "ZADD log 1 1", "ZADD log 1700000000000 1700000000000"},
		{"ZCARD", "ZADD log 1 1", "ZCARD log"},
		{"ZREMRANGEBYSCORE", "ZADD log 1700000000000 1700000000000", "ZREMRANGEBYSCORE log 0 1600000000000"},
		{"INCR", "SET n 1", "INCR n"},
		{"EXPIRE", "SET n 1", "EXPIRE n 60"},
		{"GET", "SET text hello", "GET text"},
		{"SET", "SET text hello", "SET text world"},
	} {
		t.Run(c.name, func(t *testing.T) {
			nc := dial()
			defer nc.Close()
			suffix := []byte("$3\r\nend\r\n")
			in := make([]byte, 16<<10)
			exchange := func(request []byte) {
				if _, err := nc.Write(request); err != nil {
					t.Fatal(err)
				}
				for n := 0; !bytes.HasSuffix(in[:n], suffix); {
					more, err := nc.Read(in[n:])
					if err != nil || bytes.HasPrefix(in[:n+more], []byte("-")) {
						t.Fatalf("%q %v", in[:n+more], err)
					}
					n += more
				}
			}
			last := "*2\r\n$4\r\nECHO\r\n$3\r\nend\r\n"
			exchange(append(appendCommand(nil, wordsOf(t, c.setup)), last...))
			for _, depth := range []int{1, 16} {
				request := append(bytes.Repeat(appendCommand(nil, wordsOf(t, c.line)), depth), last...)
				for range 100 {
					exchange(request) // warm up buffers, scratch space and the log's blocks
				}
				require.Zero(t, testing.AllocsPerRun(2000, func() { exchange(request) }),
					"%d per write", depth)
			}
		})
	}
}
