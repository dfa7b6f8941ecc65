package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
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
