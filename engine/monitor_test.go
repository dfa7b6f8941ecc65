package engine_test

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// linesOf returns the lines that a monitor was sent, without its own OK and the
// timestamps.
func linesOf(heard string) (out []string) {
	for _, line := range strings.Split(strings.TrimSuffix(heard, "\r\n"), "\r\n") {
		if line != "+OK" {
			_, rest, _ := strings.Cut(line, " ")
			out = append(out, rest)
		}
	}
	return out
}

// TestMonitorsSeeOneOrder: clients write into the same lists at the same time, by
// plain commands, transactions and scripts, some of them beside other keys. All
// monitors see the same lines, which are in the order of what the lists hold, and
// nothing comes between the lines of one transaction or script.
func TestMonitorsSeeOneOrder(t *testing.T) {
	const clients, rounds = 4, 60
	e, _ := newEngine(t)
	var monitors []*listener
	for range 3 {
		m := newListener(t, e)
		m.Do(args("MONITOR"))
		monitors = append(monitors, m)
	}
	var writing, watching sync.WaitGroup
	for _, m := range monitors {
		watching.Go(func() { m.hearUntil(t, "\"ECHO\" \"end\"\r\n") })
	}
	for c := range clients {
		writing.Go(func() {
			s := newSession(t, e)
			for i := range rounds {
				name := fmt.Sprintf("%d:%d", c, i)
				switch i % 3 {
				case 0:
					do(s, "RPUSH l "+name)
				case 1:
					do(s, "MULTI")
					do(s, "RPUSH l "+name)
					do(s, fmt.Sprintf("RPUSH own%d %s", c, name))
					do(s, "EXEC")
				case 2:
					const script = "redis.call('rpush', KEYS[1], ARGV[1]) redis.call('incr', KEYS[2])"
					doWords(s, "EVAL", script, "2", "l", fmt.Sprint("n", c), name)
				}
			}
		})
	}
	writing.Wait()
	s := newSession(t, e)
	held := strings.Fields(strings.Trim(do(s, "LRANGE l 0 -1"), "[]"))
	do(s, "ECHO end")
	watching.Wait()
	seen := linesOf(monitors[0].heard.String())
	for _, m := range monitors[1:] {
		require.Equal(t, seen, linesOf(m.heard.String()))
	}
	require.NoError(t, linesInOrder(seen, held))
	require.Len(t, held, clients*rounds)

	swapped := append([]string(nil), held...)
	swapped[10], swapped[11] = swapped[11], swapped[10]
	require.Error(t, linesInOrder(seen, swapped), "the comparison notices two elements that changed places")
	for i, line := range seen {
		if strings.Contains(line, `"EVAL"`) {
			seen[i], seen[i+1] = seen[i+1], seen[i]
			break
		}
	}
	require.Error(t, linesInOrder(seen, held), "and a line that stands elsewhere")
}

var pushedOne = regexp.MustCompile(`"(?:RPUSH|rpush)" "l" "([^"]+)"`)

// linesInOrder reports where a monitor's lines are not in the order of a list, or
// those of a transaction or script do not stand together.
func linesInOrder(seen, held []string) error {
	for i := 0; i < len(seen); i++ {
		want := ""
		switch line := seen[i]; {
		case strings.Contains(line, `"EVAL"`):
			want = `(EVAL)(rpush)(incr)`
		case i+1 < len(seen) && strings.Contains(seen[i+1], `"RPUSH" "own`):
			want = `(RPUSH)(RPUSH)(EXEC)`
		case strings.Contains(line, `"RPUSH" "own`), strings.Contains(line, "lua]"),
			strings.Contains(line, `"EXEC"`):
			return fmt.Errorf("line %d stands alone: %s", i, line)
		}
		if want != "" {
			got := ""
			for _, line := range seen[i:min(i+3, len(seen))] {
				got += "(" + strings.Split(line, `"`)[1] + ")"
			}
			if got != want {
				return fmt.Errorf("from line %d on: %s, want %s", i, got, want)
			}
		}
		end := i + 1
		if want != "" {
			end = i + 3
		}
		for _, line := range seen[i:end] {
			if m := pushedOne.FindStringSubmatch(line); m != nil {
				if len(held) == 0 || held[0] != m[1] {
					return fmt.Errorf("line %d: %s, the list goes on with %.40q", i, line, held)
				}
				held = held[1:]
			}
		}
		i = end - 1
	}
	if len(held) > 0 {
		return fmt.Errorf("no line for %q", held)
	}
	return nil
}
