package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/engine/latency"
	"github.com/zlimit/zlimit/persist/disk"
	"github.com/zlimit/zlimit/persist/disk/crashdisk"
)

// history returns the samples of an event in milliseconds.
func history(s *engine.Session, event string) (ms []int64) {
	for _, sample := range s.Do(args("latency history " + event)).Elems() {
		ms = append(ms, sample.Elems()[1].Int())
	}
	return ms
}

// TestEvictionCycle: a command that makes room adds a sample, and a background one does.
func TestEvictionCycle(t *testing.T) {
	e, h := newEngine(t, "--maxmemory-policy", "allkeys-random",
		"--latency-monitor-threshold", "40")
	h.step.Store(1)
	s := newSession(t, e)
	bound(t, e, s, 50_000)
	fill := func(round string) {
		for i := range 1000 {
			do(s, fmt.Sprintf("set key:%s:%d some-value", round, i))
		}
	}
	fill("a")
	require.NotEqual(t, "0", infoOf(s, "evicted_keys"))
	require.Empty(t, history(s, latency.Evict), "each cycle was short")
	h.step.Store(40_000)
	fill("b")
	h.step.Store(1)
	ms := history(s, latency.Evict)
	require.NotEmpty(t, ms)
	for _, one := range ms {
		require.GreaterOrEqual(t, one, int64(40))
	}
}

// TestGCEvent: a Tick adds the longest pause since the last one, of collections since the
// monitor is on.
func TestGCEvent(t *testing.T) {
	e, h := newEngine(t)
	h.step.Store(1)
	s := newSession(t, e)
	var pauses []int64 // of each collection
	e.SetGCPause(func(since int64) (us, collections int64) {
		for _, pause := range pauses[since:] {
			us = max(us, pause)
		}
		return us, int64(len(pauses))
	})
	collect := func(us ...int64) []int64 {
		pauses = append(pauses, us...)
		e.Tick()
		return history(s, latency.GC)
	}
	require.Empty(t, collect(90_000), "the monitor is off")
	do(s, "config set latency-monitor-threshold 30")
	require.Empty(t, collect(80_000), "it may have been before the monitor was on")
	require.Empty(t, collect(20_000, 29_999))
	require.Empty(t, collect())
	require.Equal(t, []int64{40}, collect(20_000, 40_000, 35_000))
	do(s, "latency reset")
	require.Empty(t, collect(), "no collection counts twice")
}

// A slowDisk is a disk on which writes and syncs take time.
type slowDisk struct {
	disk.FS
	clock           *atomic.Int64
	writeUs, syncUs atomic.Int64
}

func (d *slowDisk) OpenAppend(name string) (disk.File, error) {
	f, err := d.FS.OpenAppend(name)
	return slowFile{f, d}, err
}

func (d *slowDisk) Create(name string) (disk.File, error) {
	f, err := d.FS.Create(name)
	return slowFile{f, d}, err
}

type slowFile struct {
	disk.File
	on *slowDisk
}

func (f slowFile) Write(p []byte) (int, error) {
	f.on.clock.Add(f.on.writeUs.Load())
	return f.File.Write(p)
}

func (f slowFile) Sync() error {
	f.on.clock.Add(f.on.syncUs.Load())
	return f.File.Sync()
}

// startOnSlowDisk starts an engine over a slowDisk.
func startOnSlowDisk(t *testing.T, directives ...string) (*slowDisk, *client, *hands) {
	t.Helper()
	d := &slowDisk{FS: crashdisk.New(1).FS()}
	p := prepare(t, d, directives...)
	d.clock = &p.hands.us
	require.NoError(t, p.Open())
	require.NoError(t, p.Load(func() {}))
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return d, p.client(t), p.hands
}

// TestDiskEvents: under appendfsync always each write and each sync of the log is measured.
func TestDiskEvents(t *testing.T) {
	directives := append([]string{"--latency-monitor-threshold", "30"}, always...)
	d, s, _ := startOnSlowDisk(t, directives...)
	write := func(writeUs, syncUs int64) {
		d.writeUs.Store(writeUs)
		d.syncUs.Store(syncUs)
		do(s.Session, "set k v")
		require.NoError(t, s.WaitDurable())
	}
	write(29_999, 29_999)
	require.Empty(t, history(s.Session, latency.AOFWrite))
	require.Empty(t, history(s.Session, latency.AOFSync))
	write(40_000, 50_000)
	require.Equal(t, []int64{40}, history(s.Session, latency.AOFWrite))
	require.Equal(t, []int64{50}, history(s.Session, latency.AOFSync))
	write(60_000, 0)
	require.Equal(t, []int64{60}, history(s.Session, latency.AOFWrite), "the longest of the second")
	require.Equal(t, []int64{50}, history(s.Session, latency.AOFSync))
}

// TestSnapshotEvent: the time for which every shard is locked at the beginning of a
// snapshot is measured, and not that of writing it.
func TestSnapshotEvent(t *testing.T) {
	_, s, h := startOnSlowDisk(t, "--latency-monitor-threshold", "30")
	do(s.Session, "set k v")
	h.step.Store(10_000)
	require.Equal(t, "OK", s.do("save"))
	h.step.Store(0)
	require.Empty(t, history(s.Session, latency.Snapshot))
	h.step.Store(20_000)
	require.Equal(t, "OK", s.do("save"))
	h.step.Store(0)
	require.Equal(t, []int64{40}, history(s.Session, latency.Snapshot), "one reading in between")
}
