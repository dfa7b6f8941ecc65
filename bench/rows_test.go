package main

import (
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRowsAreSane(t *testing.T) {
	names := make(map[string]bool)
	quick := 0
	for _, r := range rows() {
		t.Run(r.name, func(t *testing.T) {
			require.NotContains(t, names, r.name)
			names[r.name] = true
			require.Regexp(t, `^[a-z]+-[0-9]+$`, r.name)
			require.True(t, strings.HasSuffix(r.name, "-"+strconv.Itoa(r.pipeline)), "a name ends in its pipeline depth")
			require.NotEmpty(t, r.about)
			require.Positive(t, r.connections)
			require.Positive(t, r.keys)
			require.Less(t, r.keys, uint64(probeKey))
			require.GreaterOrEqual(t, r.floor, 0.0)
			require.False(t, r.decides && !r.renew, "a row that decides must keep admitting")
			for _, f := range []flow{r.ours, r.redis} {
				require.NotEmpty(t, f)
				verdicts := 0
				for _, s := range f {
					require.NotEmpty(t, s.commands)
					require.GreaterOrEqual(t, len(s.replies), len(s.commands), "every reply has a line at least")
					for _, l := range s.replies {
						require.False(t, strings.HasPrefix(l.text, "-"), "no row expects an error")
						require.True(t, l.text != "" || l.rest != anyText, "a line that anything matches checks nothing")
						if l.rest == verdict || l.rest == below || l.rest == within {
							verdicts++
						}
					}
				}
				want := 0
				if r.decides {
					want = 1
				}
				require.Equal(t, want, verdicts, "verdicts in a flow")
				b := assemble(f, r.pipeline, perMinute)
				for _, s := range b.steps {
					require.NotContains(t, string(s.buf), "{", "a placeholder that nobody knows")
				}
			}
		})
		if r.quick {
			quick++
		}
	}
	require.Positive(t, quick)
}

// TestFloors keeps anyone from lowering a floor by accident.
func TestFloors(t *testing.T) {
	floors := make(map[string]float64)
	for _, r := range rows() {
		if r.floor > 0 {
			floors[r.name] = r.floor
		}
	}
	require.Equal(t, map[string]float64{"allow-1": 1.3, "allow-16": 6}, floors)
}

func TestChoose(t *testing.T) {
	names := func(rows []row) (out []string) {
		for _, r := range rows {
			out = append(out, r.name)
		}
		return out
	}
	all, err := choose(rows(), "", false)
	require.NoError(t, err)
	require.Len(t, all, len(rows()))
	quick, err := choose(rows(), "", true)
	require.NoError(t, err)
	require.Equal(t, []string{"ping-16", "allow-1", "allow-16"}, names(quick))
	named, err := choose(rows(), "zadd-16, ping-1", true)
	require.NoError(t, err)
	require.Equal(t, []string{"zadd-16", "ping-1"}, names(named))
	_, err = choose(rows(), "ping-2", false)
	require.ErrorContains(t, err, `"ping-2"`)
}
