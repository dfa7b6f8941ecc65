package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"
)

// paced puts a load on the server at a rate of its own, perSecond batches,
// whatever the server does: a batch that finds no free connection waits, and
// its latency counts from the instant at which it was due. A closed loop would
// forgive a server its pauses by asking less meanwhile. halfway, if any, is called
// once, with the load under way, when half of the duration has passed.
//
// The client spins between batches: it has a core of its own, and a sleep's
// wake-up would be part of every latency.
func (l *load) paced(ctx context.Context, perSecond float64, halfway func() error) (*tally, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()

	poll, clients, byFd, err := l.connect()
	if err != nil {
		return nil, err
	}
	defer closeAll(poll, clients)

	t := new(tally)
	start := time.Now()
	wallMs := start.UnixMilli()
	gap := time.Duration(float64(time.Second) / perSecond)
	var (
		at    instant
		due   time.Duration // of the next batch
		heard time.Duration
		under int
		free  = make([]*client, 0, len(clients))
	)
	for i := range clients {
		free = append(free, &clients[i])
	}
	events := make([]syscall.EpollEvent, len(clients))
	for now := time.Duration(0); due < l.duration || under > 0; now = time.Since(start) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if halfway != nil && now >= l.duration/2 {
			if err := halfway(); err != nil {
				return nil, err
			}
			halfway = nil
		}
		for due <= now && due < l.duration && len(free) > 0 {
			c := free[len(free)-1]
			free = free[:len(free)-1]
			at.set(wallMs+now.Milliseconds(), l.quota.windowMs)
			c.batch.fill(l.keys, &at)
			c.step, c.sentAt, c.waiting = 0, due, true
			if err := c.send(poll); err != nil {
				return nil, err
			}
			due += gap
			under++
		}
		n, err := syscall.EpollWait(poll, events, 0)
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("epoll: %w", err)
		}
		if n > 0 {
			heard = now
		} else if under > 0 && now-heard > patience {
			return nil, errNoAnswer
		}
		for _, event := range events[:n] {
			c := byFd[event.Fd]
			answered, err := c.serve(poll, event.Events)
			if err != nil {
				return nil, err
			}
			if !answered {
				continue
			}
			t.latency.record(time.Since(start) - c.sentAt)
			t.all += int64(l.pipeline)
			under--
			c.waiting = false
			free = append(free, c)
		}
	}
	t.whole = time.Since(start)
	t.flows, t.elapsed = t.all, t.whole
	t.count(clients)
	return t, nil
}
