package abuse

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

const valueKey = "abuse:value"

// storeValue stores a value of 64 KB.
func storeValue(t *Target) error {
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = c.Do("SET", valueKey, strings.Repeat("v", 64<<10))
	return err
}

// unread asks for gigabytes and reads nothing.
func unread(ctx context.Context, t *Target) error {
	pipeline := bytes.Repeat(Command("GET", valueKey), 100)
	return t.rounds(ctx, func(int) error {
		// 32 bytes a command, 2,000 times as much in reply.
		if err := refuseToRead(t.dial, pipeline, 50<<20); err != nil {
			return err
		}
		return pause(ctx, t, 10*time.Millisecond)
	})
}

// stalledMonitors start MONITOR and do not read, while commands with long arguments
// run, until the server has closed them.
func stalledMonitors(ctx context.Context, t *Target) error {
	return stalled(ctx, t, "clients that monitor", Command("MONITOR"),
		Command("ECHO", strings.Repeat("x", 10_000)))
}

// stalledSubscribers subscribe and do not read what is published.
func stalledSubscribers(ctx context.Context, t *Target) error {
	return stalled(ctx, t, "subscribers", Command("SUBSCRIBE", "abuse"),
		Command("PUBLISH", "abuse", strings.Repeat("x", 10_000)))
}

// stalled opens clients that send listen and read only its first reply, and sends
// commands of which they get messages, until the server has closed them all.
func stalled(ctx context.Context, t *Target, what string, listen, command []byte) error {
	const clients, mostCommands = 10, 5000
	speaker, err := t.dial()
	if err != nil {
		return err
	}
	defer speaker.Close()
	return t.rounds(ctx, func(int) error {
		all, err := t.open(clients, t.dial)
		if err != nil {
			return err
		}
		defer closeAll(all)
		for _, c := range all {
			if err := errors.Join(c.Conn.(*net.TCPConn).SetReadBuffer(16<<10), c.Send(listen)); err != nil {
				return err
			}
			if _, err := c.Reply(); err != nil {
				return err
			}
		}
		before, err := speaker.Info("connected_clients")
		if err != nil {
			return err
		}
		for i := range mostCommands {
			if err := speaker.Send(command); err != nil {
				return err
			}
			if _, err := speaker.Reply(); err != nil {
				return err
			}
			if i%100 == 99 {
				left, err := speaker.Info("connected_clients")
				if err != nil || left <= before-clients {
					return errors.Join(err, pause(ctx, t, 10*time.Millisecond))
				}
			}
		}
		return fmt.Errorf("%s may leave %d MB unread", what, mostCommands*len(command)>>20)
	})
}

// endlessMulti queues commands until the server hangs up.
func endlessMulti(ctx context.Context, t *Target) error {
	queued := bytes.Repeat(Command("SET", "k", strings.Repeat("x", 10_000)), 10)
	return t.rounds(ctx, func(int) error {
		c, err := t.dial()
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := c.Do("MULTI"); err != nil {
			return err
		}
		for range 1000 { // 100 MB
			if err := c.Send(queued); err != nil {
				return pause(ctx, t, 10*time.Millisecond)
			}
		}
		return errors.New("a transaction may queue 100 MB")
	})
}
