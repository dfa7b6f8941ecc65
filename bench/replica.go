package main

import (
	"context"
	"fmt"
	"strconv"
	"time"
)

// replicaFlags are those of a master. A sink confirms only while a load reads it, and the copy begins as
// soon as it is asked for.
var replicaFlags = []string{"--repl-timeout", "86400", "--repl-diskless-sync-delay", "0"}

// replicated compares each server that has a replica with itself without one, and both with a replica.
func replicated(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	var contenders []contender
	for _, c := range r.sides {
		with, without := c, c
		with.flags, with.replica = replicaFlags, true
		with.name, without.name = string(c.program)+" with a replica", string(c.program)+" without"
		contenders = append(contenders, with, without)
	}
	sides, err := b.alternate(ctx, r, contenders, say)
	if err != nil {
		return nil, err
	}
	ours, alone, theirs, theirsAlone := sides[0], sides[1], sides[2], sides[3]
	redis, together := r, r
	redis.name, together.name = r.name+"-redis", r.name+"-both"
	together.about = "RL.ALLOW against the documents' script by EVALSHA, a replica at either server"
	return []result{
		conclude(r, target{floor: r.target(b.quick)}, ours, alone),
		conclude(redis, target{}, theirs, theirsAlone),
		conclude(together, target{}, ours, theirs),
	}, nil
}

// copying compares p99 while a replica copies a million keys with p99 when nothing happens.
func copying(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	var results []result
	for i, c := range against(rlAllow, evalsha) {
		c.flags = replicaFlags
		m, err := b.meanwhile(ctx, c, say, "while a copy is sent",
			func(_ *serverProcess, l load, perSecond float64) (*tally, time.Duration, error) {
				return l.duringCopy(ctx, perSecond)
			})
		if err != nil {
			return nil, err
		}
		name, floor := r.name, r.target(b.quick)
		if i > 0 {
			name, floor = r.name+"-"+m.server, 0
		}
		res := m.p99(name, r.about, floor)
		res.Warnings = append(res.Warnings, fmt.Sprintf("the copy took %.1f s", median(m.took)))
		results = append(results, res)
	}
	return results, nil
}

// fillLimiters adds keys of one hit each.
func (s *serverProcess) fillLimiters(ctx context.Context, keys int) error {
	if _, err := s.ask("SCRIPT", "LOAD", script); err != nil {
		return err
	}
	first := time.Now().UnixMicro()
	return s.bulk(ctx, keys, func(i int, to []string) []string {
		unit := strconv.FormatInt(first+int64(i), 10)
		return append(to, "ZADD", fmt.Sprintf("copied:%07d", i), unit, unit)
	})
}

// duringCopy runs a paced load while a replica copies the keys.
func (l load) duringCopy(
	ctx context.Context, perSecond float64,
) (loud *tally, took time.Duration, err error) {
	if l.sink, err = attach(l.address); err != nil {
		return nil, 0, err
	}
	defer l.sink.shut()
	l.copied, l.duration = true, ioTimeout
	if loud, err = l.paced(ctx, perSecond, nil); err != nil {
		return nil, 0, err
	}
	if l.sink.took == 0 {
		return nil, 0, fmt.Errorf("%w: the copy was not over after %s", errNoAnswer, ioTimeout)
	}
	return loud, l.sink.took, nil
}
