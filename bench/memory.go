package main

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"time"
)

// A keyspace has keys of 16 bytes with a TTL and some hits each. Its memory is measured.
type keyspace struct {
	name, about string
	keys, hits  int
	random      bool    // members <ms>-<8 hex digits>, scores ms
	perHit      bool    // the figure is bytes for each hit, not key
	allowed     float64 // bytes; 0: compare with Redis' figure
	floor       float64
}

// keyspaces are the memory targets. A hit's member is its score, the documents'
// milliseconds, some milliseconds apart.
var keyspaces = []keyspace{
	{name: "1", about: "a key with one hit, of a million", keys: 1_000_000, hits: 1, allowed: 100, floor: 1},
	{name: "10", about: "a key with ten hits, of a million", keys: 1_000_000, hits: 10, floor: 4},
	{
		name: "100", about: "a hit, of a hundred in each of 100,000 keys", keys: 100_000, hits: 100,
		perHit: true, allowed: 12, floor: 1,
	},
	{
		name: "10k", about: "a hit, of ten thousand in each of 200 keys", keys: 200, hits: 10_000,
		perHit: true, allowed: 4, floor: 1,
	},
	{
		name: "1m", about: "a hit, of a million in each of three keys", keys: 3, hits: 1_000_000,
		perHit: true, allowed: 4, floor: 1,
	},
	{name: "random", about: "a hit of ten in each of 200,000 keys", keys: 200_000, hits: 10},
	{
		name: "random-100", about: "a hit of a hundred in each of 20,000 keys",
		keys: 20_000, hits: 100,
	},
	{
		name: "random-1k", about: "a hit of a thousand in each of 2,000 keys",
		keys: 2_000, hits: 1_000,
	},
	{
		name: "random-100k", about: "a hit of 100,000 in each of 20 keys",
		keys: 20, hits: 100_000,
	},
}

// memory fills fresh servers and reads their memory use from the kernel.
func memory(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	var results []result
	for _, h := range keyspaces {
		if h.random = strings.HasPrefix(h.name, "random"); h.random {
			h.perHit, h.floor = true, 1/0.9
			h.about += ", with random members"
		}
		h.name = r.name + "-" + h.name
		unit, things := "bytes a key", float64(h.keys)
		if h.perHit {
			unit, things = "bytes a hit", float64(h.keys*h.hits)
		}
		var taken [2]series
		for i, p := range []program{ourServer, redisServer} {
			bytes, err := b.measureKeyspace(ctx, p, h)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", h.name, p, err)
			}
			taken[i] = series{string(p), []float64{bytes / things}}
			say("%s: %s %.1f %s", h.name, p, bytes/things, unit)
		}
		if h.allowed > 0 {
			h.about += "; Redis takes " + quantity(taken[1].values[0], "bytes")
			taken[1] = bound(h.allowed, 1)
		}
		results = append(results, weigh(h.name, h.about, unit, h.floor, taken[0], taken[1]))
	}
	back, err := b.giveBack(ctx, say)
	return append(results, back), err
}

// measureKeyspace returns the bytes that a fresh server needs for h.
func (b *bench) measureKeyspace(ctx context.Context, p program, h keyspace) (float64, error) {
	s, err := b.start(ctx, contender{program: p})
	if err != nil {
		return 0, err
	}
	defer s.stop()
	before, err := readProcess(s.pid)
	if err == nil {
		err = s.fill(ctx, h, 3600_000)
	}
	if err != nil {
		return 0, err
	}
	after, err := stableMemory(ctx, s)
	return float64(after - before.rss), err
}

// stableMemory waits until a server's resident memory stops falling, and returns it. Memory
// that a server returns by itself within seconds does not count; ours checks once a
// second.
func stableMemory(ctx context.Context, s *serverProcess) (int64, error) {
	least := int64(1) << 62
	for quiet := 0; quiet < 6; quiet++ {
		use, err := readProcess(s.pid)
		if err != nil {
			return 0, err
		}
		if use.rss < least-least/100 {
			quiet = 0
		}
		least = min(least, use.rss)
		if err := pause(ctx, 500*time.Millisecond); err != nil {
			return 0, err
		}
	}
	return least, nil
}

// fill adds the hits of h, a few to each key in turn, and gives the keys a TTL.
func (s *serverProcess) fill(ctx context.Context, h keyspace, ttlMs int64) error {
	const most = 500 // hits in one ZADD
	draw := rand.New(rand.NewPCG(7, 7))
	nowMs := time.Now().UnixMilli()
	for from := 0; from < h.hits; from += most {
		n := min(most, h.hits-from)
		err := s.bulk(ctx, h.keys, func(i int, to []string) []string {
			to = append(to, "ZADD", fmt.Sprintf("rl:%013d", i))
			for j := range n {
				// From two to twelve milliseconds apart.
				ms := nowMs - int64(h.hits-from-j)*7 + int64(draw.IntN(6))
				score := strconv.FormatInt(ms, 10)
				member := score
				if h.random {
					member = fmt.Sprintf("%s-%08x", score, draw.Uint32())
				}
				to = append(to, score, member)
			}
			return to
		})
		if err != nil {
			return err
		}
	}
	ttl := strconv.FormatInt(ttlMs, 10)
	return s.bulk(ctx, h.keys, func(i int, to []string) []string {
		return append(to, "PEXPIRE", fmt.Sprintf("rl:%013d", i), ttl)
	})
}

// giveBack fills a server, lets everything expire, and measures how much memory is back
// with the operating system within a minute.
func (b *bench) giveBack(ctx context.Context, say say) (result, error) {
	s, err := b.start(ctx, contender{program: ourServer})
	if err != nil {
		return result{}, err
	}
	defer s.stop()
	empty, err := readProcess(s.pid)
	if err != nil {
		return result{}, err
	}
	h := keyspace{keys: 500_000, hits: 10}
	if err := s.fill(ctx, h, 8_000); err != nil {
		return result{}, err
	}
	full, err := readProcess(s.pid)
	if err != nil {
		return result{}, err
	}
	for left := "?"; left != "0"; { // the last keys filled expire last
		if left, err = s.ask("DBSIZE"); err != nil {
			return result{}, err
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return result{}, err
		}
	}
	share := 0.0
	for waited := 0; waited < 60 && share < 0.9; waited++ {
		if err := pause(ctx, time.Second); err != nil {
			return result{}, err
		}
		use, err := readProcess(s.pid)
		if err != nil {
			return result{}, err
		}
		share = float64(full.rss-use.rss) / float64(full.rss-empty.rss)
	}
	say("%.0f%% is back", share*100)
	return weigh("memory-back",
		"of what five million hits took, back with the operating system within a minute of their expiry",
		"share", 1, series{"ours", []float64{share}}, bound(0.9, 1)), nil
}

// bulk sends n commands in batches and fails if a reply is an error. args appends the
// arguments of the i-th command to its slice.
func (s *serverProcess) bulk(ctx context.Context, n int, args func(i int, to []string) []string) error {
	conn, err := net.DialTimeout("tcp", s.address, ioTimeout)
	if err != nil {
		return err
	}
	defer conn.Close()
	w, r := bufio.NewWriterSize(conn, 1<<16), bufio.NewReaderSize(conn, 1<<16)
	const batch = 500
	var scratch []string
	var request []byte
	for from := 0; from < n; from += batch {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := conn.SetDeadline(time.Now().Add(6 * ioTimeout)); err != nil {
			return err
		}
		to := min(from+batch, n)
		for i := from; i < to; i++ {
			scratch = args(i, scratch[:0])
			request = appendCommand(request[:0], scratch)
			if _, err := w.Write(request); err != nil {
				return err
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
		for range to - from {
			if _, err := readText(r); err != nil {
				return fmt.Errorf("%s: %w", strings.Join(scratch[:1], ""), err)
			}
		}
	}
	return nil
}
