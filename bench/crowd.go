package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"sync"
	"time"
)

// crowdIdle is how many connections of the rows crowd-* have nothing to do.
const crowdIdle = 9000

func crowdRows() []row {
	var rows []row
	for _, pipeline := range []int{1, 16} {
		sides := both(incr)
		for i := range sides {
			sides[i].flags = []string{"--maxclients", "20000"}
		}
		rows = append(rows, row{
			name:  fmt.Sprintf("crowd-%d", pipeline),
			about: fmt.Sprintf("INCR and EXPIRE of 1,000 clients, while %d others are connected", crowdIdle),
			floor: 1, pipeline: pipeline, sides: sides, connections: 1000, keys: 10_000, quota: perMinute,
			idle: crowdIdle, measure: crowded,
		})
	}
	return rows
}

// queueRow is 1,000 callers at 10 keys.
func queueRow() row {
	const about = "1,000 callers that WAIT against polling at retry_after"
	return row{name: "waiting", about: about, measure: queued}
}

// connectionRows are calls that wait for their replies, over few connections and over many.
func connectionRows() []row {
	var rows []row
	for _, at := range []struct {
		connections          int
		ping, allow, evalsha float64 // targets
	}{{50, 1, 2.1, 1.7}, {1000, 1 / 0.9, 2, 1.5}, {5000, 0, 0, 0}} {
		for _, w := range []row{
			{name: "ping", about: "PING", floor: at.ping, sides: both(ping)},
			{
				name: "allow", about: "RL.ALLOW against the documents' script by EVALSHA", floor: at.allow,
				sides: against(rlAllow, evalsha), mix: admitting, renew: true,
			},
			{
				name: "evalsha", about: "the documents' script by EVALSHA", floor: at.evalsha,
				sides: both(evalsha), mix: admitting, renew: true,
			},
		} {
			w.name = fmt.Sprintf("%s-c%d", w.name, at.connections)
			w.about = fmt.Sprintf("%s, %d connections", w.about, at.connections)
			w.pipeline, w.connections, w.keys, w.quota = 1, at.connections, 10_000, perMinute
			rows = append(rows, w)
		}
	}
	return rows
}

// crowded is a closed loop beside idle connections. It compares also p99 and what an idle connection takes.
func crowded(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	sides, err := b.alternate(ctx, r, r.sides, say)
	if err != nil {
		return nil, err
	}
	res := conclude(r, r.targetOf(r.sides[1], b.quick), sides[0], sides[1])
	var p99 [2][]float64
	for i, s := range sides {
		for _, round := range s.rounds {
			p99[i] = append(p99[i], ms(round.P99))
		}
	}
	slow := lower(r.name+"-p99", "p99 of "+r.about, "ms", r.target(b.quick),
		figure{Name: "ours", Value: median(p99[0])}, figure{Name: "redis", Value: median(p99[1])})
	slow.Ratio = compare(p99[1], p99[0])
	slow.Missed = missed(slow.Ratio.OfMedians, slow.Floor)
	return []result{
		res, slow,
		lower(r.name+"-memory", "resident memory of an idle connection that has sent a PING", "KB",
			r.target(b.quick), figure{Name: "ours", Value: sides[0].idleBytes / 1000},
			figure{Name: "redis", Value: sides[1].idleBytes / 1000}),
	}, nil
}

// idlers opens n connections, which send a PING and stay. It returns what one takes of the server's resident
// memory.
func (s *serverProcess) idlers(n int) (conns []net.Conn, bytes float64, err error) {
	before, err := readProcess(s.pid)
	if err != nil {
		return nil, 0, err
	}
	for range n {
		conn, err := net.DialTimeout("tcp", s.address, ioTimeout)
		if err != nil {
			return conns, 0, fmt.Errorf("%d connections are open: %w", len(conns), err)
		}
		conns = append(conns, conn)
		if _, err := conn.Write([]byte("PING\r\n")); err != nil {
			return conns, 0, err
		}
		if reply, err := readText(bufio.NewReaderSize(conn, 16)); err != nil || reply != "PONG" {
			return conns, 0, errors.Join(err, fmt.Errorf("PING was answered with %q", reply))
		}
	}
	after, err := readProcess(s.pid)
	return slices.Clip(conns), float64(after.rss-before.rss) / float64(n), err
}

// The row waiting compares callers that wait in the server with callers that poll: as many of each, at keys
// with the same limit, one kind after the other.
const (
	queueCallers  = 1000
	queueKeys     = 10
	queueLimit    = 20
	queueWindowMs = 50
)

// A caller asks for admissions, one after the other.
type caller struct {
	conn   net.Conn
	in     *bufio.Reader
	key    int
	waited []float64 // for each admission, in milliseconds
}

// admitted returns when a call was admitted: with WAIT its reply says so, otherwise it is made again after
// the time that a denial says.
func (c *caller) admitted(waits bool) error {
	line := fmt.Sprintf("RL.ALLOW queue:%d %d %d", c.key, queueLimit, queueWindowMs)
	if waits {
		line += " WAIT 1h"
	}
	began := time.Now()
	for {
		if _, err := fmt.Fprintf(c.conn, "%s\r\n", line); err != nil {
			return err
		}
		reply, err := readNumbers(c.in)
		switch {
		case err != nil:
			return err
		case len(reply) < 5:
			return fmt.Errorf("%w: %s was answered with %v", errVerdicts, line, reply)
		case reply[0] == 1:
			c.waited = append(c.waited, ms(time.Since(began)))
			return nil
		}
		time.Sleep(time.Duration(reply[3]) * time.Millisecond) //nolint:forbidigo // a caller that polls
	}
}

// readNumbers reads an array of integers.
func readNumbers(in *bufio.Reader) (numbers []int64, err error) {
	head, err := in.ReadString('\n')
	if err != nil {
		return nil, err
	}
	var n int
	if _, err := fmt.Sscanf(head, "*%d", &n); err != nil {
		return nil, fmt.Errorf("%w: %q is no array", errVerdicts, head)
	}
	for range n {
		text, err := readText(in)
		if err != nil {
			return nil, err
		}
		number, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, number)
	}
	return numbers, nil
}

// A queueRound is what one round of callers says: what the server took for an admission, in microseconds, how
// long callers waited for one, in milliseconds, and how evenly admissions were shared.
type queueRound struct{ cpuUs, p50, p99, fairness float64 }

func (s *serverProcess) queueRound(waits bool, length time.Duration) (q queueRound, err error) {
	if _, err := s.ask("FLUSHALL"); err != nil {
		return q, err
	}
	var all sync.WaitGroup
	callers := make([]*caller, queueCallers)
	for i := range callers {
		conn, err := net.DialTimeout("tcp", s.address, ioTimeout)
		if err != nil {
			return q, err
		}
		defer conn.Close()
		callers[i] = &caller{conn: conn, in: bufio.NewReaderSize(conn, 512), key: i % queueKeys}
	}
	before, err := readProcess(s.pid)
	if err != nil {
		return q, err
	}
	end := time.Now().Add(length)
	failed := make(chan error, queueCallers)
	for _, c := range callers {
		_ = c.conn.SetDeadline(end.Add(ioTimeout))
		all.Go(func() {
			for time.Now().Before(end) {
				if err := c.admitted(waits); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	all.Wait()
	after, err := readProcess(s.pid)
	close(failed)
	if err := errors.Join(err, <-failed); err != nil {
		return q, err
	}
	var times []float64
	var squares float64
	for _, c := range callers {
		times = append(times, c.waited...)
		squares += float64(len(c.waited) * len(c.waited))
	}
	slices.Sort(times)
	n := float64(len(times))
	return queueRound{
		cpuUs: float64((after.cpu - before.cpu).Microseconds()) / n,
		p50:   times[len(times)/2], p99: times[len(times)*99/100],
		fairness: n * n / (queueCallers * squares), // Jain's index: 1 if all have the same
	}, nil
}

// queued compares callers that wait with callers that poll, at one server, in turns.
func queued(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	s, err := b.start(ctx, contender{program: ourServer})
	if err != nil {
		return nil, err
	}
	defer s.stop()
	var rounds [2][]queueRound // with WAIT, and by polling
	for range b.rounds {
		for _, i := range b.shuffle.Perm(2) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			q, err := s.queueRound(i == 0, 2*b.length)
			if err != nil {
				return nil, err
			}
			say("%s: %.2f us an admission, p50 %.1f ms, p99 %.1f ms, fairness %.3f",
				[]string{"WAIT", "polling"}[i], q.cpuUs, q.p50, q.p99, q.fairness)
			rounds[i] = append(rounds[i], q)
		}
	}
	var results []result
	for _, f := range []struct {
		name, about, unit string
		of                func(q queueRound) float64
		higher            bool // is better
	}{
		{
			"cpu", "the server's processor time for an admission", "us",
			func(q queueRound) float64 { return q.cpuUs }, false,
		},
		{
			"p50", "the median from call to admission", "ms",
			func(q queueRound) float64 { return q.p50 }, false,
		},
		{"p99", "p99 from call to admission", "ms", func(q queueRound) float64 { return q.p99 }, false},
		{
			"fairness", "Jain's index of admissions by caller", "of 1",
			func(q queueRound) float64 { return q.fairness }, true,
		},
	} {
		var of [2][]float64
		for i := range rounds {
			for _, q := range rounds[i] {
				of[i] = append(of[i], f.of(q))
			}
		}
		res := lower(r.name+"-"+f.name, f.about+" of "+r.about, f.unit, 0,
			figure{Name: "WAIT", Value: median(of[0])}, figure{Name: "polling", Value: median(of[1])})
		if res.Ratio = compare(of[1], of[0]); f.higher {
			res.Ratio = compare(of[0], of[1])
		}
		results = append(results, res)
	}
	return results, nil
}
