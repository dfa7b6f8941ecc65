package scripting

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/scripting/lua"
	"github.com/zlimit/zlimit/scripting/lua/ast"
	"github.com/zlimit/zlimit/scripting/proof"
)

// TestCacheIsBounded evaluates a new source each time. Scripts that were loaded
// or are in use stay.
func TestCacheIsBounded(t *testing.T) {
	c := newCache(func() int { return 0 }, func(*ast.Chunk, *lua.Proto) proof.Proof { return proof.Proof{} })
	loaded, err := c.load([]byte("return 'loaded'"))
	require.NoError(t, err)
	both, err := c.evaluate([]byte("return 'both'"))
	require.NoError(t, err)
	_, err = c.load([]byte("return 'both'"))
	require.NoError(t, err)
	first, err := c.evaluate([]byte("return 'first'"))
	require.NoError(t, err)
	used, err := c.evaluate([]byte("return 'used'"))
	require.NoError(t, err)
	const more = 50
	for i := range maxEvaluated + more {
		_, err := c.evaluate(fmt.Appendf(nil, "return %d", i))
		require.NoError(t, err)
		if i%1000 == 0 {
			require.NotNil(t, c.lookup(digest([]byte(used.sha))))
		}
	}
	lookup := func(s *script) *script { return c.lookup(digest([]byte(s.sha))) }
	require.Same(t, loaded, lookup(loaded))
	require.Same(t, both, lookup(both))
	require.Same(t, used, lookup(used))
	require.Nil(t, lookup(first))
	require.Equal(t, maxEvaluated, c.evaluated.Len())
	require.Len(t, c.all.byDigest, maxEvaluated+2)
	require.Len(t, c.all.bySource, maxEvaluated+2)
	require.EqualValues(t, more+2, c.evicted)
	sum := int64(0)
	for _, s := range c.all.byDigest {
		sum += s.size
	}
	require.Equal(t, sum, c.size)
	require.Equal(t, sum-loaded.size-both.size, c.evaluatedBytes)

	c.flush()
	require.Zero(t, c.size+c.evaluatedBytes)
	require.Nil(t, lookup(loaded))
}

// TestCacheIsBoundedInBytes checks the limit of all evaluated scripts.
func TestCacheIsBoundedInBytes(t *testing.T) {
	c := newCache(func() int { return 0 }, func(*ast.Chunk, *lua.Proto) proof.Proof { return proof.Proof{} })
	c.maxBytes = 1 << 20
	text := strings.Repeat("x", 64<<10)
	for i := range 48 {
		_, err := c.evaluate(fmt.Appendf(nil, "return %d --%s", i, text))
		require.NoError(t, err)
		require.LessOrEqual(t, c.evaluatedBytes, c.maxBytes)
	}
	require.Equal(t, 15, c.evaluated.Len())
	require.EqualValues(t, 33, c.evicted)
}

func TestLongSources(t *testing.T) {
	race.OneGoroutine(t)
	e, c := newTestEngine(t)
	e.SetLimits(0, 256<<20)
	text := strings.Repeat("x", 1<<20)
	require.Equal(t, ":1048576\r\n", evaluate(e, c, resp.RESP2, evalArgs("return #'"+text+"'")))
	require.Equal(t, ":1\r\n",
		evaluate(e, c, resp.RESP2, evalArgs(strings.Repeat("local x=1\n", 190)+"--"+text+"\nreturn x")))
	require.Equal(t, ":1\r\n",
		evaluate(e, c, resp.RESP2, evalArgs("local x\n"+strings.Repeat("x = 1\n", 175_000)+"return x")))

	e.SetLimits(0, 1<<20)
	require.Equal(t, "-ERR Error compiling script (new function): not enough memory\r\n",
		evaluate(e, c, resp.RESP2, evalArgs("local x\n"+strings.Repeat("x = 1\n", 5000)+"return x")))
}
