package abuse

import (
	"context"
	"fmt"
	"time"
)

// A naming is a command by which a client has the server remember names.
type naming struct {
	command []string
	each    []string // before each name
	replies int      // to a command
}

const namesPerCommand, maxNames = 1000, 60_000

var namings = []naming{
	{command: []string{"WATCH"}, replies: 1},
	{command: []string{"SUBSCRIBE"}, replies: namesPerCommand},
	{command: []string{"PSUBSCRIBE"}, replies: namesPerCommand},
	{command: []string{"SSUBSCRIBE"}, replies: namesPerCommand},
	{command: []string{"CLIENT", "TRACKING", "ON", "BCAST"}, each: []string{"PREFIX"}, replies: 1},
}

// endlessNames watches, subscribes to and tracks names until the server hangs up.
func endlessNames(ctx context.Context, t *Target) error {
	return t.rounds(ctx, func(int) error {
		for i := range namings {
			if err := namings[i].endless(t); err != nil {
				return err
			}
		}
		return pause(ctx, t, 10*time.Millisecond)
	})
}

// endless returns an error if the server does not hang up.
func (n *naming) endless(t *Target) error {
	c, err := t.dial()
	if err != nil {
		return err
	}
	defer c.Close()
	for first := 0; first < maxNames; first += namesPerCommand {
		args := append([]string(nil), n.command...)
		for i := range namesPerCommand {
			args = append(append(args, n.each...), fmt.Sprintf("name:%08d", first+i))
		}
		if err := c.Send(Command(args...)); err != nil {
			return nil
		}
		for range n.replies {
			switch _, err := c.Reply(); {
			case isErrorReply(err):
				return fmt.Errorf("%v: %w", n.command, err)
			case err != nil:
				return nil
			}
		}
	}
	return fmt.Errorf("%v may name %d", n.command, maxNames)
}
