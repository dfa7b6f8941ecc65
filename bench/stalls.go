package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A stall is a command on a key with a million members, while which other keys may wait.
type stall struct {
	name, about string
	fill        func(ctx context.Context, s *serverProcess) error
	commands    func() []string // sent at once; arguments are separated by spaces
	left        string          // what ZCARD says of the key then
	ours        bool            // redis-server has no such command
}

const (
	stallMembers = 1_000_000
	stallKey     = "big"
)

var stalls = []stall{
	{
		"hits", "ZREMRANGEBYSCORE of a million hits", fillHits, once1("ZREMRANGEBYSCORE big -inf +inf"), "0",
		false,
	},
	{"allow", "RL.ALLOW that drops a million hits", fillHits, once1("RL.ALLOW big 10 1m"), "1", true},
	{
		"most", "ZREMRANGEBYRANK of all random members but ten", fillMembers,
		once1("ZREMRANGEBYRANK big 0 -11"), "10", false,
	},
	{
		"half-score", "ZREMRANGEBYSCORE of half of a million random members", fillMembers,
		once1("ZREMRANGEBYSCORE big -inf (500000"), "500000", false,
	},
	{
		"half-rank", "ZREMRANGEBYRANK of half of a million random members", fillMembers,
		once1("ZREMRANGEBYRANK big 250000 749999"), "500000", false,
	},
	{
		"zrem", "ten ZREM of 5,000 random members each, of a million", fillMembers, manyZREM, "950000",
		false,
	},
	{"del-hits", "DEL of a million hits", fillHits, once1("DEL big"), "0", false},
	{"del", "DEL of a million random members", fillMembers, once1("DEL big"), "0", false},
	{"unlink", "UNLINK of a million random members", fillMembers, once1("UNLINK big"), "0", false},
	{
		"flushall", "FLUSHALL ASYNC of a million random members and a million keys", fillKeys,
		once1("FLUSHALL ASYNC"), "0", false,
	},
	{
		"rename", "RENAME over a million random members", fillMembers,
		once1("ZADD small 1 x", "RENAME small big"),
		"1", false,
	},
	{
		"tree", "ZADD of the first member that is no number to a million hits", fillHits,
		once1("ZADD big 500000 member"), "1000001", false,
	},
}

func once1(commands ...string) func() []string { return func() []string { return commands } }

// fillHits makes the key a log of units that have left a window of a minute: members that are their scores.
func fillHits(ctx context.Context, s *serverProcess) error {
	return s.addHits(ctx, stallKey, stallMembers, time.Now().Add(-2*time.Minute).UnixMicro(), 7, "")
}

// memberName returns the n-th random member: numbers without order, not those that are scores.
func memberName(n int) string {
	return fmt.Sprintf("%016x", (uint64(n)+1)*0x9e3779b97f4a7c15)
}

// fillMembers adds random members in an order that is not that of their scores, each of which is different.
func fillMembers(ctx context.Context, s *serverProcess) error {
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

// fillKeys adds a million small keys to a key of as many members.
func fillKeys(ctx context.Context, s *serverProcess) error {
	if err := fillMembers(ctx, s); err != nil {
		return err
	}
	return s.bulk(ctx, stallMembers, func(i int, to []string) []string {
		return append(to, "SET", fmt.Sprintf("small:%010d", i), "value")
	})
}

func manyZREM() []string {
	const commands, members = 10, 5000
	var list []string
	for i := range commands {
		names := make([]string, members)
		for n := range names {
			names[n] = memberName(i*members + n)
		}
		list = append(list, "ZREM "+stallKey+" "+strings.Join(names, " "))
	}
	return list
}

func stallRows() []row {
	rows := make([]row, len(stalls))
	for i, how := range stalls {
		rows[i] = row{
			name: "stall-" + how.name, about: "the longest wait of other keys during " + how.about, floor: 1,
			measure: func(ctx context.Context, b *bench, r row, say say) ([]result, error) {
				return how.measure(ctx, b, r, say)
			},
		}
	}
	return rows
}

// measure compares the longest wait of others with 5 ms. Told beside it are redis-server's, and the longest
// wait of the same load just before.
func (how *stall) measure(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const allowedMs = 5
	contenders := both(increment)
	if how.ours {
		contenders = contenders[:1]
	}
	var worst, before [2][]float64
	var loads []*tally
	for i, c := range contenders {
		s, err := b.start(ctx, c)
		if err != nil {
			return nil, err
		}
		defer s.stop()
		for range b.rounds {
			quiet, loud, err := b.stalled(ctx, s, how)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			if i == 0 {
				loads = append(loads, quiet, loud)
			}
			worst[i] = append(worst[i], ms(loud.latency.quantile(1)))
			before[i] = append(before[i], ms(quiet.latency.quantile(1)))
		}
		s.stop()
	}
	say("ours %.2f ms, before it %.2f ms; redis %.2f ms, before it %.2f ms", median(worst[0]),
		median(before[0]), median(worst[1]), median(before[1]))
	res := lower(r.name, r.about, "ms", r.target(b.quick), figure{Name: "ours", Value: median(worst[0])},
		bound(allowedMs))
	res.Ratio = compare(slices.Repeat([]float64{allowedMs}, b.rounds), worst[0])
	res.Missed = missed(res.Ratio.OfMedians, res.Floor)
	res.warnAway(loads)
	for i, c := range contenders {
		res.Warnings = append(res.Warnings, fmt.Sprintf(
			"%s: %.1f ms, from %.1f to %.1f; in the same load just before %.1f ms", c.program,
			median(worst[i]), slices.Min(worst[i]), slices.Max(worst[i]), median(before[i])))
	}
	return []result{res}, nil
}

// stalled runs the load of other clients without, then around, the commands. The loads are short, because a
// machine that takes cores away does so in any longer one.
func (b *bench) stalled(ctx context.Context, s *serverProcess, how *stall) (quiet, loud *tally, err error) {
	const perSecond = 20_000
	if _, err := s.ask("FLUSHALL"); err != nil {
		return nil, nil, err
	}
	if err := how.fill(ctx, s); err != nil {
		return nil, nil, err
	}
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		return nil, nil, err
	}
	defer conn.Close()
	var request []byte
	for _, command := range how.commands() {
		args := strings.Fields(command)
		request = fmt.Appendf(request, "*%d\r\n", len(args))
		for _, arg := range args {
			request = fmt.Appendf(request, "$%d\r\n%s\r\n", len(arg), arg)
		}
	}
	l := b.pace(s, increment, 10_000, generous)
	l.duration = b.length / 4
	if _, err := l.paced(ctx, perSecond, nil); err != nil { // warm up
		return nil, nil, err
	}
	if quiet, err = l.paced(ctx, perSecond, nil); err != nil {
		return nil, nil, err
	}
	l.duration = max(b.length/2, time.Second)
	loud, err = l.paced(ctx, perSecond, func() error {
		_, err := conn.Write(request)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	if left, err := s.ask("ZCARD", stallKey); err != nil || left != how.left {
		return nil, nil, errors.Join(err,
			fmt.Errorf("%w: %q members are left, want %s", errVerdicts, left, how.left))
	}
	return quiet, loud, nil
}
