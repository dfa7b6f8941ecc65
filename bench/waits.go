package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"time"
)

// A waiter is a connection that asks one thing at a time.
type waiter struct {
	conn net.Conn
	in   *bufio.Reader
}

// ask sends an inline command and returns the reply's text.
func (w *waiter) ask(command string) (string, error) {
	if _, err := w.conn.Write([]byte(command + "\r\n")); err != nil {
		return "", err
	}
	return readText(w.in)
}

// until asks again and again until the reply is as wanted.
func (w *waiter) until(want, command string) error {
	for {
		if text, err := w.ask(command); err != nil || text == want {
			return err
		}
	}
}

// A wait is something that a limiter or its client waits for. Its run returns how
// much later it came than it was due.
type wait struct {
	name, about string
	run         func(w []*waiter) (time.Duration, error)
}

const (
	waitLife      = 20 * time.Millisecond
	waitPublished = 20
)

var (
	errNotNull = errors.New("a blocked call was not answered with a null array")
	errOrder   = errors.New("a message is not where it belongs")
)

// waits lists what the row measures: the first waiter asks, the others subscribe.
func waits() []wait {
	var list []wait
	for _, timeoutMs := range []int{10, 20, 50, 100} {
		list = append(list, wait{
			fmt.Sprint("blpop-", timeoutMs),
			fmt.Sprintf("how late BLPOP answers, whose timeout is %d ms", timeoutMs),
			func(w []*waiter) (time.Duration, error) {
				began := time.Now()
				if _, err := fmt.Fprintf(w[0].conn, "BLPOP nosuch %g\r\n",
					float64(timeoutMs)/1000); err != nil {
					return 0, err
				}
				line, err := w[0].in.ReadString('\n')
				if err == nil && line != "*-1\r\n" {
					err = fmt.Errorf("%w: %q", errNotNull, line)
				}
				return time.Since(began) - time.Duration(timeoutMs)*time.Millisecond, err
			},
		})
	}
	for _, see := range []struct{ name, about, command, gone string }{
		{"ttl", "PTTL", "PTTL key", "-2"},
		{"script", "a script", "EVAL \"return redis.call('exists', KEYS[1])\" 1 key", "0"},
	} {
		list = append(list, wait{
			"expiry-" + see.name, "how late " + see.about +
				" sees that a key is gone, which had 20 ms to live",
			func(w []*waiter) (time.Duration, error) {
				began := time.Now()
				if _, err := w[0].ask("SET key value PX 20"); err != nil {
					return 0, err
				}
				err := w[0].until(see.gone, see.command)
				return time.Since(began) - waitLife, err
			},
		})
	}
	return append(list, wait{
		"publish",
		"from a script that publishes 20 messages to the last of them, in order, at the last of four " +
			"subscribers",
		func(w []*waiter) (time.Duration, error) {
			began := time.Now()
			const script = `EVAL "for i = 1, 20 do redis.call('publish', 'news', i) end" 0`
			if _, err := w[0].conn.Write([]byte(script + "\r\n")); err != nil {
				return 0, err
			}
			for _, subscriber := range w[1:] {
				for i := range waitPublished {
					text, err := readText(subscriber.in)
					if err == nil && text != "message news "+strconv.Itoa(i+1) {
						err = fmt.Errorf("%w: %q in the place of message %d", errOrder, text, i+1)
					}
					if err != nil {
						return 0, err
					}
				}
			}
			took := time.Since(began)
			_, err := w[0].in.ReadString('\n')
			return took, err
		},
	})
}

// waiting compares what comes when it is due: the median is the figure, and the
// longest of each side is told beside it.
func waiting(ctx context.Context, b *bench, r row, say say) ([]result, error) {
	const times, subscribers = 10, 4
	var sides [2][]*waiter
	for i, p := range []program{ourServer, redisServer} {
		s, err := b.start(ctx, contender{program: p})
		if err != nil {
			return nil, err
		}
		defer s.stop()
		for n := range 1 + subscribers {
			conn, err := net.DialTimeout("tcp", s.address, ioTimeout)
			if err != nil {
				return nil, err
			}
			defer conn.Close()
			w := &waiter{conn, bufio.NewReader(conn)}
			if n > 0 {
				if _, err := w.ask("SUBSCRIBE news"); err != nil {
					return nil, err
				}
			}
			sides[i] = append(sides[i], w)
		}
	}
	var results []result
	for _, what := range waits() {
		var late [2][]float64
		for range b.rounds * times {
			for i, w := range sides {
				if err := errors.Join(ctx.Err(), limitWait(w)); err != nil {
					return nil, err
				}
				d, err := what.run(w)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", what.name, err)
				}
				late[i] = append(late[i], ms(d))
			}
		}
		ours := figure{Name: "ours", Value: median(late[0])}
		theirs := figure{Name: "redis", Value: median(late[1])}
		res := lower(r.name+"-"+what.name, what.about, "ms", r.target(b.quick), ours, theirs)
		res.Ratio = compare(late[1], late[0])
		longest := fmt.Sprintf("at least %.3f and %.3f ms, at most %.3f and %.3f",
			slices.Min(late[0]), slices.Min(late[1]), slices.Max(late[0]), slices.Max(late[1]))
		say("%s: ours %.3f ms, redis %.3f ms; %s", what.name, ours.Value, theirs.Value, longest)
		res.Warnings = append(res.Warnings, "ours and redis: "+longest)
		results = append(results, res)
	}
	return results, nil
}

// limitWait gives the connections a while for the next thing.
func limitWait(w []*waiter) error {
	for _, c := range w {
		if err := c.conn.SetDeadline(time.Now().Add(ioTimeout)); err != nil {
			return err
		}
	}
	return nil
}
