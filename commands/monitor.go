package commands

import "github.com/zlimit/zlimit/resp"

// A Monitor receives the commands that run, for MONITOR.
type Monitor interface {
	// Called adds a call. The database is c's.
	Called(c *Ctx, args [][]byte)
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

// RedactedArg stands for an argument that is hidden.
const RedactedArg = "(redacted)"

// Redact hides an argument of the command under way from MONITOR and SLOWLOG. The
// commands that hide arguments hide some of the first, or all from one on.
func (c *Ctx) Redact(arg int) { c.Redacted |= 1 << min(arg, 63) }

// An Observer looks at what commands and scripts do, for RL.DOCTOR.
type Observer interface {
	// Ran is called after a command has run, while its shards are locked. Arguments and
	// reply are valid during the call. A script's calls precede the script.
	Ran(c *Ctx, cmd *Command, args [][]byte, reply resp.Value)
}

// runObserved is Run with an observer.
func (c *Ctx) runObserved() resp.Value {
	cmd, args := c.Cmd, c.Args // a script changes them
	reply := c.runUnobserved()
	c.Observer.Ran(c, cmd, args, reply)
	return reply
}
