package page_test

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/clock"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/page"
	"github.com/zlimit/zlimit/resp"
)

func TestReplies(t *testing.T) {
	t.Parallel()
	for want, v := range map[string]resp.Value{
		`1`:                    resp.Int(1),
		`-9223372036854775808`: resp.Int(math.MinInt64),
		`"12"`:                 resp.BulkInt(12),
		`1.5`:                  resp.Double(1.5),
		`"+Inf"`:               resp.Double(math.Inf(1)),
		`true`:                 resp.Bool(true),
		`null`:                 resp.Null,
		`"OK"`:                 resp.OK,
		`[]`:                   resp.Empty,
		`{}`:                   resp.Map(),
		`[1,["a",null]]`:       resp.Array(resp.Int(1), resp.Array(resp.Bulk("a"), resp.NullArray)),
		`{"a":1,"2":{"b":[]}}`: resp.Map(resp.Bulk("a"), resp.Int(1),
			resp.Int(2), resp.Map(resp.Bulk("b"), resp.Set())),
		`"\u00ff\u0000\u0022"`:   resp.Bulk("\xff\x00\""),
		`"\u003c/script>\u005c"`: resp.Bulk(`</script>\`),
		`"\u00c3\u00a9"`:         resp.Bulk("é"),
	} {
		text := page.AppendReply(nil, v)
		require.Equal(t, want, string(text))
		require.True(t, json.Valid(text), want)
	}
}

// FuzzReplyText: whatever bytes a reply has, the script gets those.
func FuzzReplyText(f *testing.F) {
	f.Add("plain")
	f.Add("\x00\n\r\u2028\xff</script><!--\\\"'")
	f.Fuzz(func(t *testing.T, s string) {
		text := page.AppendReply(nil, resp.Map(resp.Bulk(s), resp.Array(resp.Bulk(s))))
		require.NotContains(t, string(text), "\n", "a line of an event")
		require.NotContains(t, string(text), "<")
		var back map[string][]string
		require.NoError(t, json.Unmarshal(text, &back))
		var bytes strings.Builder
		for i := range len(s) {
			bytes.WriteRune(rune(s[i]))
		}
		require.Equal(t, map[string][]string{bytes.String(): {bytes.String()}}, back)
	})
}

// TestCommandsRead: no command of the page writes, waits, or changes its session.
func TestCommandsRead(t *testing.T) {
	t.Parallel()
	still := func() int64 { return 0 }
	e := engine.New(engine.Options{Clock: clock.New(clock.Sources{Monotonic: still, Wall: still})})
	changes := func(row *commands.Command) bool {
		return row.Is(commands.Write) || row.Is(commands.Blocking) || row.Is(commands.NoAuth)
	}
	found := 0
	for _, name := range page.Reading {
		var args [][]byte
		for word := range strings.FieldsSeq(name) {
			args = append(args, []byte(word))
		}
		row := e.Table().Lookup(args[0])
		if row != nil && len(args) > 1 {
			row = row.Sub(args[1])
		}
		if row == nil {
			continue // it is not there yet
		}
		found++
		require.False(t, changes(row), name)
		require.Empty(t, row.Subs, "%s: its subcommands are named one by one", name)
	}
	require.GreaterOrEqual(t, found, 3)
	require.True(t, changes(e.Table().Lookup([]byte("rl.allow"))), "the test can fail")
}
