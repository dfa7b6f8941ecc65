package engine_test

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

var recordStats = flag.Bool("record-stats", false, "record testdata/stats.txt from redis-server")

const statsRecording = "testdata/stats.txt"

// statsCases are run each after FLUSHALL and CONFIG RESETSTAT. Words are cut at
// spaces; _ in a script is one.
var statsCases = [][]string{
	{"SET s x", "EVAL return_redis.call('INCR','s') 0"},
	{"SET s x", "EVAL return_redis.pcall('INCR','s') 0"},
	{"SET s x", "EVAL redis.pcall('INCR','s')_return_1 0"},
	{"SET s x", "EVAL redis.pcall('INCR','s')_return_redis.error_reply('MY_foo') 0"},
	{"EVAL return_redis.error_reply('MY_foo') 0", "EVAL return_{err='lower_case'} 0", "EVAL error('x') 0"},
	{
		"EVAL return_redis.call('GET') 0",
		"EVAL redis.pcall('GET')_redis.pcall('NOSUCH')_redis.pcall('MULTI')_return_1 0",
	},
	{"EVAL redis.pcall()_return_1 0", "EVAL redis.pcall({})_return_1 0", "EVAL return_redis.call() 0"},
	{"EVAL_RO redis.pcall('SET','a','b')_return_1 0", "EVAL_RO return_redis.call('SET','a','b') 0"},
	{"EVAL return_nosuch 0", "EVAL return_( 0", "EVALSHA abc 0", "FCALL nosuch 0"},
	{"NOSUCH", "GET", "CONFIG nosuch x", "SET a b c d", "LPUSH l 1", "GET l"},
	{
		"MULTI", "GET", "EXEC", "MULTI", "SET s x", "INCR s", "EXEC", "EXEC", "EXEC foo", "MULTI", "MULTI",
		"EXEC",
	},
	{"MULTI", "SET s x", "EVAL redis.pcall('INCR','s')_return_redis.call('LPUSH','s','1') 0", "EXEC"},
	{"EVAL for_i=1,200_do_redis.pcall('nosuch'..i)_end_return_1 0"},
	{
		"EVAL return_{redis.error_reply('A1_x'),{redis.error_reply('A2_x')}} 0",
		"EVAL return_{err='a:b,c=d_e'} 0", "EVAL return_{err='_lead'} 0",
	},
	{"EVAL for_i=1,3_do_redis.call('INCR','n')_end_return_redis.call('GET','n') 0", "INCR n"},
	{"HELLO 9", "AUTH x", "SELECT 99"},
	{"DEBUG SLEEP 0", "DEBUG nosuch", "DEBUG", "DEBUG SLEEP", "DEBUG OBJECT none", "DEBUG JMAP"},
	{"MULTI", "DEBUG SLEEP 0", "DEBUG OBJECT none", "EXEC"},
}

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

func lastEqual(line string) int { return strings.LastIndexByte(line, '=') }

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

const statsInfo = "INFO stats commandstats errorstats"

// TestStatsAreCountedAsRedisDoes compares the counts after the same commands.
func TestStatsAreCountedAsRedisDoes(t *testing.T) {
	if *recordStats {
		recordStatsFrom(t)
	}
	text, err := os.ReadFile(statsRecording)
	require.NoError(t, err)
	recorded := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n\n")
	require.Len(t, recorded, len(statsCases), "run go test ./engine -run StatsAre -record-stats")
	e, _ := newEngine(t, "--enable-debug-command", "yes")
	s := newSession(t, e)
	for i, c := range statsCases {
		do(s, "FLUSHALL")
		do(s, "CONFIG RESETSTAT")
		for _, line := range c {
			s.Do(statsArgs(line))
		}
		require.Equal(t, recorded[i], "# "+strings.Join(c, " ; ")+"\n"+masked(do(s, statsInfo)))
	}
}

func recordStatsFrom(t *testing.T) {
	redis, err := oracle.Start(oracle.Options{NowMs: startNowMs})
	require.NoError(t, err)
	defer func() { require.NoError(t, redis.Close()) }()
	var out []string
	for _, c := range statsCases {
		// A connection each: none is in a state that another case left.
		nc, err := net.Dial("tcp", redis.Addr())
		require.NoError(t, err)
		r := bufio.NewReader(nc)
		send := func(line string) {
			words := statsArgs(line)
			fmt.Fprintf(nc, "*%d\r\n", len(words))
			for _, w := range words {
				fmt.Fprintf(nc, "$%d\r\n%s\r\n", len(w), w)
			}
		}
		var info string
		for _, line := range append(append([]string{"FLUSHALL", "CONFIG RESETSTAT"}, c...), statsInfo) {
			send(line)
			info = readReply(t, r)
		}
		out = append(out, "# "+strings.Join(c, " ; ")+"\n"+masked(info))
		require.NoError(t, nc.Close())
	}
	require.NoError(t, os.MkdirAll("testdata", 0o755))
	require.NoError(t, os.WriteFile(statsRecording, []byte(strings.Join(out, "\n\n")+"\n"), 0o644))
}

// readReply reads one RESP2 reply and returns the text of a bulk string.
func readReply(t *testing.T, r *bufio.Reader) string {
	line, err := r.ReadString('\n')
	require.NoError(t, err)
	var n int
	switch line[0] {
	case '$':
		_, err = fmt.Sscanf(line, "$%d", &n)
		require.NoError(t, err)
		if n < 0 {
			return ""
		}
		text := make([]byte, n+2)
		_, err = io.ReadFull(r, text)
		require.NoError(t, err)
		return string(text[:n])
	case '*':
		_, err = fmt.Sscanf(line, "*%d", &n)
		require.NoError(t, err)
		for range n {
			readReply(t, r)
		}
	}
	return ""
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
