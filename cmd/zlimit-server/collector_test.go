package main

import (
	"math"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

const mb = 1 << 20

func TestGCPercent(t *testing.T) {
	for live, want := range map[uint64]int{
		0: 400, 8 * mb: 400, 9 * mb: 200, 16 * mb: 200, 17 * mb: 100,
		33 * mb: 50, 1 << 40: 50,
	} {
		require.Equal(t, want, gcPercent(live, 0), "%d bytes", live)
	}
}

func TestGCPercentNearMaxmemory(t *testing.T) {
	for _, c := range []struct {
		live, maxmemory uint64
		want            int
	}{
		{100 * mb, 0, 50},
		{100 * mb, 200 * mb, 50}, // half of it: there is room
		{160 * mb, 200 * mb, 37},
		{180 * mb, 200 * mb, 22},
		{200 * mb, 200 * mb, 15},
		{500 * mb, 200 * mb, 15}, // noeviction, and a limit set too late
		{8 * mb, 10 * mb, 37},
		{mb, math.MaxInt64, 400},
	} {
		require.Equal(t, c.want, gcPercent(c.live, c.maxmemory), "%+v", c)
	}
}

// TestKeeper has cases of seconds, each with a state and whether memory is returned.
func TestKeeper(t *testing.T) {
	type second struct {
		state
		due bool
	}
	full := state{objects: 200 * mb, live: 190 * mb, held: 150 * mb, collections: 9}
	after := func(s state, change func(*state)) state { change(&s); return s }
	for name, seconds := range map[string][]second{
		"nothing to give": {{full, false}, {full, false}, {full, false}},
		"everything expired": {
			{full, false},
			{after(full, func(s *state) { s.held = 0 }), true},
			{state{objects: 10 * mb, live: 9 * mb, collections: 10}, false},
			{state{objects: 10 * mb, live: 9 * mb, collections: 10}, false},
		},
		"most keys expired, not yet counted": {
			{after(full, func(s *state) { s.keys = 1_000_000 }), false},
			{after(full, func(s *state) { s.keys = 10_000 }), true},
			{after(full, func(s *state) { s.keys, s.collections = 10_000, 10 }), false},
			{after(full, func(s *state) { s.keys, s.collections = 0, 10 }), false}, // too soon
		},
		"traffic, half of the keys expired": {
			{after(full, func(s *state) { s.keys, s.commands = 1_000_000, 50_000 }), false},
			{after(full, func(s *state) { s.keys, s.commands = 600_000, 100_000 }), false},
			{after(full, func(s *state) { s.keys, s.commands = 400_000, 150_000 }), true},
		},
		"collected while keys expired": {
			{after(full, func(s *state) { s.keys = 1_000_000 }), false},
			{after(full, func(s *state) { s.keys, s.held = 500_000, 75*mb }), true},
			{state{objects: 100 * mb, live: 95 * mb, collections: 10}, false}, // the rest expired after it
			{state{objects: 100 * mb, live: 95 * mb, collections: 10}, false},
			{state{objects: 100 * mb, live: 95 * mb, collections: 10}, false},
			{state{objects: 100 * mb, live: 95 * mb, collections: 10}, false},
			{state{objects: 100 * mb, live: 95 * mb, collections: 10}, false},
			{state{objects: 100 * mb, live: 95 * mb, collections: 10}, true},
			{state{objects: 9 * mb, live: 9 * mb, collections: 11}, false},
		},
		"few of many": {
			{after(full, func(s *state) { s.keys = 1_000_000 }), false},
			{after(full, func(s *state) { s.keys = 950_000 }), false},
		},
		"a fill that left garbage": {
			{after(full, func(s *state) { s.objects, s.commands = 260*mb, 50_000 }), false},
			{after(full, func(s *state) { s.objects, s.commands = 260*mb, 50_900 }), true},
		},
		"free already, not yet returned": {{after(full, func(s *state) { s.free = 30 * mb }), true}},
		"little":                         {{state{objects: 9 * mb, live: 2 * mb, free: mb / 2}, false}},
		"collected by itself in between": {
			{full, false},
			{
				after(full, func(s *state) {
					s.held, s.collections, s.objects, s.live = 0, 10, 20*mb, 20*mb
				}),
				false,
			},
		},
		"traffic, garbage as always": {
			{after(full, func(s *state) { s.objects, s.commands = 390*mb, 50_000 }), false},
			{after(full, func(s *state) { s.objects, s.commands = 390*mb, 100_000 }), false},
		},
		"traffic, most of it expired": {
			{after(full, func(s *state) { s.commands = 50_000 }), false},
			{after(full, func(s *state) { s.commands, s.held = 100_000, 10*mb }), true},
			{after(full, func(s *state) { s.commands, s.held, s.collections = 150_000, 90*mb, 10 }), false},
			// Too soon after the last.
			{after(full, func(s *state) { s.commands, s.held, s.collections = 200_000, mb, 10 }), false},
		},
	} {
		t.Run(name, func(t *testing.T) {
			k := keeper{sinceReturn: busyPause}
			for i, s := range seconds {
				require.Equal(t, s.due, k.due(s.state), "second %d", i)
			}
		})
	}
}

// TestKeeperPauses checks that a keeper does not return memory twice in quick
// succession, whatever the state.
func TestKeeperPauses(t *testing.T) {
	k := keeper{sinceReturn: quietPause}
	wasteful := state{objects: 100 * mb, live: 10 * mb}
	yes := 0
	for range 10 * (quietPause + 1) {
		if k.due(wasteful) {
			yes++
		}
	}
	require.Equal(t, 10, yes)
}

func TestMachineMemory(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	meminfo := file("MemTotal:       16384 kB\nMemFree:        5 kB\n")
	for name, c := range map[string]struct {
		files fstest.MapFS
		want  int64
	}{
		"nothing known": {fstest.MapFS{}, 0},
		"a machine":     {fstest.MapFS{"proc/meminfo": meminfo}, 16 * mb},
		"no bound": {fstest.MapFS{
			"proc/meminfo":             meminfo,
			"sys/fs/cgroup/memory.max": file("max\n"),
		}, 16 * mb},
		"a container": {fstest.MapFS{
			"proc/meminfo":             meminfo,
			"sys/fs/cgroup/memory.max": file("4194304\n"),
		}, 4 * mb},
		"more than there is": {fstest.MapFS{
			"proc/meminfo":             meminfo,
			"sys/fs/cgroup/memory.max": file("41943040\n"),
		}, 16 * mb},
		"a service": {fstest.MapFS{
			"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/system.slice/zlimit.service\n"),
			"sys/fs/cgroup/system.slice/zlimit.service/memory.max": file("3145728\n"),
		}, 3 * mb},
		"bound from above": {fstest.MapFS{
			"proc/meminfo": meminfo, "proc/self/cgroup": file("0::/system.slice/zlimit.service\n"),
			"sys/fs/cgroup/system.slice/memory.max":                file("2097152\n"),
			"sys/fs/cgroup/system.slice/zlimit.service/memory.max": file("3145728\n"),
		}, 2 * mb},
		"version 1": {fstest.MapFS{
			"proc/meminfo": meminfo, "proc/self/cgroup": file("5:cpuset:/\n4:memory:/job\n0::/\n"),
			"sys/fs/cgroup/memory/job/memory.limit_in_bytes": file("1048576\n"),
			"sys/fs/cgroup/memory/memory.limit_in_bytes":     file("9223372036854771712\n"),
		}, mb},
		"nonsense": {fstest.MapFS{
			"proc/meminfo":     file("MemTotal: x kB\n\nMemTotal:\n"),
			"proc/self/cgroup": file("\n:\nx\n"), "sys/fs/cgroup/memory.max": file("-1"),
		}, 0},
	} {
		t.Run(name, func(t *testing.T) { require.Equal(t, c.want, machineMemory(c.files)) })
	}
}
