package engine_test

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/engine"
)

// TestTransfersKeepTheSum checks that MULTI and EVAL over two shards are atomic for MGET,
// EVAL and MULTI.
func TestTransfersKeepTheSum(t *testing.T) {
	rnd := seeded()
	e, _ := newEngine(t)
	do(newSession(t, e), "MSET a 500 b 500")
	sumIs1000 := func(reply string) error {
		all, err := numbers(reply)
		if err == nil && (len(all) != 2 || all[0]+all[1] != 1000) {
			err = errors.New("torn")
		}
		if err != nil {
			return fmt.Errorf("%s: %w", reply, err)
		}
		return nil
	}
	together(t, e, 6, func(s *engine.Session, client int) error {
		r := rnd(client)
		for range 60 {
			amount := fmt.Sprint(r.IntN(20))
			var err error
			switch (client + r.IntN(2)) % 4 {
			case 0:
				do(s, "MULTI")
				do(s, "DECRBY a "+amount)
				do(s, "INCRBY b "+amount)
				err = sumIs1000(do(s, "EXEC"))
			case 1:
				err = sumIs1000(doWords(s, "EVAL",
					"return {redis.call('INCRBY',KEYS[1],ARGV[1]),redis.call('DECRBY',KEYS[2],ARGV[1])}",
					"2", "a", "b", amount))
			case 2:
				err = sumIs1000(do(s, "MGET a b"))
			case 3:
				do(s, "MULTI")
				do(s, "GET a")
				do(s, "GET b")
				err = sumIs1000(do(s, "EXEC"))
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// chaos are commands that run together: those that scan or exchange the whole keyspace,
// those that read the state of other sessions, and ordinary ones.
var chaos = []string{
	"RL.ALLOW %s 5 1s", "RL.ALLOW %s 5 1m COST 3", "ZADD %s 1 a 2 b", "ZADD %s 1700000000000 1700000000000",
	"ZRANGE %s 0 -1 WITHSCORES", "SET %s v PX 5", "SET %s 7", "INCR %s", "GET %s", "DEL %s", "EXPIRE %s 1",
	"PEXPIRE %s 3",
	"WATCH %s", "UNWATCH", "MULTI", "MULTI", "EXEC", "EXEC", "EXEC", "DISCARD", "RENAME %s other", "TYPE %s",
	"OBJECT ENCODING %s",
	"SELECT 0", "SELECT 1", "SELECT 2", "SWAPDB 0 1", "SWAPDB 1 2", "FLUSHALL", "FLUSHDB ASYNC", "DBSIZE",
	"KEYS *",
	"SCAN 0 COUNT 100", "RANDOMKEY", "INFO", "INFO everything", "CLIENT LIST", "CLIENT INFO",
	"CLIENT SETNAME n", "CLIENT KILL ID 1000000",
	"CONFIG SET zset-max-listpack-entries 2", "CONFIG SET zset-max-listpack-entries 128", "CONFIG GET *",
	"CONFIG RESETSTAT",
	"DEBUG CLOCK FREEZE", "DEBUG CLOCK ADVANCE 3", "HELLO 3", "HELLO 2", "RESET", "SCRIPT FLUSH", "NOSUCH %s",
	"TIME",
}

func TestChaosDoesNotBreak(t *testing.T) {
	rnd := seeded()
	e, _ := newEngine(t, "--enable-debug-command", "yes")
	together(t, e, 8, func(s *engine.Session, client int) error {
		r := rnd(client)
		for i := range 400 {
			line := chaos[r.IntN(len(chaos))]
			if strings.Contains(line, "%s") {
				line = fmt.Sprintf(line, "k"+strconv.Itoa(r.IntN(8)))
			}
			reply := do(s, line)
			if strings.HasPrefix(line, "RL.ALLOW") && strings.HasPrefix(reply, "[") {
				if all, err := numbers(reply); err != nil || all[0] > 5 || all[2] < 0 || all[2] > 5 {
					return fmt.Errorf("%s: %s %w", line, reply, err)
				}
			}
			if i%10 == 0 {
				s.Publish(engine.Buffers{})
				e.Reclaim()
			}
		}
		do(s, "DISCARD")
		return nil
	})

	s := newSession(t, e)
	require.Equal(t, "OK", do(s, "FLUSHALL"))
	for db := range 16 {
		require.Equal(t, "OK", do(s, fmt.Sprint("SELECT ", db)))
		require.Equal(t, "0", do(s, "DBSIZE"))
	}
	require.NotContains(t, do(s, "INFO keyspace"), "db")
	// Nobody watches any more, so nothing can abort.
	require.Equal(t, "OK", do(s, "WATCH k1"))
	require.Equal(t, "OK", do(s, "MULTI"))
	require.Equal(t, "QUEUED", do(s, "RL.ALLOW k1 1 1s"))
	require.Equal(t, "[[1 1 0 0 1000]]", do(s, "EXEC"))
}

// TestSwapsLoseNothing renames keys and swaps databases; at the end every key exists
// once.
func TestSwapsLoseNothing(t *testing.T) {
	const keys = 40
	rnd := seeded()
	e, _, first := newServer(t)
	for i := range keys {
		do(first, fmt.Sprintf("SET key:%d 0", i))
	}
	var increments atomic.Int64
	together(t, e, 6, func(s *engine.Session, client int) error {
		r := rnd(client)
		for range 100 {
			if client < 2 {
				if reply := do(s, fmt.Sprintf("SWAPDB %d %d", r.IntN(16), r.IntN(16))); reply != "OK" {
					return errors.New(reply)
				}
				continue
			}
			do(s, fmt.Sprint("SELECT ", r.IntN(16)))
			// Only where the keys are at this moment, whatever the number of it.
			reply := doWords(s, "EVAL",
				"if redis.call('EXISTS',KEYS[1])==1 then return redis.call('INCR',KEYS[1]) end return 0",
				"1", fmt.Sprint("key:", r.IntN(keys)))
			if n, err := strconv.Atoi(reply); err != nil {
				return errors.New(reply)
			} else if n > 0 {
				increments.Add(1)
			}
		}
		return nil
	})
	total, sum := 0, int64(0)
	for db := range 16 {
		do(first, fmt.Sprint("SELECT ", db))
		n, err := strconv.Atoi(do(first, "DBSIZE"))
		require.NoError(t, err)
		total += n
		for _, key := range strings.Fields(strings.Trim(do(first, "KEYS *"), "[]")) {
			v, err := strconv.ParseInt(do(first, "GET "+key), 10, 64)
			require.NoError(t, err)
			sum += v
		}
	}
	require.Equal(t, keys, total)
	require.Equal(t, increments.Load(), sum)
}
