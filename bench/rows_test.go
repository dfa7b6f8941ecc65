package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRowsAreSane(t *testing.T) {
	names := make(map[string]bool)
	list := rows()
	require.LessOrEqual(t, len(list), 36, "a run by itself has to end before one has forgotten it")
	for _, r := range append(append(list, namedRows()...), full()...) {
		require.NotContains(t, names, r.name)
		names[r.name] = true
		require.Regexp(t, `^[a-z0-9-]+$`, r.name)
		require.NotEmpty(t, r.about, r.name)
		require.GreaterOrEqual(t, r.floor, 0.0, r.name)
		if len(r.sides) > 0 {
			sane(t, &r)
		}
	}
}

// sane checks a row that is a closed loop.
func sane(t *testing.T, r *row) {
	require.Positive(t, r.connections, r.name)
	require.Positive(t, r.keys, r.name)
	require.Less(t, r.keys, uint64(probeKey), r.name)
	require.Positive(t, r.quota.limit, r.name)
	require.False(t, r.mix == admitting && !r.renew && r.span == 0 && !r.keep,
		"%s: a row that admits must keep admitting", r.name)
	require.Less(t, int64(r.fillTimes+2*r.span), r.quota.limit+1, "%s: keys fill up", r.name)
	require.Equal(t, len(r.fill) > 0, r.fillTimes > 0, r.name)
	require.Equal(t, r.span > 0, r.parts > 0, r.name)
	if r.mix == denying {
		require.Positive(t, r.fillTimes, "%s: a row that denies has full keys", r.name)
	}
	require.GreaterOrEqual(t, len(r.sides), 2, r.name)
	for _, c := range r.sides[1:] {
		require.Equal(t, len(r.sides) > 2, c.suffix != "", "%s: each comparison has a name", r.name)
	}
	require.Equal(t, ourServer, r.sides[0].program, r.name)
	for i, c := range r.sides {
		require.NotEmpty(t, c.flow, r.name)
		verdicts := 0
		for _, s := range c.flow {
			require.NotEmpty(t, s.commands, r.name)
			require.GreaterOrEqual(t, len(s.replies), len(s.commands), "%s: every reply has a line at least",
				r.name)
			for _, l := range s.replies {
				require.False(t, strings.HasPrefix(l.text, "-"), "%s: no row expects an error", r.name)
				require.True(t, l.text != "" ||
					l.rest != anyText, "%s: a line that anything matches checks nothing", r.name)
				if l.rest == verdict || l.rest == below || l.rest == within {
					verdicts++
				}
			}
		}
		want := 0
		if r.mixOf(c) != undecided {
			want = 1
		}
		require.Equal(t, want, verdicts, "%s: verdicts in a flow of side %d", r.name, i)
		b := assemble(c.flow, r.pipeline, r.quota)
		for _, s := range b.steps {
			require.NotContains(t, strings.ReplaceAll(string(s.buf), "{"+keyPrefix, ""), "{",
				"%s: a placeholder that nobody knows", r.name)
		}
	}
}

// TestFloors guards the targets against accidental changes.
func TestFloors(t *testing.T) {
	loops := slices.DeleteFunc(rows(), func(r row) bool { return len(r.sides) == 0 })
	require.Equal(t, map[string]float64{
		"ping-1": 0.95, "ping-16": 0.95, "incr-1": 0.95, "incr-16": 0.95, "setget-16": 0.95, "zadd-1": 0.95,
		"zadd-16": 0.95,
		"allow-1": 1.6, "allow-16": 12, "wire-16": 0.75, "top-16": 0.98,
		"evalsha-1": 1.3, "evalsha-16": 4, "library-1": 1.2, "library-16": 2,
		"multi-16": 1.5, "commands-1": 1.5, "replica-16": 0.75,
		"hits-10": 0, "hits-200": 0, "million": 0, // they have a target for each comparison
	}, floorsOf(loops))
	own := make(map[string]target)
	for _, r := range loops {
		for _, c := range r.sides {
			if to := r.targetOf(c, false); c.suffix != "" && to.floor > 0 {
				own[r.name+c.suffix] = to
			}
		}
	}
	require.Equal(t, map[string]target{
		"hits-10-ping": {1 / 1.4, 1.4}, "hits-10-script": {floor: 12},
		"hits-200-ping": {1 / 1.4, 1.4}, "hits-200-script": {floor: 12}, "million-ping": {1 / 1.6, 1.6},
	}, own)
	for _, r := range full() {
		require.Zero(t, r.floor, r.name)
	}
	require.Equal(t, map[string]float64{
		"inside": 1, "cores": 1.8, "same-rate": 1, "window": 0.5, "memory": 1, "collector": 1 / 1.2,
		"storm": 0.5, "sync": 0.5, "waits": 0, "start": 1, "benchmark": 0, "tls": 0.75,
		"gateway": 2,
	}, floorsOf(otherRows()))
	require.Equal(t, map[string]float64{
		"everysec-16": 0.9, "everysec-zadd-16": 0.9, "everysec-set-16": 0.9, "always-1": 0.9, "bgsave": 0.5,
		"start-log": 1,
	}, floorsOf(storageRows()))
	own = make(map[string]target)
	for _, r := range termRows() {
		require.Zero(t, r.floor, r.name)
		for _, c := range r.sides {
			if to := r.targetOf(c, false); to.floor > 0 {
				own[r.name+c.suffix] = to
			}
		}
	}
	require.Equal(t, map[string]target{
		"reserve-4-script": {1 / 0.77, 0.77}, "reserve-16-script": {1 / 3.08, 3.08},
	}, own)
	for floor, rows := range map[float64][]row{1: slices.Concat(stallRows(), crowdRows()), 2: libraryRows()} {
		for _, r := range rows {
			require.InDelta(t, floor, r.floor, 0, r.name)
		}
	}
	for _, h := range keyspaces {
		require.Positive(t, h.floor, h.name)
	}
}

func floorsOf(rows []row) map[string]float64 {
	floors := make(map[string]float64)
	for _, r := range rows {
		floors[r.name] = r.floor
	}
	return floors
}

func TestTarget(t *testing.T) {
	r := row{floor: 3}
	require.InDelta(t, 3, r.target(false), 0)
	require.InDelta(t, 1.5, r.target(true), 0)
	r.quickFloor = 1
	require.InDelta(t, 3, r.target(false), 0)
	require.InDelta(t, 1, r.target(true), 0)
	require.Equal(t, target{floor: 3}, r.targetOf(contender{}, false))
	require.Equal(t, target{floor: 1}, r.targetOf(contender{}, true))
	require.Equal(t, target{floor: 12}, r.targetOf(contender{suffix: "-script", floor: 12}, false))
	require.Equal(t, target{floor: 0.5, atMost: 2}, r.targetOf(contender{suffix: "-ping", atMost: 2}, false))
	require.Zero(t, r.targetOf(contender{joins: true}, false))
}

func TestChoose(t *testing.T) {
	names := func(rows []row) (out []string) {
		for _, r := range rows {
			out = append(out, r.name)
		}
		return out
	}
	list, err := choose("", false, false)
	require.NoError(t, err)
	require.Len(t, list, len(rows()))
	matrix, err := choose("", false, true)
	require.NoError(t, err)
	require.Len(t, matrix, len(namedRows())+len(full()))
	quick, err := choose("", true, false)
	require.NoError(t, err)
	require.Equal(t, []string{"ping-16", "allow-1", "allow-16", "gateway"}, names(quick))
	named, err := choose("zadd-16, ping-1,evalsha-p16-c50-*-10k-denied", true, false)
	require.NoError(t, err)
	require.Equal(t,
		[]string{
			"zadd-16", "ping-1", "evalsha-p16-c50-uniform-10k-denied",
			"evalsha-p16-c50-zipf-10k-denied",
		}, names(named))
	_, err = choose("ping-2", false, false)
	require.ErrorContains(t, err, `"ping-2"`)
	_, err = choose("ping-[", false, false)
	require.ErrorContains(t, err, "pattern")
}
