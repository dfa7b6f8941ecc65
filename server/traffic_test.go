package server_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
)

// netStats are INFO's counters of network bytes, reads and writes.
type netStats struct{ in, out, reads, writes int }

func parseNetStats(t *testing.T, info string) netStats {
	read := func(field string) int {
		n, err := strconv.Atoi(fieldOf(t, info, field))
		require.NoError(t, err)
		return n
	}
	return netStats{
		read("total_net_input_bytes"), read("total_net_output_bytes"),
		read("total_reads_processed"), read("total_writes_processed"),
	}
}

// TestNetStats requires exact counts, as another connection sees them.
func TestNetStats(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	watcher, w := connect(t, srv), connect(t, srv)
	const ask = "*2\r\n$4\r\nINFO\r\n$5\r\nstats\r\n"
	var want, seen netStats // seen: last observed; want: next, if only the watcher is active
	observe := func() {
		info := watcher.call(t, "INFO", "stats")
		seen = parseNetStats(t, info)
		want = netStats{
			seen.in + len(ask), seen.out + len(info) + len("\r\n"), seen.reads + 1,
			seen.writes + 1,
		}
	}
	observe()
	only := want
	observe()
	require.Equal(t, only, seen)

	const rounds = 10
	value := strings.Repeat("v", 1000)
	for range rounds {
		w.call(t, "SET", "k", value)
		w.call(t, "GET", "k")
	}
	set := len("*3\r\n$3\r\nSET\r\n$1\r\nk\r\n$1000\r\n\r\n") + len(value)
	get := len("*2\r\n$3\r\nGET\r\n$1\r\nk\r\n")
	answers := len("+OK\r\n$1000\r\n\r\n") + len(value)
	from := want // to which each observation adds its own
	observe()
	eventually(t, func() bool {
		return seen == netStats{
			from.in + rounds*(set+get), from.out + rounds*answers, from.reads + 2*rounds,
			from.writes + 2*rounds,
		}
	}, func() { // w's last batch is counted when it ends
		was := seen
		next := want
		observe()
		from = netStats{
			from.in + next.in - was.in, from.out + next.out - was.out, from.reads + 1,
			from.writes + 1,
		}
	})
}

// TestLongCommandsAreAnsweredTogether sends a pipeline of long commands. Others have turns after each of them
// but the replies of a batch are sent together: under appendfsync always each sending waits for the disk.
func TestLongCommandsAreAnsweredTogether(t *testing.T) {
	t.Parallel()
	srv, _, _ := serveWith(t, config.New())
	watcher, w := connect(t, srv), connect(t, srv)
	stats := func() netStats { return parseNetStats(t, watcher.call(t, "INFO", "stats")) }
	before := stats()
	const commands = 20
	long := "ZADD z" + strings.Repeat(" 1 m", 600) + "\r\n" // 2.4 KB each: the first batches are small
	require.NoError(t, w.sendRaw([]byte(strings.Repeat(long, commands))))
	for range commands {
		_, err := w.readReply()
		require.NoError(t, err)
	}
	// There is one write for each read, however the input is cut. Reads are counted when their batch ends.
	eventually(t, func() bool {
		after := stats()
		return after.writes-before.writes <= after.reads-before.reads
	}, func() {}, "more writes than reads")
}
