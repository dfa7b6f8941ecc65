package upstream

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/sony/gobreaker/v2"

	"github.com/zlimit/zlimit/upstream/ratelimit"
)

// Bounds of one pipeline.
const (
	maxPipeline      = 1024
	maxPipelineBytes = 256 << 10
)

// An item is one command on the wire.
type item struct {
	args     [][]byte
	decision *ratelimit.Call // that args stand for; nil: they do not, or must not be combined
	reading  reading
	reply    []byte // raw, or the beginning of what reading has in blocks; nil if err is set
	err      error
}

// A job is commands that are sent in one piece to one node.
type job struct {
	items     []*item
	decisions int // among items
	bytes     int
	due       time.Time
	done      *sync.WaitGroup
}

// A lane is the queue of a node for one database and protocol, and the connection on which it is
// sent. One goroutine at a time sends everything that waits as one pipeline: what arrives during
// a round trip shares the next one. There is no goroutine while nothing waits.
type lane struct {
	node   *node
	client *redis.Client

	mu      sync.Mutex
	waiting []*job // protected by mu
	queued  int    // protected by mu: commands in waiting
	running bool   // protected by mu: somebody sends
	retired bool   // protected by mu: the connection is closed when nothing waits
}

// submit queues a job. If inline is true and nobody sends, the caller does, and submit returns
// when the job is done.
func (l *lane) submit(j *job, inline bool) {
	l.mu.Lock()
	if l.queued+len(j.items) > l.node.upstream.options.Queue {
		l.mu.Unlock()
		l.node.upstream.counts.full.Add(int64(len(j.items)))
		j.fail(&unsent{errQueueFull})
		return
	}
	l.waiting = append(l.waiting, j)
	l.queued += len(j.items)
	if l.running {
		l.mu.Unlock()
		return
	}
	l.running = true
	l.mu.Unlock()
	if !inline {
		go l.drain()
		return
	}
	if l.send() {
		go l.drain()
	}
}

// drain sends until nothing waits.
func (l *lane) drain() {
	for l.send() {
	}
}

// send sends one pipeline. It reports whether more waits; otherwise nobody sends any more.
func (l *lane) send() (more bool) {
	jobs := l.take()
	now := time.Now()
	live := jobs[:0]
	for _, j := range jobs {
		if now.After(j.due) {
			j.fail(&unsent{errLate})
			continue
		}
		live = append(live, j)
	}
	if len(live) > 0 {
		items, groups := combine(live)
		err := l.try(items)
		for _, it := range items {
			if it.reply == nil && it.err == nil {
				it.err = err
			}
		}
		for _, g := range groups {
			l.node.upstream.counts.combined.Add(int64(len(g.calls) - 1))
			g.settle()
		}
		for _, j := range live {
			j.done.Done()
		}
	}
	l.mu.Lock()
	more = len(l.waiting) > 0
	l.running = more
	over := l.retired && !more
	l.mu.Unlock()
	if over {
		_ = l.client.Close()
	}
	return more
}

// retire closes the connection as soon as nothing waits. Commands that come later fail unsent.
func (l *lane) retire() {
	l.mu.Lock()
	l.retired = true
	over := !l.running
	l.mu.Unlock()
	if over {
		_ = l.client.Close()
	}
}

// take removes jobs for one pipeline.
func (l *lane) take() []*job {
	l.mu.Lock()
	defer l.mu.Unlock()
	n, commands, bytes := 0, 0, 0
	for _, j := range l.waiting {
		if n > 0 && (commands+len(j.items) > maxPipeline || bytes+j.bytes > maxPipelineBytes) {
			break
		}
		n++
		commands += len(j.items)
		bytes += j.bytes
	}
	jobs := append([]*job(nil), l.waiting[:n]...)
	rest := copy(l.waiting, l.waiting[n:])
	clear(l.waiting[rest:])
	l.waiting = l.waiting[:rest]
	l.queued -= commands
	return jobs
}

// try makes one round trip, if the breaker admits it.
func (l *lane) try(items []*item) error {
	n := l.node
	_, err := n.breaker.Execute(func() (struct{}, error) {
		err := n.exchange(l.client, items)
		if err != nil {
			text := err.Error()
			n.lastError.Store(&text)
			n.failures.Add(1)
		}
		return struct{}{}, err
	})
	err = explain(err)
	if reason := n.lastError.Load(); reason != nil && errors.Is(err, errAway) {
		return &unsent{fmt.Errorf("%w: %s", errAway, *reason)}
	}
	return err
}

// explain returns an error whose type says whether anything can have been sent.
func explain(err error) error {
	var dial *dialError
	var timeout net.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, gobreaker.ErrOpenState), errors.Is(err, gobreaker.ErrTooManyRequests):
		return &unsent{errAway}
	case errors.As(err, &dial), errors.Is(err, redis.ErrPoolTimeout), errors.Is(err, redis.ErrClosed):
		return &unsent{err}
	case isReply(err): // of AUTH, HELLO or SELECT, before anything else
		return &unsent{err}
	case errors.As(err, &timeout) && timeout.Timeout(), errors.Is(err, context.DeadlineExceeded):
		return errLate
	}
	return err
}

// isReply reports whether an error is the error reply of a server.
func isReply(err error) bool {
	var reply redis.Error
	return errors.As(err, &reply)
}

// fail ends a job that is not sent.
func (j *job) fail(err error) {
	for _, it := range j.items {
		it.err = err
	}
	j.done.Done()
}
