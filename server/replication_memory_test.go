package server_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReplicationMemory: what a backlog and a replica that does not read take is in INFO memory, MEMORY STATS
// and CLIENT LIST under the names that it has on redis-server, and comparable. Only what the backlog does not
// need itself is not counted for eviction.
func TestReplicationMemory(t *testing.T) {
	t.Parallel()
	kinds(t, func(t *testing.T, f *fabric, k kind) {
		const backlog, value, times = 100 << 10, 400_000, 30
		master := f.node(k, "--repl-backlog-size", strconv.Itoa(backlog))
		read := func() (m map[string]int64) {
			m = map[string]int64{}
			fields := master.info(t, "memory")
			for name, value := range fields {
				m[name], _ = strconv.ParseInt(value, 10, 64)
			}
			stats := strings.Split(master.do(t, "MEMORY STATS"), "\r\n")
			for i, word := range stats {
				if n, ok := strings.CutPrefix(word, ":"); ok {
					m[stats[i-1]], _ = strconv.ParseInt(n, 10, 64)
				}
			}
			return m
		}
		names := []string{
			"mem_replication_backlog", "mem_total_replication_buffers", "mem_clients_slaves",
			"mem_not_counted_for_evict", "replication.backlog", "clients.slaves",
		}
		before := read()
		for _, name := range names {
			require.Contains(t, before, name)
			require.Zero(t, before[name], name)
		}

		slow := f.attach(master)
		for range times {
			master.fill(t, "SET k "+strings.Repeat("x", value))
		}
		behind := read()
		// The system's buffers have taken the rest.
		const least = times * value / 4
		require.Greater(t, behind["mem_clients_slaves"], int64(least))
		require.Greater(t, behind["mem_not_counted_for_evict"], int64(least))
		require.Equal(t, behind["mem_clients_slaves"], behind["clients.slaves"])
		require.Equal(t, behind["mem_replication_backlog"], behind["replication.backlog"])
		held := behind["mem_replication_backlog"]
		require.GreaterOrEqual(t, held, int64(backlog))
		require.Less(t, held, int64(2*backlog))
		require.InDelta(t, behind["mem_clients_slaves"]+held, behind["mem_total_replication_buffers"], 64<<10)
		for _, name := range []string{"used_memory", "used_memory_overhead"} {
			require.Greater(t, behind[name]-before[name], int64(least), name)
		}
		match := regexp.MustCompile(`flags=S .* omem=(\d+) tot-mem=(\d+) `).FindStringSubmatch(
			master.do(t, "CLIENT LIST"))
		require.NotNil(t, match)
		for _, text := range match[1:] {
			n, err := strconv.ParseInt(text, 10, 64)
			require.NoError(t, err)
			require.Greater(t, n, int64(least))
		}

		require.NoError(t, slow.conn.Close())
		f.until(func() bool { return master.field(t, "connected_slaves") == "0" })
		after := read()
		require.Zero(t, after["mem_clients_slaves"])
		require.Less(t, after["mem_total_replication_buffers"], int64(2*backlog), "the backlog stays")
		require.Less(t, after["used_memory"], before["used_memory"]+2*value+4*backlog)
		require.GreaterOrEqual(t, after["mem_clients_normal"], int64(0))
	})
}
