package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"
)

// pace returns a load at a fixed rate on a server that this row has prepared.
func (b *bench) pace(s *serverProcess, f flow, keys uint64, q quota) *load {
	return &load{
		address: s.address, flow: f, pipeline: 1, connections: 50,
		keys: uniform(keys, 0), quota: q, duration: b.length,
	}
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

// generous is a quota that is never reached.
var generous = quota{limit: 1_000_000, windowMs: 60_000}

// sameRate offers both servers the same load and compares the slow replies.
func sameRate(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const perSecond = 30_000
	var p99 [2][]float64
	var loads []*tally
	for range b.rounds {
		for i, c := range against(rlAllow, evalsha) {
			s, err := b.start(ctx, c)
			if err != nil {
				return nil, err
			}
			defer s.stop()
			if _, err := s.ask("SCRIPT", "LOAD", script); err != nil {
				return nil, err
			}
			l := b.pace(s, c.flow, 10_000, generous)
			if _, err := l.paced(ctx, perSecond, nil); err != nil { // warm up
				return nil, err
			}
			t, err := l.paced(ctx, perSecond, nil)
			if err != nil {
				return nil, err
			}
			s.stop()
			loads = append(loads, t)
			p99[i] = append(p99[i], ms(t.latency.quantile(0.99)))
		}
		n := len(p99[0]) - 1
		say("p99: ours %.3f ms, redis %.3f ms", p99[0][n], p99[1][n])
	}
	ours, theirs := figure{Name: "ours", Value: median(p99[0])}, figure{Name: "redis", Value: median(p99[1])}
	res := lower(r.name, "p99 of "+r.about, "ms", r.target(b.quick), ours, theirs)
	res.Ratio = compare(p99[1], p99[0])
	res.warnAway(loads)
	return []result{res}, nil
}

// largeWindow compares a call's cost on a key with a million hits and one with ten:
// RL.ALLOW that denies, and the documents' flow on a window that slides by a hit a
// call.
func largeWindow(ctx context.Context, b *bench, r row, _ say) ([]result, error) {
	const few, many = 10, 1_000_000
	var perSecond [2][2][]float64 // flow, size
	for range b.rounds {
		for j, hits := range []int{few, many} {
			s, err := b.start(ctx, contender{program: ourServer})
			if err != nil {
				return nil, err
			}
			defer s.stop()
			nowMs := time.Now().UnixMilli()
			// The limiter's own scores are microseconds; the documents' milliseconds.
			if err := s.addHits(ctx, keyPrefix+"00000:0000001", hits, nowMs*1000, 1000, ""); err != nil {
				return nil, err
			}
			if err := s.addHits(ctx, keyPrefix+"00000:0000002", hits, nowMs, 1, ""); err != nil {
				return nil, err
			}
			for i, l := range []*load{
				{
					flow: rlAllow, keys: &picker{only: 1},
					quota: quota{limit: int64(hits), windowMs: int64(hits) + 3_600_000},
				},
				{
					flow: sliding, keys: &picker{only: 2}, fromMs: nowMs + 1,
					quota: quota{limit: int64(hits) + 100, windowMs: int64(hits)},
				},
			} {
				l.address, l.pipeline, l.connections, l.duration = s.address, 1, 1, b.length/2
				t, err := l.run(ctx)
				if err != nil {
					return nil, err
				}
				if i == 0 && t.admitted > 0 {
					return nil, fmt.Errorf("%w: %d admitted past the limit", errVerdicts, t.admitted)
				}
				perSecond[i][j] = append(perSecond[i][j], float64(t.flows)/t.elapsed.Seconds())
			}
			s.stop()
		}
	}
	var results []result
	for i, name := range []string{"allow", "sliding"} {
		about := map[string]string{
			"allow":   "RL.ALLOW, denied",
			"sliding": "the documents' flow, a hit leaves with each call",
		}[name]
		res := higher(r.name+"-"+name, about+": a key with a million hits against one with ten", "/s",
			r.target(b.quick),
			figure{Name: "a million", Value: median(perSecond[i][1])},
			figure{Name: "ten", Value: median(perSecond[i][0])})
		res.Ratio = compare(perSecond[i][1], perSecond[i][0])
		results = append(results, res)
	}
	return results, nil
}

// addHits fills a key with hits, gap apart, the last of them at newest. A member is its
// score and the suffix.
func (s *serverProcess) addHits(
	ctx context.Context, key string, hits int, newest, gap int64, suffix string,
) error {
	const most = 500
	first := newest - int64(hits-1)*gap
	return s.bulk(ctx, (hits+most-1)/most, func(i int, to []string) []string {
		to = append(to, "ZADD", key)
		for n := i * most; n < min(hits, (i+1)*most); n++ {
			score := strconv.FormatInt(first+int64(n)*gap, 10)
			to = append(to, score, score+suffix)
		}
		return to
	})
}

// collector compares p99.9 on a full server, while Go's collector marks its keys, with that on an empty one.
// The rounds are short, because a machine that takes cores away does so in any longer one.
func collector(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const keys, hits, perSecond, shorter = 1_000_000, 10, 20_000, 4
	var loads [2]*load
	var purge net.Conn // to the full server
	for i, fill := range []int{0, hits} {
		s, err := b.start(ctx, contender{program: ourServer})
		if err != nil {
			return nil, err
		}
		defer s.stop()
		for n := range fill {
			// Consecutive scores would be stored as one run, so each comes alone.
			err := s.bulk(ctx, keys, func(k int, to []string) []string {
				return append(to, "RL.ALLOW", fmt.Sprintf("%s00000:%07d", keyPrefix, k), "1000000", "60m")
			})
			if err != nil {
				return nil, fmt.Errorf("hit %d of every key: %w", n+1, err)
			}
		}
		loads[i] = b.pace(s, rlAllow, keys, quota{limit: 1_000_000, windowMs: 3_600_000})
		if fill == 0 {
			loads[i].keys = uniform(100, 0)
		}
		if _, err := loads[i].paced(ctx, perSecond, nil); err != nil { // warm up
			return nil, err
		}
		loads[i].duration /= shorter
		if purge, err = net.Dial("tcp", s.address); err != nil {
			return nil, err
		}
		defer purge.Close()
	}
	replies := bufio.NewReader(purge)
	var p999 [2][]float64
	var tallies []*tally
	for range shorter * b.rounds {
		for i, l := range loads {
			began := time.Now()
			if i == 1 { // a collection begins, and lasts for about the round
				if _, err := purge.Write([]byte("MEMORY PURGE\r\n")); err != nil {
					return nil, err
				}
			}
			t, err := l.paced(ctx, perSecond, nil)
			if err != nil {
				return nil, err
			}
			if i == 1 {
				if reply, err := readText(replies); err != nil || reply != "OK" {
					return nil, errors.Join(err, fmt.Errorf("MEMORY PURGE was answered with %q", reply))
				}
				say("a round of %.2f s, a collection of at most %.2f s: p99.9 %.2f ms", t.whole.Seconds(),
					time.Since(began).Seconds(), ms(t.latency.quantile(0.999)))
			}
			tallies = append(tallies, t)
			p999[i] = append(p999[i], ms(t.latency.quantile(0.999)))
		}
	}
	full, empty := figure{Name: "full", Value: median(p999[1])}, figure{Name: "empty", Value: median(p999[0])}
	say("p99.9: full %.3f ms, empty %.3f ms", full.Value, empty.Value)
	res := lower(r.name, "p99.9 of "+r.about, "ms", r.target(b.quick), full, empty)
	res.Ratio = compare(p999[0], p999[1])
	res.warnAway(tallies)
	return []result{res}, nil
}

// emptied waits until a server has fewer than 100,000 keys left.
func (s *serverProcess) emptied(ctx context.Context) error {
	for size := ""; size == "" || len(size) > 5; {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
		var err error
		if size, err = s.ask("DBSIZE"); err != nil {
			return err
		}
	}
	return nil
}

// storm compares p99 while a million keys expire with p99 when nothing does.
func storm(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const keys, perSecond = 1_000_000, 20_000
	s, err := b.start(ctx, contender{program: ourServer})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	l := b.pace(s, rlAllow, 10_000, generous)
	l.duration = 6 * time.Second
	if _, err := l.paced(ctx, perSecond, nil); err != nil { // warm up
		return nil, err
	}
	var quiet, loud []float64
	var loads []*tally
	for range min(b.rounds, 3) {
		t, err := l.paced(ctx, perSecond, nil)
		if err != nil {
			return nil, err
		}
		loads = append(loads, t)
		quiet = append(quiet, ms(t.latency.quantile(0.99)))

		// All expire in the second second of the load that follows the fill.
		const patient = 25 * time.Second
		dueMs := time.Now().Add(patient).UnixMilli()
		err = s.bulk(ctx, keys, func(i int, to []string) []string {
			return append(to, "SET", fmt.Sprintf("due:%013d", i), "1", "PXAT",
				strconv.FormatInt(dueMs+int64(i)%1000, 10))
		})
		if err != nil {
			return nil, err
		}
		wait := time.Until(time.UnixMilli(dueMs)) - time.Second
		if wait < 0 {
			return nil, fmt.Errorf("filling took more than %s", patient)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(wait):
		}
		if t, err = l.paced(ctx, perSecond, nil); err != nil {
			return nil, err
		}
		loads = append(loads, t)
		loud = append(loud, ms(t.latency.quantile(0.99)))
		if err := s.emptied(ctx); err != nil {
			return nil, err
		}
		say("p99: quiet %.3f ms, in the storm %.3f ms", quiet[len(quiet)-1], loud[len(loud)-1])
	}
	a, c := figure{Name: "storm", Value: median(loud)}, figure{Name: "quiet", Value: median(quiet)}
	res := lower(r.name, "p99 of "+r.about, "ms", r.target(b.quick), a, c)
	res.Ratio = compare(quiet, loud)
	res.warnAway(loads)
	return []result{res}, nil
}
