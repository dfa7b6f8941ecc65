package engine_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// field returns the value of one line of INFO.
func field(t *testing.T, s *engine.Session, section, name string) string {
	t.Helper()
	for line := range strings.SplitSeq(do(s, "INFO "+section), "\r\n") {
		if value, ok := strings.CutPrefix(line, name+":"); ok {
			return value
		}
	}
	return "none"
}

// callsOf returns "calls/rejected/failed" of a command, "none" if it was not called.
func callsOf(t *testing.T, s *engine.Session, command string) string {
	t.Helper()
	line := field(t, s, "commandstats", "cmdstat_"+command)
	if line == "none" {
		return line
	}
	var calls, rejected, failed int64
	var us, perCall float64
	_, err := fmt.Sscanf(line, "calls=%d,usec=%f,usec_per_call=%f,rejected_calls=%d,failed_calls=%d", &calls,
		&us, &perCall, &rejected, &failed)
	require.NoError(t, err, line)
	return fmt.Sprintf("%d/%d/%d", calls, rejected, failed)
}

// TestUnauthenticatedCallsAreCounted checks that NOAUTH is a rejected call.
func TestUnauthenticatedCallsAreCounted(t *testing.T) {
	e, _ := newEngine(t, "--requirepass", "secret")
	admin, stranger := newSession(t, e), newSession(t, e)
	do(admin, "AUTH secret")
	for _, line := range []string{"GET k", "GET k", "AUTH", "AUTH wrong", "HELLO 3"} {
		do(stranger, line)
	}
	stranger.Publish(engine.Buffers{})
	require.Equal(t, "0/2/0", callsOf(t, admin, "get"))
	require.Equal(t, "2/1/1", callsOf(t, admin, "auth"))
	require.Equal(t, "1/0/1", callsOf(t, admin, "hello"))
}

// TestDebugIsOneCommand: as in Redis the subcommands of DEBUG have no statistics of their
// own.
func TestDebugIsOneCommand(t *testing.T) {
	e, _ := newEngine(t, "--enable-debug-command", "yes")
	s := newSession(t, e)
	do(s, "debug sleep 0")
	other := newSession(t, e)
	do(other, "debug sleep 0")
	other.Publish(engine.Buffers{})
	require.Contains(t, do(s, "client list"), "cmd=debug ")
	require.Regexp(t, `^\[debug \[calls 2 histogram_usec `, do(s, "latency histogram debug"))
	require.Equal(t, "[]", do(s, "latency histogram debug|sleep"))
	require.NotContains(t, do(s, "info latencystats"), "debug|")
	for _, l := range e.Figures().Latency {
		require.NotContains(t, l.Command, "debug|")
	}
}

// TestErrorsOfWaits checks what a call that waits counts at its end: what redis-server 7.0.15 counts.
func TestErrorsOfWaits(t *testing.T) {
	const wait, wrongType = "BLMOVE k s LEFT LEFT 10", "errorstat_WRONGTYPE:count=1"
	for _, tc := range []struct {
		end            []string
		failed, others string // failed_calls of BLMOVE and of the last command of end
		errors         string
	}{
		{[]string{"RPUSH k 1"}, "1", "0", wrongType},
		{[]string{"MULTI", "RPUSH k 1", "EXEC"}, "1", "0", wrongType},
		{[]string{"CLIENT UNBLOCK ID ERROR"}, "1", "1", "errorstat_UNBLOCKED:count=1"},
		{[]string{"CLIENT UNBLOCK ID"}, "1", "0", ""},
		{[]string{"SET s x EX 1", "DEL s", "RPUSH k 1"}, "0", "0", ""},
		{nil, "0", "0", ""}, // it times out
	} {
		e, _ := newEngine(t)
		s, waiting := newSession(t, e), newSession(t, e)
		do(s, "SET s x")
		do(waiting, wait)
		require.NotNil(t, waiting.Blocked())
		last := "set"
		for _, line := range tc.end {
			words := strings.Fields(strings.ReplaceAll(line, "ID", fmt.Sprint(waiting.ID())))
			last = strings.ToLower(words[0])
			if last == "client" {
				last = "client|unblock"
			}
			do(s, strings.Join(words, " "))
		}
		if tc.end == nil {
			waiting.Blocked().TimeOut()
		}
		waiting.Resume()
		waiting.Count()
		require.Equal(t, "1/0/"+tc.failed, callsOf(t, s, "blmove"), tc.end)
		require.Regexp(t, "/"+tc.others+"$", callsOf(t, s, last), tc.end)
		errors := strings.TrimPrefix(do(s, "INFO errorstats"), "# Errorstats")
		require.Equal(t, tc.errors, strings.TrimSpace(errors), tc.end)
		require.Equal(t, fmt.Sprint(strings.Count(tc.errors, "count")),
			field(t, s, "stats", "total_error_replies"))
		require.Contains(t, do(s, "INFO latencystats"), "latency_percentiles_usec_blmove:",
			"the first call is timed")
	}
}
