package abuse

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// idle opens connections, and checks that they are counted.
func idle(ctx context.Context, t *Target) error {
	all, err := t.open(t.Size, t.dial)
	if err != nil {
		return err
	}
	defer closeAll(all)
	return t.rounds(ctx, func(int) error {
		last := all[len(all)-1]
		if err := last.awaitConnected(int64(len(all))); err != nil {
			return err
		}
		if t.Rounds == 0 { // a long list would be an abuse of its own
			return pause(ctx, t, time.Second)
		}
		list, err := last.Text("CLIENT", "LIST")
		if lines := strings.Count(list, "\n"); err != nil || lines < len(all) {
			return fmt.Errorf("CLIENT LIST shows %d of %d connections: %w", lines, len(all), err)
		}
		return nil
	})
}

// awaitConnected waits until the server has accepted so many connections that wait to be.
func (c *Client) awaitConnected(n int64) error {
	for end := time.Now().Add(ioTimeout); ; {
		connected, err := c.Info("connected_clients")
		if err != nil || connected >= n {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("%d connections count as %d", n, connected)
		}
	}
}

// pause waits between two rounds of an attack that runs until its context ends.
func pause(ctx context.Context, t *Target, d time.Duration) error {
	if t.Rounds > 0 {
		return nil
	}
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
	return nil
}

// slow sends commands a byte at a time, over many connections.
func slow(ctx context.Context, t *Target) error {
	all, err := t.open(t.Size/10, t.dial)
	if err != nil {
		return err
	}
	defer closeAll(all)
	command := Command("ECHO", strings.Repeat("x", 1000))
	for _, c := range all {
		if err := c.Send(command[:len(command)/2]); err != nil {
			return err
		}
	}
	return t.rounds(ctx, func(int) error {
		for _, c := range all {
			if err := c.Send([]byte("x")); err != nil {
				return err
			}
		}
		return pause(ctx, t, 100*time.Millisecond)
	})
}

// connects opens connections at a rate, each for one command.
func connects(ctx context.Context, t *Target) error {
	const perRound = 20
	return t.rounds(ctx, func(int) error {
		start := time.Now()
		for range perRound {
			c, err := t.dial()
			if err != nil {
				return err
			}
			_, err = c.Do("PING")
			c.Close()
			if err != nil {
				return err
			}
		}
		return pause(ctx, t, perRound*time.Millisecond-time.Since(start))
	})
}

// tooMany opens connections until the server refuses more.
func tooMany(ctx context.Context, t *Target) error {
	var held []*Client
	defer func() { closeAll(held) }()
	return t.rounds(ctx, func(int) error {
		for range 100 {
			c, err := t.dial()
			if err != nil {
				return err
			}
			if _, err = c.Do("PING"); err == nil {
				held = append(held, c)
				continue
			}
			c.Close()
			if isErrorReply(err) && err.Error() != "ERR max number of clients reached" {
				return err
			}
		}
		if len(held) > 64 {
			return fmt.Errorf("%d clients are served", len(held))
		}
		return pause(ctx, t, 100*time.Millisecond)
	})
}
