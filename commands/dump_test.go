package commands_test

import (
	"encoding/binary"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/store/effects"
)

// TestRestoreIsRecorded checks that the log has RESTORE as redis-server's append-only
// file has it, if Redis can read the payload.
func TestRestoreIsRecorded(t *testing.T) {
	const payload = "\x00\x05hello\n\x00cr\xdfve4 \n"
	// a set in a listpack
	newer := binary.LittleEndian.AppendUint16(
		[]byte("\x14\x0d\x0d\x00\x00\x00\x02\x00\x81a\x02\x81b\x02\xff"), 11)
	newer = binary.LittleEndian.AppendUint64(newer, dump.Checksum(0, newer))
	b := newBench()
	b.ctx.Env = &commands.Env{}
	b.ctx.Env.Record(&effects.Group{})
	recorded := func(words ...string) string {
		b.ctx.Group().Reset()
		require.Equal(t, "+OK\r\n", b.wire(words...), "%q", words)
		out, _ := b.ctx.Group().AppendTo(nil, 0)
		return string(out)
	}
	for _, c := range []struct{ call, want []string }{
		{[]string{"restore", "a", "0", payload}, []string{"restore", "a", "0", payload}},
		{
			[]string{"restore", "b", "100000", payload, "idletime", "5"},
			[]string{"restore", "b", "1700000100000", payload, "idletime", "5", "ABSTTL"},
		},
		{
			[]string{"RESTORE", "c", "9999999999999", payload, "absttl", "FREQ", "3"},
			[]string{"RESTORE", "c", "9999999999999", payload, "absttl", "FREQ", "3"},
		},
		{[]string{"restore", "b", "1000", payload, "absttl", "replace"}, []string{"DEL", "b"}},
		{[]string{"restore", "b", "1000", payload, "absttl", "replace"}, nil},
	} {
		require.Equal(t, string(wireOf(c.want)), recorded(c.call...))
	}
	got := recorded("restore", "s", "0", string(newer))
	require.NotContains(t, got, string(newer))
	before := b.wire("SMISMEMBER", "s", "a", "b", "c")
	again := newBench()
	require.Equal(t, "+OK\r\n", again.wire("restore", "s", "0",
		got[strings.Index(got, "\r\n\x02")+2:len(got)-2]))
	require.Equal(t, before, again.wire("SMISMEMBER", "s", "a", "b", "c"))
}

// wireOf returns a command as clients send it, or "" for none.
func wireOf(words []string) []byte {
	g := effects.Group{}
	if words == nil {
		return nil
	}
	g.Add(0, argsOf(words)...)
	out, _ := g.AppendTo(nil, 0)
	return out
}
