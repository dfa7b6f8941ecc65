package cluster

import (
	"context"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/compat/cluster/nodes"
	"github.com/zlimit/zlimit/lab/abuse"
)

// startServer starts a zlimit-server without an upstream, which ends with the test.
func startServer(t *testing.T) (addr string) {
	t.Helper()
	dir := t.TempDir()
	p, err := abuse.Start(t.Context(), zlimit, dir, &abuse.Row{Directives: []string{"--dir", dir}})
	require.NoError(t, err)
	t.Cleanup(p.Stop)
	return p.Addr
}

// export runs zlimit-server --export.
func export(t *testing.T, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), nodes.Patience)
	defer cancel()
	out, err := exec.CommandContext(ctx, zlimit, append([]string{"--export"}, args...)...).CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
	return string(out)
}

// fillIdle writes keys that no caller uses, so that a copy takes a while.
func fillIdle(t *testing.T, addr string, n int) {
	t.Helper()
	client := plainClient(addr)
	defer client.Close()
	for from := 0; from < n; from += 1000 {
		p := client.Pipeline()
		for i := from; i < from+1000; i++ {
			p.Do(t.Context(), "RL.ALLOW", "idle:"+strconv.Itoa(i), 10, "1h")
		}
		_, err := p.Exec(t.Context())
		require.NoError(t, err)
	}
}

// TestExport: callers move from a server to a cluster, and back to another server, while they ask. No limit
// is exceeded across the moves, and no unit is lost or counted twice.
func TestExport(t *testing.T) {
	t.Parallel()
	r := startRig(t, nodes.Options{Masters: 3}, patient)
	first, last := startServer(t), startServer(t)
	fillIdle(t, first, 20_000)
	d := startLoad(t, 2, first)
	d.awaitReplies(t, 40)

	export(t, r.URL(), "--from", "redis://"+first)
	d.move(t, r.addrs()[0])
	d.awaitReplies(t, 40)

	export(t, "redis://"+last, "--from", r.URL())
	d.move(t, last)
	d.awaitReplies(t, 40)
	d.stop()

	for tag := range tags {
		calls := d.all(tag)
		units, _ := acknowledged(calls)
		require.Equal(t, units, used(t, last, tag), "tag %d: units were lost or counted twice", tag)
		require.LessOrEqual(t, excess(calls), 0, "tag %d: units above the limit in a window", tag)
	}
	require.NoError(t, d.unexpected(func(int) bool { return true }, []string{"NOREPLICAS"}))
	longest, silence := d.waits(func(int) bool { return true })
	t.Logf("the longest call took %v, the longest time without a decision was %v", longest, silence)
}

// TestExportNothing: without a move the judge of TestExport finds that limits begin again.
func TestExportNothing(t *testing.T) {
	t.Parallel()
	first, second := startServer(t), startServer(t)
	d := startLoad(t, 2, first)
	d.awaitReplies(t, 40)
	d.move(t, second)
	d.awaitReplies(t, 40)
	d.stop()
	for tag := range tags {
		calls := d.all(tag)
		units, _ := acknowledged(calls)
		require.Less(t, used(t, second, tag), units)
	}
}

// TestExportFiles: the keys of a log and of a snapshot move, with the instants at which they end.
func TestExportFiles(t *testing.T) {
	t.Parallel()
	r := startRig(t, nodes.Options{Masters: 3}, patient)
	for i, directives := range [][]string{{"--appendonly", "yes"}, {"--dbfilename", "kept.rdb"}} {
		dir := t.TempDir()
		directives = append(directives, "--dir", dir)
		p, err := abuse.Start(t.Context(), zlimit, dir, &abuse.Row{Directives: directives})
		require.NoError(t, err)
		t.Cleanup(p.Stop)
		fillIdle(t, p.Addr, 2000)
		client := plainClient(p.Addr)
		require.NoError(t, client.Do(t.Context(), "RL.ALLOW", "kept", 10, "1h", "COST", 4).Err())
		until, err := client.Do(t.Context(), "PEXPIRETIME", "kept").Int64()
		require.NoError(t, err)
		require.NoError(t, client.Save(t.Context()).Err())
		require.NoError(t, client.Close())
		p.Stop()

		args := append([]string{r.URL()}, directives...)
		if i > 0 {
			args = append([]string{r.URL(), "--replace"}, directives...)
		}
		require.Contains(t, export(t, args...), "2001 keys were copied")
		gateway := plainClient(r.addrs()[0])
		defer gateway.Close()
		reply, err := gateway.Do(t.Context(), "RL.ALLOW", "kept", 10, "1h", "PEEK").Slice()
		require.NoError(t, err)
		require.EqualValues(t, 6, reply[2])
		has, err := gateway.Do(t.Context(), "PEXPIRETIME", "kept").Int64()
		require.NoError(t, err)
		require.Equal(t, until, has)
		n, err := r.Count(t.Context(), "DBSIZE")
		require.NoError(t, err)
		require.EqualValues(t, 2001, n)
	}
}
