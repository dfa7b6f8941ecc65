package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"
)

// sceneRows returns the rows that ask at a rate of their own, and others in which the server does something
// meanwhile.
func sceneRows() []row {
	ours := contender{program: ourServer, flow: rlAllow}
	both2 := []scene{{name: "ours"}, {name: "redis", server: 1}}
	saved := against(rlAllow, evalsha)
	for i, c := range saved { // other servers start in the same directory
		saved[i].flags = []string{"--dbfilename", string(c.program) + ".rdb"}
	}
	list := []row{
		// The rounds are short, because a machine that takes cores away does so in any longer one.
		scened(row{
			name: "collector", about: "p99.9 of RL.ALLOW 20,000 times a second on a million keys with ten " +
				"million hits, while a collection is under way, against an empty server",
			floor: 1 / 1.2, sides: []contender{ours, ours},
		}, stage{
			load: load{perSecond: 20_000, quota: quota{limit: 1_000_000, windowMs: 3_600_000}},
			keys: 1_000_000, shorter: 4, figure: quantile(0.999), setup: fillFirst,
			scenes: []scene{{name: "full", begin: purge}, {name: "empty", server: 1, begin: fewKeys}},
		}),
		scened(row{
			name: "storm", about: "p99 of RL.ALLOW 20,000 times a second while a million other keys expire " +
				"in one second, against quiet",
			floor: 0.5, sides: []contender{ours},
		}, stage{
			load: load{perSecond: 20_000, duration: 6 * time.Second}, figure: quantile(0.99),
			scenes: []scene{{name: "storm", begin: expireMany}, {name: "quiet"}},
		}),
		scened(row{
			name: "sync", about: "p99 of RL.ALLOW 10,000 times a second while a replica copies a million " +
				"other keys, against quiet",
			floor: 0.5, sides: against(rlAllow, evalsha, replicaFlags...),
		}, meanwhile(copying, 0)),
		scened(row{
			name: "bgsave", about: "p99 of RL.ALLOW 10,000 times a second during BGSAVE of a million keys, " +
				"against quiet",
			floor: 1 / 1.5, byName: true, sides: saved,
		}, meanwhile(saving, 0.5)),
	}
	for _, rate := range []int{25, 50, 75} { // thousands: 30, 60 and 90% of what redis-server manages
		list = append(list, scened(row{
			name: fmt.Sprintf("same-rate-%d", rate), floor: 1, sides: against(rlAllow, evalsha),
			about: fmt.Sprintf("p99 of %s, both asked %d,000 times a second", allowAbout, rate),
		}, stage{load: load{perSecond: 1000 * float64(rate)}, figure: quantile(0.99), scenes: both2}))
	}
	for _, ms := range []time.Duration{10, 100} {
		list = append(list, scened(row{
			name: fmt.Sprintf("waits-%d", ms), about: fmt.Sprintf("how late BLPOP answers after %d ms", ms),
			sides: both(one(fmt.Sprintf("BLPOP {key} %.3f", (ms*time.Millisecond).Seconds()), "*-1")),
		}, stage{
			load: load{connections: 1, less: ms * time.Millisecond}, figure: quantile(0.5), scenes: both2,
		}))
	}
	for _, how := range stalls {
		list = append(list, scened(row{
			name: "stall-" + how.name, about: "the longest wait of 20,000 INCR a second during " + how.about,
			floor: 1, byName: true, sides: both(increment),
		}, stage{
			load: load{perSecond: 20_000, duration: time.Second}, figure: quantile(1),
			scenes: []scene{{name: "ours", begin: how.begin}, {name: "redis", server: 1, begin: how.begin}},
			versus: []versus{{bound: 5}, {suffix: "-redis", than: 1}},
		}))
	}
	return list
}

// scened returns a row that is measured by scenes. Unless the stage says otherwise, waits of the first two
// are compared.
func scened(r row, st stage) row {
	if st.versus == nil {
		st.versus = []versus{{than: 1}}
	}
	r.measure = st.measure
	return r
}

// meanwhile returns the stage of two servers with a million keys, each with and without what begins.
func meanwhile(begin beginning, tookFloor float64) stage {
	return stage{
		load: load{perSecond: 10_000}, figure: quantile(0.99), setup: fillLimiters,
		timed: true, tookFloor: tookFloor,
		scenes: []scene{
			{name: "ours meanwhile", begin: begin},
			{name: "ours quiet"},
			{name: "redis meanwhile", server: 1, begin: begin},
			{name: "redis quiet", server: 1},
		},
		versus: []versus{{than: 1}, {suffix: "-redis", ours: 2, than: 3}},
	}
}

// fillFirst adds ten hits to a million keys of the first server. Consecutive scores would be stored as one
// run, so each comes alone.
func fillFirst(ctx context.Context, s *serverProcess, side int) error {
	for n := 0; side == 0 && n < 10; n++ {
		err := s.bulk(ctx, 1_000_000, func(k int, to []string) []string {
			return append(to, "RL.ALLOW", fmt.Sprintf("%s00000:%07d", keyPrefix, k), "1000000", "60m")
		})
		if err != nil {
			return fmt.Errorf("hit %d of every key: %w", n+1, err)
		}
	}
	return nil
}

func fewKeys(_ context.Context, _ *serverProcess, l *load) (ending, error) {
	l.keys = uniform(100, 0)
	return nil, nil
}

// sending returns what sends commands at an instant of a load, and then reads so many replies.
func (s *serverProcess) sending(l *load, at time.Duration, commands ...string) (ending, error) {
	conn, err := net.DialTimeout("tcp", s.address, ioTimeout)
	if err != nil {
		return nil, err
	}
	var request []byte
	for _, command := range commands {
		request = appendCommand(request, strings.Fields(command))
	}
	l.during = func(now time.Duration) (phase, error) {
		if now < at || request == nil {
			return counted, nil
		}
		_, err := conn.Write(request)
		request = nil
		return counted, err
	}
	return func() (time.Duration, error) {
		defer conn.Close()
		in := bufio.NewReader(conn)
		err := conn.SetDeadline(time.Now().Add(ioTimeout))
		for range commands {
			_, readErr := readText(in)
			err = errors.Join(err, readErr)
		}
		return 0, err
	}, nil
}

// purge has Go's collector mark all keys. That begins with the load, and takes about as long.
func purge(_ context.Context, s *serverProcess, l *load) (ending, error) {
	return s.sending(l, 0, "MEMORY PURGE")
}

// expireMany adds a million keys, which expire in the second second of the load.
func expireMany(ctx context.Context, s *serverProcess, _ *load) (ending, error) {
	const keys, patient = 1_000_000, 25 * time.Second
	dueMs := time.Now().Add(patient).UnixMilli()
	err := s.bulk(ctx, keys, func(i int, to []string) []string {
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
	return func() (time.Duration, error) { return 0, s.command("OK", "FLUSHALL") }, pause(ctx, wait)
}

// pause returns after a time, or when the bench is interrupted.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// replicaFlags are those of a master. A sink confirms only while a load reads it, and the copy begins as
// soon as it is asked for.
var replicaFlags = []string{"--repl-timeout", "86400", "--repl-diskless-sync-delay", "0"}

// fillLimiters adds a million keys of one hit each.
func fillLimiters(ctx context.Context, s *serverProcess, _ int) error {
	first := time.Now().UnixMicro()
	return s.bulk(ctx, 1_000_000, func(i int, to []string) []string {
		unit := strconv.FormatInt(first+int64(i), 10)
		return append(to, "ZADD", fmt.Sprintf("copied:%07d", i), unit, unit)
	})
}

// copying has a replica copy the keys: the load ends with the copy, and only what is answered meanwhile
// counts.
func copying(_ context.Context, s *serverProcess, l *load) (ending, error) {
	sink, err := attach(s.address)
	if err != nil {
		return nil, err
	}
	l.sink, l.duration, l.during = sink, ioTimeout, sink.phase
	return func() (time.Duration, error) {
		sink.shut()
		if sink.took == 0 {
			return 0, fmt.Errorf("%w: the copy was not over after %s", errNoAnswer, ioTimeout)
		}
		return sink.took, nil
	}, nil
}

// saving has the server save its keys. It is asked fifty times a second whether it is done.
func saving(_ context.Context, s *serverProcess, l *load) (ending, error) {
	const every = 20 * time.Millisecond
	var asked, took time.Duration
	begun := false
	l.duration = ioTimeout
	l.during = func(now time.Duration) (phase, error) {
		switch {
		case !begun:
			begun = true
			_, err := s.ask("BGSAVE")
			return counted, err
		case took > 0:
			return over, nil
		case now-asked < every:
			return counted, nil
		}
		asked = now
		info, err := s.ask("INFO", "persistence")
		if err == nil && strings.Contains(info, "rdb_bgsave_in_progress:0") {
			if took = now; !strings.Contains(info, "rdb_last_bgsave_status:ok") {
				err = fmt.Errorf("BGSAVE failed: %s", info)
			}
		}
		return counted, err
	}
	return func() (time.Duration, error) { return took, nil }, nil
}

// addHits fills a key with hits, gap apart, the last of them at newest. A member is its score.
func (s *serverProcess) addHits(ctx context.Context, key string, hits int, newest, gap int64) error {
	const most = 500
	first := newest - int64(hits-1)*gap
	return s.bulk(ctx, (hits+most-1)/most, func(i int, to []string) []string {
		to = append(to, "ZADD", key)
		for n := i * most; n < min(hits, (i+1)*most); n++ {
			score := strconv.FormatInt(first+int64(n)*gap, 10)
			to = append(to, score, score)
		}
		return to
	})
}

// A stall is a command on a key with a million members, during which other keys may wait.
type stall struct {
	name, about string
	random      bool            // members are random, not hits
	commands    func() []string // sent at once
	left        string          // what ZCARD says of the key then
}

const (
	stallMembers = 1_000_000
	stallKey     = "big"
)

var stalls = []stall{
	{"hits", "ZREMRANGEBYSCORE of a million hits", false, once("ZREMRANGEBYSCORE big -inf +inf"), "0"},
	{
		"half", "ZREMRANGEBYRANK of half of a million random members", true,
		once("ZREMRANGEBYRANK big 250000 749999"), "500000",
	},
	{"zrem", "ten ZREM of 5,000 random members each, of a million", true, manyZREM, "950000"},
	{"del", "DEL of a million random members", true, once("DEL big"), "0"},
	{"unlink", "UNLINK of a million random members", true, once("UNLINK big"), "0"},
	{
		"tree", "ZADD of the first member that is no number to a million hits", false,
		once("ZADD big 500000 member"), "1000001",
	},
}

func once(command string) func() []string { return func() []string { return []string{command} } }

// begin fills the key and has the command sent when half of the load is over.
func (how *stall) begin(ctx context.Context, s *serverProcess, l *load) (ending, error) {
	if _, err := s.ask("FLUSHALL"); err != nil {
		return nil, err
	}
	fill := s.fillHits
	if how.random {
		fill = s.fillMembers
	}
	if err := fill(ctx); err != nil {
		return nil, err
	}
	end, err := s.sending(l, l.duration/2, how.commands()...)
	if err != nil {
		return nil, err
	}
	return func() (time.Duration, error) {
		took, err := end()
		left, leftErr := s.ask("ZCARD", stallKey)
		if left != how.left {
			err = errors.Join(err, fmt.Errorf("%w: %q members are left", errVerdicts, left))
		}
		return took, errors.Join(err, leftErr)
	}, nil
}

// fillHits makes the key a log of units that have left a window of a minute: members that are their scores.
func (s *serverProcess) fillHits(ctx context.Context) error {
	return s.addHits(ctx, stallKey, stallMembers, time.Now().Add(-2*time.Minute).UnixMicro(), 7)
}

// memberName returns the n-th random member: numbers without order, not those that are scores.
func memberName(n int) string { return fmt.Sprintf("%016x", (uint64(n)+1)*0x9e3779b97f4a7c15) }

// fillMembers adds random members in an order that is not that of their scores, all of them different.
func (s *serverProcess) fillMembers(ctx context.Context) error {
	const most = 500
	return s.bulk(ctx, stallMembers/most, func(i int, to []string) []string {
		to = append(to, "ZADD", stallKey)
		for n := i * most; n < (i+1)*most; n++ {
			score := uint64(n) * 618_033 % stallMembers // 618,033 has no factor in common with a million
			to = append(to, strconv.FormatUint(score, 10), memberName(n))
		}
		return to
	})
}

func manyZREM() (list []string) {
	const commands, members = 10, 5000
	for i := range commands {
		command := "ZREM " + stallKey
		for n := range members {
			command += " " + memberName(i*members+n)
		}
		list = append(list, command)
	}
	return list
}
