package main

import (
	"context"
	"runtime"
	"time"
)

// paced puts a load on the server at a fixed rate of perSecond batches, whatever the
// server does. A batch that finds no free connection waits, and its latency counts from
// when it was due. A closed loop would hide a server's pauses by sending less
// meanwhile. halfway, if not nil, is called once, with the load under way, after half
// of the duration.
//
// The client spins between batches: it has a core of its own, and waking from a sleep
// would be part of every latency.
func (l *load) paced(ctx context.Context, perSecond float64, halfway func() error) (*tally, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	w, err := l.connect()
	if err != nil {
		return nil, err
	}
	defer w.close()

	t := new(tally)
	start := time.Now()
	wallMs := start.UnixMilli()
	gap := time.Duration(float64(time.Second) / perSecond)
	var (
		at    instant
		due   time.Duration // when the next batch is due
		last  time.Duration // time of the server's last activity
		under int
		free  = make([]*client, 0, len(w.clients))
	)
	for i := range w.clients {
		free = append(free, &w.clients[i])
	}
	// over reports whether the copy has arrived, or the job is done, that ends the load.
	over := func() bool { return l.copied && l.sink.state == sinkFollowing || l.job.over() }
	answered := func(c *client) error {
		if (!l.copied || l.sink.state == sinkCopying) && !l.job.over() {
			t.latency.record(time.Since(start) - c.sentAt)
		}
		t.all += int64(l.pipeline)
		under--
		c.waiting = false
		free = append(free, c)
		return nil
	}
	for now := time.Duration(0); due < l.duration && !over() || under > 0; now = time.Since(start) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if halfway != nil && now >= l.duration/2 {
			if err := halfway(); err != nil {
				return nil, err
			}
			halfway = nil
		}
		if err := l.job.look(now); err != nil {
			return nil, err
		}
		for due <= now && due < l.duration && !over() && len(free) > 0 {
			c := free[len(free)-1]
			free = free[:len(free)-1]
			at.set(wallMs+now.Milliseconds(), l.quota.windowMs)
			c.batch.fill(l.keys, &at)
			c.step, c.sentAt, c.waiting = 0, due, true
			if err := c.send(w.poll); err != nil {
				return nil, err
			}
			due += gap
			under++
		}
		served, err := w.serve(0, answered)
		if err != nil {
			return nil, err
		}
		t.turned(time.Since(start) - now)
		if served {
			last = now
		} else if under > 0 && now-last > ioTimeout {
			return nil, errNoAnswer
		}
	}
	t.whole = time.Since(start)
	t.flows, t.elapsed = t.all, t.whole
	t.count(w.clients)
	return t, nil
}
