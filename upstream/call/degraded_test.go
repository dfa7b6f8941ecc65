package call

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
)

// TestDivide checks what a share of the limits in a command's arguments is, for a third.
func TestDivide(t *testing.T) {
	for line, want := range map[string]string{
		"rl.allow k 9 1s":                   "rl.allow k 3 1s",
		"rl.allow k 9 1s 100 1m COST 6":     "rl.allow k 3 1s 33 1m COST 6",
		"rl.allow k 2 1s":                   "rl.allow k 1 1s",
		"rl.allow k 0 1s":                   "rl.allow k 0 1s",
		"rl.allow k 9 1s ALGO GCRA 30":      "rl.allow k 3 1s ALGO GCRA 10",
		"rl.allow k 9 1s algo fixed":        "rl.allow k 3 1s algo fixed",
		"rl.allow k many 1s":                "rl.allow k many 1s",
		"rl.mallow 2 a 9 1s b 12 1m COST 3": "rl.mallow 2 a 3 1s b 4 1m COST 3",
		"rl.mallow 2 9 9 TERM 9 1s TERM 6 1m 3 1h ALGO GCRA 12 COST 3": "rl.mallow 2 9 9 " +
			"TERM 3 1s TERM 2 1m 1 1h ALGO GCRA 4 COST 3",
		"rl.mreserve 1 9 TERM 9 1s HOLD 9 ID term":     "rl.mreserve 1 9 TERM 3 1s HOLD 9 ID term",
		"rl.mreserve 9 9 TERM 9 1s HOLD 9 ID term":     "rl.mreserve 9 9 TERM 9 1s HOLD 9 ID term",
		"rl.reserve k 9 1m 3 HOLD 9 ID x ALGO GCRA 9":  "rl.reserve k 3 1m 3 HOLD 9 ID x ALGO GCRA 3",
		"rl.mallow 9 a 9 1s":                           "rl.mallow 9 a 3 1s",
		"rl.mallow many a 9 1s":                        "rl.mallow many a 9 1s",
		"cl.throttle k 15 30 60 3":                     "cl.throttle k 5 10 60 3",
		"rl.throttle k 15 30 60 3":                     "rl.throttle k 5 10 60 3",
		"rl.reserve k 90 1m 3 HOLD 1000 ID x":          "rl.reserve k 30 1m 3 HOLD 1000 ID x",
		"rl.allow k 9007199254740993 1s 9 1m 12 1h":    "rl.allow k 3002399751580331 1s 3 1m 4 1h",
		"rl.allow k 9223372036854775808 1s":            "rl.allow k 9223372036854775808 1s",
		"rl.allow k 9 1s COST 3 ATMOST PEEK FULL":      "rl.allow k 3 1s COST 3 ATMOST PEEK FULL",
		"rl.reserve k -3 1m 3 HOLD 1000 ID negatively": "rl.reserve k -3 1m 3 HOLD 1000 ID negatively",
		"cl.throttle k -1 0 60":                        "cl.throttle k -1 0 60",
	} {
		args := bytes.Fields([]byte(line))
		cmd := &commands.Command{Name: string(args[0])}
		require.True(t, Degradable(cmd, args), line)
		Divide(cmd, args, 3)
		require.Equal(t, want, string(bytes.Join(args, []byte(" "))), line)
	}
	slots := bytes.Fields([]byte("rl.mreserve 2 a b TERM 1 1s TERM slots 1 LEASE 1m HOLD 1m ID a"))
	require.False(t, Degradable(&commands.Command{Name: "rl.mreserve"}, slots))
	for _, name := range strings.Fields("get rl.refund rl.info increx rl.acquire") {
		require.False(t, Degradable(&commands.Command{Name: name}, nil), name)
	}
}
