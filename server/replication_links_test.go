package server_test

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kinds runs a test on a master and a replica of the same kind.
func kinds(t *testing.T, test func(t *testing.T, f *fabric, k kind)) {
	for _, k := range []kind{ours, redis} {
		t.Run(string(k), func(t *testing.T) {
			t.Parallel()
			test(t, newFabric(t), k)
		})
	}
}

// attach makes a connection a replica of a node, up to the end of the copy.
func (f *fabric) attach(master *node) *wire {
	w := master.dial(f.t)
	f.attachOn(master, w)
	return w
}

func (f *fabric) attachOn(master *node, w *wire) {
	t := f.t
	t.Helper()
	require.Equal(t, "+OK", doLine(t, w, "REPLCONF capa eof capa psync2"))
	require.NoError(t, w.sendRaw([]byte("PSYNC ? -1\r\n")))
	require.Regexp(t, `^\+FULLRESYNC [0-9a-f]{40} \d+$`, f.await(w))
	readCopy(t, w)
	f.until(func() bool { // until then redis-server ignores confirmations
		persistence := master.info(t, "persistence")
		return persistence["rdb_bgsave_in_progress"] == "0"
	})
	require.NoError(t, w.sendRaw([]byte("REPLCONF ACK 0\r\n")))
	f.until(func() bool { return strings.Contains(master.field(t, "slave0"), "state=online") })
}

// readCopy reads a copy, which a mark ends, or the length before it.
func readCopy(t *testing.T, w *wire) string {
	t.Helper()
	var head string
	for head == "" { // empty lines keep the connection alive
		line, err := w.r.ReadString('\n')
		require.NoError(t, err)
		head = strings.TrimSpace(line)
	}
	mark, isMarked := strings.CutPrefix(head, "$EOF:")
	size, err := strconv.Atoi(head[1:])
	require.True(t, isMarked || err == nil, head)
	var b strings.Builder
	for isMarked && !strings.HasSuffix(b.String(), mark) || b.Len() < size {
		c, err := w.r.ReadByte()
		require.NoError(t, err)
		b.WriteByte(c)
	}
	return strings.TrimSuffix(b.String(), mark)
}
