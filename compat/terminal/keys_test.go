package terminal

import (
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	number  = regexp.MustCompile(`\d+(\.\d+)?`)
	summary = regexp.MustCompile(`(?s)-------- summary -------\n.*`)
	// amount is a number of bytes, which depends on how a server stores a key.
	amount = regexp.MustCompile(`\d+ bytes|avg size \d+\.\d+`)
)

// keysOf runs a mode that scans the keyspace to its end, and returns its summary. What
// it prints before depends on the order of the keys.
func keysOf(t *testing.T, s *server, flags string) string {
	t.Helper()
	shown, status := open(t, s.command("redis-cli", flags)).awaitEnd()
	require.Equal(t, "0", status, "%s", shown)
	require.NotRegexp(t, `(?i)err|warn`, shown)
	return summary.FindString(shown)
}

func TestBigKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) string {
		shown := keysOf(t, s, "--bigkeys")
		require.Contains(t, shown, `Biggest string found '"text:big"' has 2000 bytes`)
		return shown
	})
}

func TestMemKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) string {
		shown := keysOf(t, s, "--memkeys")
		require.Regexp(t, `Biggest string found '"text:big"' has [23]\d\d\d bytes`, shown)
		return amount.ReplaceAllString(shown, "n")
	})
}

func TestHotKeys(t *testing.T) {
	t.Parallel()
	onBoth(t, func(t *testing.T, s *server) string {
		shown := keysOf(t, s, "--hotkeys")
		first := regexp.MustCompile(`(?m)^hot key found.*$`).FindString(shown)
		require.Contains(t, first, `keyname: "text:7"`)
		return number.ReplaceAllString(first, "n")
	})
}

// TestBenchmark runs every test of redis-benchmark. Nothing that it sends is refused.
func TestBenchmark(t *testing.T) {
	t.Parallel()
	row := regexp.MustCompile(`(?m)([A-Z_]+[^:\n\r]*): \d+\.\d\d requests per second`)
	onBoth(t, func(t *testing.T, s *server) string {
		shown, status := open(t, s.command("redis-benchmark", "--dbnum 6 -n 200 -q")).awaitEnd()
		require.Equal(t, "0", status, "%s", shown)
		require.NotRegexp(t, `(?i)err|warn`, shown)
		out := ""
		for _, found := range row.FindAllStringSubmatch(shown, -1) {
			out += found[1] + "\n"
		}
		require.Contains(t, out, "MSET (10 keys)")
		return out
	})
}
