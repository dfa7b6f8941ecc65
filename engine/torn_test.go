package engine_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/persist/disk/crashdisk"
	"github.com/zlimit/zlimit/store"
)

// TestOtherShardsGoOn: while a script is cut off that has written, commands on other shards complete, are
// answered and kept.
func TestOtherShardsGoOn(t *testing.T) {
	d := crashdisk.New(1)
	p := start(t, d.FS(), always...)
	p.hands.step.Store(100_000)
	c, s, cut := p.client(t), p.client(t), make(chan string)
	const script = "redis.call('set',KEYS[1],1) while true do end redis.call('set',KEYS[2],1)"
	go func() { cut <- doWords(s.Session, "eval", script, "2", "x", "y") }()
	for !strings.HasPrefix(c.do("get x"), "BUSY") {
		runtime.Gosched() // it has not begun
	}
	p.End()
	require.Contains(t, <-cut, "ERR Script killed by user")
	elsewhere := "other"
	for store.ShardOf([]byte(elsewhere))&(store.ShardOf([]byte("x"))|store.ShardOf([]byte("y"))) != 0 {
		elsewhere += "r" // which shard a key has differs from process to process
	}
	require.Equal(t, "OK", c.do("set "+elsewhere+" 1"))
	require.NoError(t, c.WaitDurable())
	require.Equal(t, "(nothing)", show(c.Do(args("set x 1"))))
	require.NoError(t, p.Close())
	p = start(t, d.FS(), always...)
	c = p.client(t)
	require.Equal(t, "1", c.do("get "+elsewhere))
	require.Equal(t, "1", c.do("dbsize"))
	require.NoError(t, p.Close())
}
