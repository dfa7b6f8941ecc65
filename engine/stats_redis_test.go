package engine_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// statsRecording has commands in one line, and what redis-server counts when they have run after FLUSHALL and
// CONFIG RESETSTAT. Words are cut at spaces; _ in a script is one.
const statsRecording = "testdata/stats.txt"

func statsArgs(line string) [][]byte {
	out := args(line)
	if strings.HasPrefix(line, "EVAL") && len(out) > 1 {
		out[1] = []byte(strings.ReplaceAll(string(out[1]), "_", " "))
		out[1] = []byte(strings.NewReplacer("error reply", "error_reply").Replace(string(out[1])))
	}
	return out
}

var (
	statsFields = regexp.MustCompile(`^(errorstat_|cmdstat_|total_error_replies|total_commands_processed)`)
	statsTimes  = regexp.MustCompile(`usec=[0-9]+,usec_per_call=[0-9.]+`)
)

func lines(info string) []string { return strings.Split(info, "\r\n") }

// masked returns what INFO counts, sorted, without times.
func masked(info string) string {
	var out []string
	for _, line := range lines(info) {
		if statsFields.MatchString(line) {
			out = append(out, statsTimes.ReplaceAllString(line, "usec=*,usec_per_call=*"))
		}
	}
	slices.Sort(out)
	return strings.Join(out, "\n")
}

// statsAfter runs the commands of a line of statsRecording, and returns what is counted.
func statsAfter(line string, run func(words [][]byte) (info string)) string {
	run(args("FLUSHALL"))
	run(args("CONFIG RESETSTAT"))
	for command := range strings.SplitSeq(strings.TrimPrefix(line, "# "), " ; ") {
		run(statsArgs(command))
	}
	return masked(run(args("INFO stats commandstats errorstats")))
}

// TestStatsAreCountedAsRedisDoes compares the counts after the same commands.
func TestStatsAreCountedAsRedisDoes(t *testing.T) {
	text := recording(t, statsRecording, nil, func(r *oracle.Redis, _ *effectsClient, old string) string {
		cases, counts := paragraphs(old)
		for i, line := range cases {
			c := dialEffects(t, r.Addr()) // none is in a state that another case left
			counts[i] = statsAfter(line, func(words [][]byte) string {
				c.send(t, words)
				return c.reply(t)
			})
			require.NoError(t, c.conn.Close())
		}
		return joined(cases, counts)
	})
	_, _, s := newServer(t, "--enable-debug-command", "yes")
	cases, counts := paragraphs(text)
	require.NotEmpty(t, cases)
	for i, line := range cases {
		require.Equal(t, counts[i],
			statsAfter(line, func(words [][]byte) string { return show(s.Do(words)) }), line)
	}
}

// TestStatsComparisonFails checks that the mask hides times only.
func TestStatsComparisonFails(t *testing.T) {
	const a = "cmdstat_get:calls=1,usec=5,usec_per_call=5.00,rejected_calls=0,failed_calls=0\r\n" +
		"errorstat_ERR:count=1"
	require.Equal(t, masked(a),
		masked(strings.Replace(a, "usec=5,usec_per_call=5.00", "usec=7,usec_per_call=7.10", 1)))
	for _, wrong := range []string{"calls=2", "failed_calls=1", "rejected_calls=1", "count=2"} {
		name, _, _ := strings.Cut(wrong, "=")
		other := regexp.MustCompile(`([:,])`+name+`=\d`).ReplaceAllString(a, "${1}"+wrong)
		require.NotEqual(t, a, other)
		require.NotEqual(t, masked(a), masked(other), wrong)
	}
}
