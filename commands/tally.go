package commands

// A CallCount counts the calls of one command. Rejected calls did not run and are not
// in Calls; failed ones are.
type CallCount struct {
	Cmd                     *Command
	Calls, Rejected, Failed int64
}

// CountNested counts a call made by a script or by EXEC.
func (c *Ctx) CountNested(cmd *Command, rejected, failed bool) {
	if c.Env == nil {
		return
	}
	n := c.Env.nested(cmd)
	switch {
	case rejected:
		n.Rejected++
	case failed:
		n.Failed++
		n.Calls++
	default:
		n.Calls++
	}
}

func (e *Env) nested(cmd *Command) *CallCount {
	for i := range e.Nested {
		if e.Nested[i].Cmd == cmd {
			return &e.Nested[i]
		}
	}
	e.Nested = append(e.Nested, CallCount{Cmd: cmd})
	return &e.Nested[len(e.Nested)-1]
}

// An ErrorCount determines whether the session counts the errors of a reply for INFO
// errorstats.
type ErrorCount uint8

// The values of Ctx.Errors.
const (
	ErrorsUncounted ErrorCount = iota // the session counts the errors
	NoErrors                          // there are no errors to count
	ErrorsCounted                     // the handler has counted them
)
