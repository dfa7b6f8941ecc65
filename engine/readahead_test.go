package engine

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestReadsAhead: a pipeline's keys are read ahead while the keyspace is larger than a cache, and outside of
// transactions.
func TestReadsAhead(t *testing.T) {
	e := newLogged(t, nil)
	s := open(t, e)
	ahead := func() bool {
		_, ok := s.Ahead()
		return ok
	}
	require.False(t, ahead(), "the keyspace is small")
	send(s, "SET", "large", string(make([]byte, 8<<20)))
	require.True(t, ahead())
	send(s, "MULTI")
	require.False(t, ahead())
	send(s, "DISCARD")
}

// TestKeysReadAhead: the first keys of calls are those of their rows, each once while calls repeat it.
func TestKeysReadAhead(t *testing.T) {
	e := newLogged(t, nil)
	s := open(t, e)
	var calls []Arrived
	for _, line := range [][]string{
		{"RL.ALLOW", "a", "10", "1m"},
		{"rl.allow", "b", "10"},
		{"INCR", "b"},
		{"EXPIRE", "b", "60"},
		{"PING"},
		{"NOSUCH", "x"},
		{"EVALSHA", "f1", "1", "c"},
		{"EVALSHA", "f1"},
		{"GET"},
		{"MGET", "d", "e"},
	} {
		var a Arrived
		for i, word := range line {
			a.Args[i], a.Len = []byte(word), i+1
		}
		calls = append(calls, a)
	}
	keys := s.engine.keysAhead(nil, calls)
	require.Equal(t, "[a b c d]", fmt.Sprintf("%s", keys))
	e.ReadAhead(0, calls)
	require.Zero(t, testing.AllocsPerRun(100, func() { e.ReadAhead(0, calls) }))
}
