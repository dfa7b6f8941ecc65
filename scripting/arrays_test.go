package scripting

import (
	"testing"

	"github.com/stretchr/testify/require"
	lua "github.com/yuin/gopher-lua"
)

// TestTablesBeyondTheArray covers keys on both sides of maxArray.
func TestTablesBeyondTheArray(t *testing.T) {
	L := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer L.Close()
	table := L.NewTable()
	for i := 1; i <= maxArray-2; i++ {
		table.RawSetInt(i, lua.LTrue)
	}
	for n := maxArray - 2; n < maxArray+70; n++ {
		require.Equal(t, n, border(table))
		rawSetInt(table, n+1, lua.LString("last"))
		require.Equal(t, lua.LString("last"), rawGetInt(table, n+1))
	}
	for n := maxArray + 70; n > maxArray-4; n-- {
		require.Equal(t, n, border(table))
		rawSetInt(table, n, lua.LNil)
	}
}

func TestDistantKeysTakeNoArray(t *testing.T) {
	e, c := newTestEngine(t)
	spent := decode(t, e, c,
		"local t = {} t[60000000] = 1 t[4194304] = 2 return {#t, t[60000000], (next(t))}")
	require.Less(t, spent, uint64(fixedBytes))
}
