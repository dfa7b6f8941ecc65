package page

import (
	"context"
	"errors"

	"github.com/zlimit/zlimit/engine"
	"github.com/zlimit/zlimit/resp"
)

var (
	errClosed = errors.New("the session was closed")
	errPaused = errors.New("CLIENT PAUSE postpones commands")
)

// A client is a viewer's session. It belongs to one goroutine.
type client struct {
	engine  *engine.Engine
	session *engine.Session
	killed  context.Context // done when the viewer has gone or CLIENT KILL ends the session
	kill    context.CancelFunc
	woke    chan struct{} // a postponed command may run
	args    [][]byte
}

// newClient opens a session, until ctx is done.
func newClient(ctx context.Context, e *engine.Engine, p engine.Peer, user, password string) (*client, error) {
	c := &client{engine: e, woke: make(chan struct{}, 1)}
	c.killed, c.kill = context.WithCancel(ctx)
	p.FD, p.Name, p.Kill, p.Observes = -1, "page", c.kill, true
	p.Wake = func() {
		select {
		case c.woke <- struct{}{}:
		default: // already signaled
		}
	}
	var err error
	if c.session, err = e.LoginSession(p, user, password); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

func (c *client) close() {
	c.kill()
	c.session.Close()
}

// has reports whether there is a command of this name, or a subcommand.
func (c *client) has(args []string) bool {
	words := c.words(args)
	row := c.engine.Table().Lookup(words[0])
	if row != nil && row.Subs != nil && len(words) > 1 {
		row = row.Sub(words[1])
	}
	return row != nil
}

// permits reports whether the user may make a call.
func (c *client) permits(args []string) bool { return c.session.Permits(c.words(args)) }

// do runs a command. While CLIENT PAUSE postpones it, do waits until ctx is done.
func (c *client) do(ctx context.Context, args []string) (resp.Value, error) {
	reply := c.session.Do(c.words(args))
	for c.session.Blocked() != nil {
		for !c.session.Ready() {
			select {
			case <-c.woke:
			case <-c.killed.Done():
				return resp.None, errClosed
			case <-ctx.Done():
				return resp.None, errPaused
			}
		}
		reply = c.session.Resume()
	}
	if c.session.Closing() || c.killed.Err() != nil {
		return resp.None, errClosed
	}
	c.session.Publish(engine.Buffers{})
	return reply, nil
}

func (c *client) words(args []string) [][]byte {
	c.args = c.args[:0]
	for _, a := range args {
		c.args = append(c.args, []byte(a))
	}
	return c.args
}
