package commands

import "github.com/zlimit/zlimit/resp"

// A Monitor is told what runs, for MONITOR.
type Monitor interface {
	// Called shows a call. The database is c's.
	Called(c *Ctx, args [][]byte)
	// Redact hides an argument of the command under way.
	Redact(arg int)
}

// runMonitored is run for a command that is shown, as in Redis: behind what it
// has done, so that SELECT stands with the database that it has selected, and
// behind what it has run, as EXEC does. A script precedes its calls. Commands of
// administrators are not shown.
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
