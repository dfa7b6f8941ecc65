package server_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// untilStopped waits until a replica has stopped, and returns why.
func (f *fabric) untilStopped(replica *node) (why string) {
	f.t.Helper()
	f.until(func() bool {
		why = replica.field(f.t, "master_link_error")
		return strings.Contains(why, "cannot be followed")
	}, "the replica does not stop")
	require.Equal(f.t, "down", replica.field(f.t, "master_link_status"))
	return why
}

// TestDiskFullDuringSync: the replica keeps its keys, says why, and follows once there is room.
func TestDiskFullDuringSync(t *testing.T) {
	t.Parallel()
	f := newFabric(t)
	d := crashdisk.New(1)
	master, replica := f.node(ours), f.nodeOn(ours, d.FS())
	master.fill(t, "SET k "+strings.Repeat("incompressible0123456789", 10)+strings.Repeat("x", 1))
	for i := range 200 {
		master.fill(t, "SET key:"+strings.Repeat("k", i)+" v")
	}
	replica.fill(t, "SET own v")
	d.SetCapacity(d.Used() + 1000)
	host, port := master.hostPort()
	require.Equal(t, "+OK", replica.call(t, "REPLICAOF", host, port))
	f.until(func() bool {
		return strings.Contains(replica.field(t, "master_link_error"), "no space left")
	}, "no error")
	require.Equal(t, "$1\r\nv", replica.do(t, "GET own"))
	require.Equal(t, ":1", replica.do(t, "DBSIZE"))
	require.Empty(t, spools(d.Names()))
	d.SetCapacity(1 << 30)
	replica.jump(t, 2*time.Second)
	f.requireSame(replica, master)
	require.Empty(t, spools(d.Names()))
}

// spools returns the names of files for copies that arrive.
func spools(names []string) (out []string) {
	for _, name := range names {
		if strings.Contains(name, "temp-sync") {
			out = append(out, name)
		}
	}
	return out
}
