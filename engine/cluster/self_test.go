package cluster_test

import (
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/config"
	"github.com/zlimit/zlimit/engine/cluster"
	"github.com/zlimit/zlimit/persist/disk"
)

func newSelf(t *testing.T, directives ...string) *cluster.Self {
	t.Helper()
	c := config.New()
	args := append([]string{"--cluster-enabled", "yes"}, directives...)
	require.NoError(t, c.ParseArgs(args, strings.NewReader("")))
	return cluster.NewSelf(c.View(), func() int { return 7000 }, func() int64 { return 42 })
}

func write(t *testing.T, on disk.FS, name, text string) {
	t.Helper()
	require.NoError(t, disk.WriteFile(on, name, name+".tmp", func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	}))
}

// TestIDPersists: the id is that of the file, also of one that Redis has written.
func TestIDPersists(t *testing.T) {
	on := disk.OS(t.TempDir())
	first := newSelf(t)
	require.NoError(t, first.Open(on))
	id := first.View(false).Nodes[0].ID
	require.Len(t, id, 40)

	again := newSelf(t)
	require.NoError(t, again.Open(on))
	require.Equal(t, id, again.View(false).Nodes[0].ID)

	other := newSelf(t, "--cluster-config-file", "other.conf")
	require.NoError(t, other.Open(on))
	require.NotEqual(t, id, other.View(false).Nodes[0].ID)

	const theirs = "0123456789abcdef0123456789abcdef01234567"
	write(t, on, "redis.conf", theirs+
		" 10.0.0.1:7000@17000,host myself,master - 0 1700000000000 3 connected 5 7-9\n"+
		"vars currentEpoch 3 lastVoteEpoch 0\n")
	migrated := newSelf(t, "--cluster-config-file", "redis.conf")
	require.NoError(t, migrated.Open(on))
	require.Equal(t, theirs, migrated.View(false).Nodes[0].ID)
}

// TestWithoutFile: a node without disk or file has an id of its own, and nothing is written.
func TestWithoutFile(t *testing.T) {
	dir, seen := t.TempDir(), map[string]bool{}
	for _, s := range []struct {
		self *cluster.Self
		on   disk.FS
	}{
		{newSelf(t), nil},
		{newSelf(t, "--cluster-config-file", ""), disk.OS(dir)},
		{newSelf(t, "--cluster-enabled", "no"), disk.OS(dir)},
	} {
		require.NoError(t, s.self.Open(s.on))
		id := s.self.View(false).Nodes[0].ID
		require.Len(t, id, 40)
		require.False(t, seen[id])
		seen[id] = true
	}
	names, err := disk.OS(dir).ReadDir(".")
	require.NoError(t, err)
	require.Empty(t, names)
}

func TestFilesThatAreRefused(t *testing.T) {
	const self = "0123456789abcdef0123456789abcdef01234567 :0@0 myself,master - 0 0 1 connected 0-16383\n"
	const other = "1123456789abcdef0123456789abcdef01234567 10.0.0.2:7000@17000 master - 0 0 2 connected\n"
	on := disk.OS(t.TempDir())
	for text, want := range map[string]string{
		"":                            "it names no node",
		"vars currentEpoch 1\n":       "it names no node",
		self + other:                  "it names other nodes",
		other:                         "it names other nodes",
		"x" + self[1:]:                "unexpected line",
		"0123 :0@0 myself,master\n":   "unexpected line",
		strings.Repeat("x y z\n", 10): "unexpected line",
	} {
		write(t, on, "nodes.conf", text)
		err := newSelf(t).Open(on)
		require.ErrorContains(t, err, "cluster-config-file")
		require.ErrorContains(t, err, want, text)
	}
	require.ErrorIs(t, newSelf(t, "--cluster-config-file", "../nodes.conf").Open(on), disk.ErrOutside)
}

// TestPorts: with tls-cluster, clients are told the port of their kind.
func TestPorts(t *testing.T) {
	for _, c := range []struct {
		directives     string
		tls            bool
		port, shown    int64
		tlsPort, busAt int64
	}{
		{"", false, 7000, 7000, 0, 17000},
		{"--tls-port 7001", true, 7000, 7000, 0, 17000}, // as Redis: clients of TLS are told the other port
		{"--tls-port 7001 --tls-cluster yes", true, 7000, 7001, 7001, 17001},
		{"--tls-port 7001 --tls-cluster yes", false, 7000, 7000, 7001, 17001},
		{"--tls-port 7001 --tls-cluster yes --cluster-announce-tls-port 9", true, 7000, 9, 9, 10009},
		{"--cluster-announce-port 8", false, 8, 8, 0, 10008},
		{"--cluster-port 5", false, 7000, 7000, 0, 5},
		{"--cluster-port 5 --cluster-announce-bus-port 6", false, 7000, 7000, 0, 6},
	} {
		v := newSelf(t, strings.Fields(c.directives)...).View(c.tls)
		n := v.Nodes[0]
		require.Equal(t, [3]int64{c.port, c.tlsPort, c.busAt}, [3]int64{n.Port, n.TLSPort, n.BusPort},
			c.directives)
		require.Equal(t, c.shown, v.Slots().Elems()[0].Elems()[2].Elems()[1].Int(), c.directives)
		require.Equal(t, int64(42), n.Offset)
	}
}
