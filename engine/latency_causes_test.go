package engine_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/config"
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
	step := int64(1)
	e, _ := newTimedEngine(t, &step, "--maxmemory-policy", "allkeys-random",
		"--latency-monitor-threshold", "40")
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
	step = 40_000
	fill("b")
	step = 1
	ms := history(s, latency.Evict)
	require.NotEmpty(t, ms)
	for _, one := range ms {
		require.GreaterOrEqual(t, one, int64(40))
	}
}

// TestUnblockingEvent: serving a blocked client is a sample, and its wait is not in it.
func TestUnblockingEvent(t *testing.T) {
	step := int64(1)
	e, _ := newTimedEngine(t, &step, "--latency-monitor-threshold", "30")
	blocked, other := newSession(t, e), newSession(t, e)
	do(blocked, "blpop k 0")
	require.NotNil(t, blocked.Blocked())
	step = 10_000
	for range 10 {
		do(other, "ping") // time passes
	}
	do(other, "rpush k v")
	require.Equal(t, "[k v]", show(blocked.Resume()))
	step = 1
	require.Empty(t, history(other, latency.Unblocking), "it took 10 ms")

	do(blocked, "blpop k 0")
	step = 40_000
	do(other, "rpush k v")
	step = 1
	require.Equal(t, "[k v]", show(blocked.Resume()))
	require.Equal(t, []int64{40}, history(other, latency.Unblocking))
}

// TestGCEvent: a Tick adds the longest pause since the last one, of collections since the
// monitor is on.
func TestGCEvent(t *testing.T) {
	step := int64(1)
	e, _ := newTimedEngine(t, &step)
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

// startOnSlowDisk starts an engine over a slowDisk. Each reading of the clock is step
// microseconds after the last one.
func startOnSlowDisk(t *testing.T, step *atomic.Int64, directives ...string) (*slowDisk, *client) {
	t.Helper()
	cfg := config.New()
	require.NoError(t, cfg.ParseArgs(directives, nil))
	us := new(atomic.Int64)
	d := &slowDisk{FS: crashdisk.New(1).FS(), clock: us}
	p := &process{Engine: engine.New(engine.Options{
		Config: cfg, Disk: d, Shutdown: func() {},
		Clock: clock.New(clock.Sources{
			Monotonic: func() int64 { return us.Add(step.Load()) },
			Wall:      func() int64 { return startNowMs * 1000 },
		}),
	})}
	require.NoError(t, p.Open())
	require.NoError(t, p.Load(func() {}))
	t.Cleanup(func() { require.NoError(t, p.Close()) })
	return d, p.client(t)
}

// TestDiskEvents: under appendfsync always each write and each sync of the log is measured.
func TestDiskEvents(t *testing.T) {
	directives := append([]string{"--latency-monitor-threshold", "30"}, always...)
	d, s := startOnSlowDisk(t, new(atomic.Int64), directives...)
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
	var step atomic.Int64
	_, s := startOnSlowDisk(t, &step, "--latency-monitor-threshold", "30")
	do(s.Session, "set k v")
	step.Store(10_000)
	require.Equal(t, "OK", s.do("save"))
	step.Store(0)
	require.Empty(t, history(s.Session, latency.Snapshot))
	step.Store(20_000)
	require.Equal(t, "OK", s.do("save"))
	step.Store(0)
	require.Equal(t, []int64{40}, history(s.Session, latency.Snapshot), "one reading in between")
}
