package engine_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/oracle"
)

// idleRecording has the key whose idle time is asked, a call, and that time. The call is run ten seconds
// after idleSetup, and the time asked two seconds later.
const idleRecording = "testdata/idle.txt"

// idleSetup makes a key of each type. Numbers are above those of which Redis has
// one object each, whose use is that of all keys.
var idleSetup = []string{
	"FLUSHALL", "SET s value", "SET n 123456", "RPUSH l a b c", "SADD i 1 2 3", "SADD m a b c",
	"HSET h f v g 7",
	"ZADD z 1 a 2 b", "ZADD y 1 1 2 2", "SET t value EX 1000",
}

const idleStepMs = 10_000

// TestIdleTimesAreRedis compares what counts as a use of a key with redis-server.
func TestIdleTimesAreRedis(t *testing.T) {
	// Redis reads the use clock from a copy that its cron renews.
	text := recording(t, idleRecording, []string{"--hz", "500", "--dynamic-hz", "no"},
		func(r *oracle.Redis, c *effectsClient, old string) string {
			nowMs := int64(startNowMs)
			return idleTimes(t, old, func(line string) string { return c.doLine(t, line) }, func(ms int64) {
				nowMs += ms
				require.NoError(t, r.SetClock(nowMs))
				want := fmt.Sprintf("lru_clock:%d\r\n", nowMs/1000%(1<<24))
				for tries := 0; !strings.Contains(c.doLine(t, "INFO server"), want); tries++ {
					require.Less(t, tries, 100_000, want)
				}
			})
		})
	_, h, s := newServer(t)
	got := idleTimes(t, text, func(line string) string { return show(s.Do(wordsOf(t, line))) },
		func(ms int64) { h.pass(ms) })
	require.Equal(t, text, got)
}

// idleTimes runs the calls of a recording, each after the setup, and lists the idle times.
func idleTimes(t *testing.T, old string, ask func(line string) string, pass func(ms int64)) string {
	var out strings.Builder
	for recorded := range strings.SplitSeq(strings.TrimSpace(old), "\n") {
		call := recorded[:strings.LastIndexByte(recorded, ' ')]
		key, line, ok := strings.Cut(call, ": ")
		require.True(t, ok, recorded)
		for _, one := range idleSetup {
			ask(one)
		}
		// A payload is good whatever the version of the format.
		line = strings.Replace(line, "PAYLOAD", strconv.Quote(ask("DUMP s")), 1)
		pass(idleStepMs)
		ask(line)
		pass(2000)
		fmt.Fprintf(&out, "%s %s\n", call, ask("OBJECT IDLETIME "+key))
		ask("UNWATCH")
	}
	return out.String()
}

// TestIdleTimesDiffer checks that the recorded calls include uses and others.
func TestIdleTimesDiffer(t *testing.T) {
	text, err := os.ReadFile(idleRecording)
	require.NoError(t, err)
	require.Contains(t, string(text), "s: GET s 2\n")
	require.Contains(t, string(text), "s: TYPE s 12\n")
	require.Contains(t, string(text), "s: PING 12\n")
}
