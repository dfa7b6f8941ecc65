package effects

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames(t *testing.T) {
	var g Group
	g.Named(0, "before", Modified)
	require.Zero(t, g.Names(), "nobody asked")

	g.Name()
	g.Named(3, "a", Modified)
	g.Named(0, "", Flushed)
	g.Named(3, "long\x00", Expired)
	g.Named(15, "", Modified)
	require.Equal(t, 4, g.Names())
	require.Equal(t, Change{3, []byte("a"), Modified}, g.Change(0))
	require.Equal(t, Change{0, []byte{}, Flushed}, g.Change(1))
	require.Equal(t, Change{3, []byte("long\x00"), Expired}, g.Change(2))
	require.Equal(t, Change{15, []byte{}, Modified}, g.Change(3))
	require.Zero(t, g.Len(), "names are no commands")

	g.Reset()
	g.Named(0, "after", Modified)
	require.Zero(t, g.Names())
}

func TestNamesAllocateNothingWarm(t *testing.T) {
	var g Group
	run := func() {
		g.Name()
		g.Named(0, "key", Modified)
		g.Named(0, "other", Expired)
		g.Reset()
	}
	run()
	require.Zero(t, testing.AllocsPerRun(100, run))
	g.Name()
	g.Named(0, strings.Repeat("k", 2*keep), Modified)
	g.Reset()
	require.Less(t, cap(g.names.bytes), keep+1, "the room of a huge one is given back")
}
