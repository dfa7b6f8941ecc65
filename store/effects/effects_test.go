package effects

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// logText returns a group as in a log in which db is selected, one line for each command.
func logText(g *Group, db int) (string, int) {
	out, selected := g.AppendTo(nil, db)
	var b strings.Builder
	for i, line := range strings.Split(string(out), "\r\n") {
		switch {
		case line == "":
		case line[0] == '*':
			if i > 0 {
				b.WriteByte('\n')
			}
		case line[0] != '$':
			if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
				b.WriteByte(' ')
			}
			b.WriteString(line)
		}
	}
	return b.String(), selected
}

func args(line string) [][]byte {
	var out [][]byte
	for _, word := range strings.Fields(line) {
		out = append(out, []byte(word))
	}
	return out
}

func TestGroupInRESP(t *testing.T) {
	var g Group
	g.Add(0, []byte("SET"), []byte("a"), []byte("a\r\nb"))
	out, selected := g.AppendTo([]byte("before"), 0)
	require.Equal(t, "before*3\r\n$3\r\nSET\r\n$1\r\na\r\n$4\r\na\r\nb\r\n", string(out))
	require.Equal(t, 0, selected)

	g.Reset()
	g.Begin(12, 3)
	g.Text("PEXPIREAT")
	g.Bytes([]byte(strings.Repeat("k", 11)))
	g.Int(-1700000000000)
	out, selected = g.AppendTo(nil, -1)
	require.Equal(t, "*2\r\n$6\r\nSELECT\r\n$2\r\n12\r\n"+
		"*3\r\n$9\r\nPEXPIREAT\r\n$11\r\nkkkkkkkkkkk\r\n$14\r\n-1700000000000\r\n", string(out))
	require.Equal(t, 12, selected)
}

func TestGroupIsAtomic(t *testing.T) {
	var g Group
	text, selected := logText(&g, 3)
	require.Empty(t, text)
	require.Equal(t, 3, selected)

	g.Add(3, args("SET a 1")...)
	text, _ = logText(&g, 3)
	require.Equal(t, "SET a 1", text)
	text, _ = logText(&g, 0)
	require.Equal(t, "SELECT 3\nSET a 1", text)

	g.Add(3, args("SET b 1")...)
	g.Add(4, args("SET c 1")...)
	text, selected = logText(&g, 0)
	require.Equal(t, "SELECT 3\nMULTI\nSET a 1\nSET b 1\nSELECT 4\nSET c 1\nEXEC", text)
	require.Equal(t, 4, selected)
	require.Equal(t, 3, g.Len())

	g.Separate()
	g.Expired(4, "d")
	g.Separate()
	g.Expired(5, "e")
	g.Expired(5, "f")
	text, _ = logText(&g, 3)
	require.Equal(t,
		"MULTI\nSET a 1\nSET b 1\nSELECT 4\nSET c 1\nEXEC\nDEL d\nSELECT 5\nMULTI\nDEL e\nDEL f\nEXEC", text)
}

// A command is added as it was sent if it does not account for its changes.
func TestVerbatim(t *testing.T) {
	for name, c := range map[string]struct {
		run  func(g *Group)
		want string
	}{
		"nothing":       {func(*Group) {}, ""},
		"changed":       {func(g *Group) { g.Changed() }, "cmd x"},
		"expired":       {func(g *Group) { g.Expired(0, "k") }, "DEL k"},
		"expired, then": {func(g *Group) { g.Expired(0, "k"); g.Changed() }, "MULTI\nDEL k\ncmd x\nEXEC"},
		"accounted":     {func(g *Group) { g.Changed(); g.MarkAccounted() }, ""},
		"its own":       {func(g *Group) { g.Add(0, args("SET k 1")...); g.Changed() }, "SET k 1"},
		"nested": {func(g *Group) {
			m := g.Enter(Event{})
			g.Changed()
			g.Leave(m, 0, args("inner"))
		}, "inner"},
		"nested, accounted": {func(g *Group) {
			g.Changed()
			m := g.Enter(Event{})
			g.Add(0, args("inner")...)
			g.Leave(m, 0, nil)
		}, "MULTI\ninner\ncmd x\nEXEC"},
	} {
		var g Group
		m := g.Enter(Event{})
		c.run(&g)
		g.Leave(m, 0, args("cmd x"))
		text, _ := logText(&g, 0)
		require.Equal(t, c.want, text, name)
	}
}

func TestGroupDoesNotAllocate(t *testing.T) {
	var g Group
	var buf []byte
	key, value := []byte("key"), []byte("value")
	run := func() {
		m := g.Enter(Event{})
		g.Expired(2, "key")
		g.Changed()
		g.Add(1, key, value)
		g.Begin(1, 2)
		g.Text("PEXPIREAT")
		g.Int(1700000000000)
		g.Leave(m, 0, nil)
		buf, _ = g.AppendTo(buf[:0], 0)
		g.Reset()
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
}

// Memory that one huge command needed must be released.
func TestResetReleasesMemory(t *testing.T) {
	var g Group
	g.Add(0, make([]byte, 2*maxRetained))
	g.Reset()
	require.LessOrEqual(t, cap(g.bytes), maxRetained)
}
