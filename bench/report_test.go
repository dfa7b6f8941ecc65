package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// sideOf returns a side with these rounds.
func sideOf(name string, rounds []round) *side {
	return &side{serverProcess: &serverProcess{name: name}, rounds: rounds}
}

// concluded calls conclude with ours and redis.
func concluded(r row, ours, redis []round, floor float64) result {
	return conclude(r, floor, sideOf("ours", ours), sideOf("redis", redis))
}

func rounds(perSecond ...float64) (out []round) {
	for _, v := range perSecond {
		out = append(out, round{
			PerSecond: v, P50: 500 * time.Microsecond, P99: time.Millisecond, CPUPerMega: 1e6 / v,
			RSS: 20e6, ServerBusy: 0.99, ClientBusy: 0.6,
		})
	}
	return out
}

func TestConclude(t *testing.T) {
	r := row{name: "allow-1"}
	res := concluded(r, rounds(130, 150, 140), rounds(100, 100, 100), 1.3)
	require.Equal(t, ratio{OfMedians: 1.4, Min: 1.3, Max: 1.5}, res.Ratio)
	require.InDelta(t, 1.4, res.CPURatio.OfMedians, 1e-9)
	require.False(t, res.Missed)
	require.Empty(t, res.Warnings)

	low := rounds(120, 120, 200)
	require.True(t, concluded(r, low, rounds(100, 100, 100), 1.3).Missed,
		"the median counts, not the best round")
	require.False(t, concluded(r, low, rounds(100, 100, 100), 0.65).Missed)
}

// TestFloorsAreOfProcessorTime gives throughput and processor time opposite verdicts.
func TestFloorsAreOfProcessorTime(t *testing.T) {
	with := func(perSecond, micros float64) []round {
		return []round{{PerSecond: perSecond, CPUPerMega: micros}}
	}
	slow := concluded(row{name: "x"}, with(50, 1), with(100, 2), 1.5)
	require.False(t, slow.Missed, "half as fast in a busy minute, but at half the cost")
	require.InDelta(t, 0.5, slow.Ratio.OfMedians, 1e-9)
	fast := concluded(row{name: "x"}, with(200, 2), with(100, 2), 1.5)
	require.True(t, fast.Missed)
	require.Equal(t, []string{"x: 1.00 times redis, the floor is 1.50"},
		(&report{Rows: []result{fast}}).misses())

	short := concluded(row{name: "x"}, with(200, 0), with(100, 0), 1.5)
	require.Nil(t, short.CPURatio, "too short for the kernel's clock")
	require.False(t, short.Missed, "throughput counts then")
}

func TestWarnings(t *testing.T) {
	with := func(change func(*round)) []string {
		ours := rounds(100, 100, 100)
		for i := range ours {
			change(&ours[i])
		}
		return concluded(row{name: "x"}, ours, rounds(100, 100, 100), 0).Warnings
	}
	require.Empty(t, with(func(r *round) { r.ClientBusy = 0.99 }), "both are full")
	full := with(func(r *round) { r.ClientBusy, r.ServerBusy = 0.97, 0.8 })
	require.Len(t, full, 1)
	require.Contains(t, full[0], "only a lower bound")
	require.Contains(t, with(func(r *round) { r.Disturbed = 0.3 })[0], "in 3 of 3 rounds")
	require.Contains(t, with(func(r *round) { r.Disturbed = 0.3 })[0], "up to 30% of a core")
	require.Empty(t, with(func(r *round) { r.Disturbed = tolerated }))
	require.Contains(t, with(func(r *round) { r.Repeated = 2 })[0], "6 rounds were repeated")
	require.Contains(t, with(func(r *round) { r.IdleBusy = 0.05 })[0], "idle servers")

	redis := rounds(100)
	redis[0].ClientBusy, redis[0].ServerBusy = 0.97, 0.8
	require.Contains(t, concluded(row{}, rounds(100), redis, 0).Warnings[0], "only an upper bound")
}

func sample() *report {
	return &report{
		Machine: "a machine", Placement: "somewhere", Rounds: 3, Seconds: 2,
		Versions: map[program]string{ourServer: "1", redisServer: "7.0.15"},
		Rows: []result{
			concluded(row{name: "ping-1", about: "PING", pipeline: 1, connections: 50, keys: 10},
				rounds(90e3), rounds(100e3), 0),
			concluded(row{name: "allow-1", about: "RL.ALLOW", pipeline: 1, connections: 50, keys: 10},
				rounds(120e3), rounds(100e3), 1.3),
			weigh("memory", "of a key", "bytes a key", 2, series{"ours", []float64{50}},
				series{"redis", []float64{150}}),
		},
	}
}

func TestWriteText(t *testing.T) {
	var out strings.Builder
	require.NoError(t, sample().writeText(&out))
	text := strings.Join(strings.Fields(out.String()), " ")
	require.Contains(t, text,
		"ping-1 0.90 0.90-0.90 - 11.1 us redis 10 us 0.90 90.0k/s 100.0k/s 500 / 500 us")
	require.Contains(t, text, "memory 3.00 3.00-3.00 2.00 50 bytes a key redis 150 bytes a key")
	require.Contains(t, text, "zlimit 1, redis 7.0.15.")
	require.Contains(t, text, "1.30 MISSED")
	require.Contains(t, text, "FLOOR MISSED allow-1: 1.20 times redis, the floor is 1.30")
}

func TestWriteJSON(t *testing.T) {
	name := filepath.Join(t.TempDir(), "out.json")
	require.NoError(t, sample().save(name))
	text, err := os.ReadFile(name)
	require.NoError(t, err)
	var back report
	require.NoError(t, json.Unmarshal(text, &back))
	require.Equal(t, *sample(), back)
}

func TestWeigh(t *testing.T) {
	ours, other := series{"ours", []float64{2, 4}}, series{"redis", []float64{3, 4}}
	waits := weigh("", "", "ms", 1.1, ours, other)
	require.Equal(t, ratio{OfMedians: 3.5 / 3, Min: 1, Max: 1.5}, waits.Ratio, "the lower wait is better")
	require.False(t, waits.Missed)
	require.True(t, weigh("", "", "ms", 1.2, ours, other).Missed)
	require.InDelta(t, 3.0, waits.Ours.Value, 0)
	require.InDelta(t, 3.5, waits.Reference.Value, 0)
	rate := weigh("", "", "/s", 0.8, ours, other)
	require.InDelta(t, 3/3.5, rate.Ratio.OfMedians, 1e-9, "the higher rate is better")
	require.False(t, rate.Missed)
	require.True(t, weigh("", "", "share", 0.9, ours, other).Missed)
}

func TestAdmits(t *testing.T) {
	require.NoError(t, (&tally{all: 1000, admitted: 991, denied: 9}).admits())
	require.ErrorIs(t, (&tally{all: 1000, admitted: 900, denied: 100}).admits(), errVerdicts)
	require.ErrorIs(t, (&tally{all: 10, admitted: 5, denied: 4}).admits(), errVerdicts,
		"a flow without a verdict")
}

func TestJudge(t *testing.T) {
	require.NoError(t, judge(true, &tally{admitted: 100, denied: 20}, 100))
	require.NoError(t, judge(false, &tally{}, 100))
	for _, wrong := range []*tally{{admitted: 120}, {admitted: 101, denied: 19}, {denied: 120}, {}} {
		require.ErrorIs(t, judge(true, wrong, 100), errVerdicts)
	}
	require.ErrorIs(t, judge(false, &tally{admitted: 1}, 100), errVerdicts)
}

// TestWarningOfPauses checks that the report mentions only pauses of more
// than a millisecond.
func TestWarningOfPauses(t *testing.T) {
	still, paused := &tally{whole: time.Second}, &tally{whole: time.Second}
	still.turned(minPause - 1)
	for _, took := range []time.Duration{minPause, 17 * time.Millisecond, 2 * time.Millisecond} {
		paused.turned(took)
	}
	var quiet, loud result
	quiet.warnAway([]*tally{still})
	require.Empty(t, quiet.Warnings)
	loud.warnAway([]*tally{still, paused})
	require.Len(t, loud.Warnings, 1)
	require.Contains(t, loud.Warnings[0], "up to 17.0 ms at once, 1.0% of the time")
}
