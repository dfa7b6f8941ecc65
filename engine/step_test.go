package engine_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/race"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// TestKeysLetsOthersRun: outside of EXEC, KEYS locks one shard at a time, so other
// clients run commands while it walks. A key that exists throughout is listed once.
func TestKeysLetsOthersRun(t *testing.T) {
	const keys = 20_000
	var other *engine.Session
	var during []string
	e, _ := newEngineWith(t, engine.Options{Pause: func() {
		during = append(during, do(other, fmt.Sprintf("SET new:%d 1", len(during))))
	}})
	other = newSession(t, e)
	for i := range keys {
		do(other, fmt.Sprintf("SET key:%d 1", i))
	}
	for name, s := range map[string]*engine.Session{
		"a client's, streamed": e.NewSession(engine.Peer{Streams: true}),
		"a program's":          newSession(t, e),
	} {
		during = nil
		reply := s.Do(args("KEYS key:*"))
		text := string(resp.Append(nil, &reply, resp.RESP2))
		require.NotEmpty(t, during, name)
		for _, set := range during {
			require.Equal(t, "OK", set, name)
		}
		require.True(t, strings.HasPrefix(text, fmt.Sprintf("*%d\r\n$", keys)), "%s: %.20s", name, text)
		seen := make(map[string]bool)
		for line := range strings.Lines(text) {
			if strings.HasPrefix(line, "key:") {
				require.False(t, seen[line], "%s: %s is listed twice", name, line)
				seen[line] = true
			}
		}
		require.Len(t, seen, keys, name)
	}
	during = nil
	s := newSession(t, e)
	do(s, "MULTI")
	do(s, "KEYS key:*")
	require.Equal(t, keys, strings.Count(do(s, "EXEC"), "key:"))
	require.Empty(t, during, "EXEC holds all shards")
	require.Equal(t, fmt.Sprint(keys), do(s, "EVAL return(#redis.call('KEYS','key:*')) 0"))
	require.Empty(t, during, "so does a script")
}

// TestKeysNames: names of every length come back whole, in pieces or not.
func TestKeysNames(t *testing.T) {
	e, _ := newEngine(t)
	streams := e.NewSession(engine.Peer{Streams: true})
	defer streams.Close()
	values := newSession(t, e)
	for _, size := range []int{0, 1, 200, 300, 64 << 10, 200_000, 3, 65 << 10} {
		name := bytes.Repeat([]byte{'a' + byte(size%7)}, size)
		streams.Do([][]byte{[]byte("SET"), name, []byte("v")})
		of := func(s *engine.Session) string {
			reply := s.Do(args("KEYS *"))
			return string(resp.Append(nil, &reply, resp.RESP2))
		}
		require.Equal(t, of(values), of(streams))
	}
	do(values, "FLUSHALL")
	reply := streams.Do(args("KEYS *"))
	require.Equal(t, "*0\r\n", string(resp.Append(nil, &reply, resp.RESP2)))
}

// TestScanLocksOneShard: while another client holds a shard, SCAN returns pages of
// the others, and a whole scan finds every key, however long its pages are.
func TestScanLocksOneShard(t *testing.T) {
	race.OneGoroutine(t)
	const keys = 64 * 600
	e, _, s := newServer(t)
	for i := range keys {
		do(s, fmt.Sprintf("SET key:%d 1", i))
	}
	for _, count := range []int{1, 10, 100, 300, 1000, 10_000, 1_000_000} {
		seen := make(map[string]bool)
		pages := 0
		for cursor := "0"; cursor != "0" || pages == 0; pages++ {
			reply := s.Do(args(fmt.Sprintf("SCAN %s COUNT %d", cursor, count)))
			page := reply.Elems()
			cursor = page[0].Str()
			names := page[1].Elems()
			if cursor != "0" && count >= 100 {
				require.GreaterOrEqual(t, len(names), min(count, 256)*7/10, "pages are not cut short")
			}
			for _, n := range names {
				seen[n.Str()] = true
			}
		}
		require.Len(t, seen, keys, "COUNT %d", count)
	}
	e.HoldShard(63, func() {
		reply := s.Do(args("SCAN 0 COUNT 300"))
		require.Len(t, reply.Elems(), 2)
	})
}

// TestScanSendsAfterItsReply: what SCAN sends its own session follows the reply, also if the key is in the
// first shard, with which alone SCAN runs before it runs with all.
func TestScanSendsAfterItsReply(t *testing.T) {
	for shard := range 2 {
		_, h, s := newServer(t)
		key := "k"
		for !store.ShardOf([]byte(key)).Has(shard) {
			key += "k"
		}
		for _, line := range []string{
			"HELLO 3", "CLIENT TRACKING ON NOLOOP", "SET " + key + " v PX 10", "GET " + key,
		} {
			s.Do(args(line))
		}
		h.us.Add(11_000)
		reply := s.Do(args("SCAN 0 COUNT 1000"))
		shown := string(resp.Append(nil, &reply, resp.RESP3))
		require.Equal(t, "*2\r\n$1\r\n0\r\n*0\r\n", shown, "shard %d", shard)
		messages, _ := s.Deliver(nil)
		require.Contains(t, string(messages), key)
	}
}
