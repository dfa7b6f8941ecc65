package commands

import "github.com/zlimit/zlimit/resp"

// A Monitor receives the commands that run, for MONITOR.
type Monitor interface {
	// Called adds a call. The database is c's.
	Called(c *Ctx, args [][]byte)
	// Redact hides an argument of the command under way.
	Redact(arg int)
}

// runMonitored is run with a monitor. As in Redis a command is shown after it has run,
// so that SELECT is shown with the new database, and EXEC after its commands; a script
// precedes its calls. Admin commands are not shown.
func (c *Ctx) runMonitored() resp.Value {
	cmd, args := c.Cmd, c.Args
	switch {
	case cmd.Is(Admin):
		return c.run()
	case cmd.Is(SkipMonitor):
		c.Monitor.Called(c, args)
		return c.run()
	}
	reply := c.run()
	c.Monitor.Called(c, args)
	return reply
}

// Redact hides an argument of the command under way from MONITOR.
func (c *Ctx) Redact(arg int) {
	if c.Monitor != nil {
		c.Monitor.Redact(arg)
	}
}
