package abuse

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// A Probe is a set of clients that behave well: each sends a command now and then and
// waits for the reply. How long replies take is what others notice of an abuse.
type Probe struct {
	clients  []*Client
	interval time.Duration
}

// NewProbe connects n clients, each of which will send a command every interval.
func NewProbe(t *Target, n int, interval time.Duration) (*Probe, error) {
	clients, err := t.open(n, t.dial)
	return &Probe{clients, interval}, err
}

// Close disconnects the clients.
func (p *Probe) Close() { closeAll(p.clients) }

// Run sends commands until ctx ends, and at least one from each client. It returns how
// long the replies took, in order of size. A reply that says BUSY counts as any other;
// every other unexpected one is an error.
//
// If a reply comes after the next command was due, the time that this one waits to be
// sent counts: otherwise a server that stands still for a second would be noticed once
// instead of a hundred times.
func (p *Probe) Run(ctx context.Context) (Latencies, error) {
	var mu sync.Mutex // protects all
	var all Latencies
	err := together(len(p.clients), func(i int) error {
		took, err := p.run(ctx, i)
		mu.Lock()
		defer mu.Unlock()
		all = append(all, took...)
		return err
	})
	slices.Sort(all)
	return all, err
}

func (p *Probe) run(ctx context.Context, id int) (took Latencies, err error) {
	c := p.clients[id]
	key := fmt.Sprintf("probe:%d", id)
	commands := []struct {
		bytes []byte
		want  any // nil: not compared
	}{
		{Command("SET", key, "value"), "OK"},
		{Command("GET", key), "value"},
		{Command("INCR", key+":n"), nil},
		{Command("PEXPIRE", key, "100000"), int64(1)},
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	<-timer.C
	due := time.Now().Add(p.interval * time.Duration(id) / time.Duration(len(p.clients)))
	for i := 0; i == 0 || ctx.Err() == nil; i++ {
		sent := time.Now()
		if wait := due.Sub(sent); wait > 0 {
			timer.Reset(wait)
			<-timer.C
			sent = time.Now()
		} else {
			sent = due
		}
		due = due.Add(p.interval)
		command := &commands[i%len(commands)]
		if err := c.Send(command.bytes); err != nil {
			return took, err
		}
		reply, err := c.Reply()
		took = append(took, time.Since(sent))
		var refusal ErrorReply
		switch {
		case errors.As(err, &refusal) && len(refusal) > 5 && refusal[:5] == "BUSY ":
		case err != nil:
			return took, err
		case command.want != nil && reply != command.want:
			return took, fmt.Errorf("%q is answered with %v", command.bytes, reply)
		}
	}
	return took, nil
}

// Latencies are times, the shortest first.
type Latencies []time.Duration

// P returns the time that a share of q of all were within; 0 if there are none.
func (l Latencies) P(q float64) time.Duration {
	if len(l) == 0 {
		return 0
	}
	return l[min(int(q*float64(len(l))), len(l)-1)]
}
