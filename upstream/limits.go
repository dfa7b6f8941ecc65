package upstream

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/upstream/call"
)

// limits are the decisions about rate limits, which are calls of functions of a library.
type limits struct{ upstream *Upstream }

// A decision is one call of an RL command.
type decision struct{}

// A queuedDecision is one of a transaction.
type queuedDecision struct {
	at       int
	decision *decision
}

func (l *limits) init(u *Upstream) { l.upstream = u }

func (l *limits) handles(cmd *commands.Command) bool { return false }

func (l *limits) parse(*commands.Command, [][]byte) (*decision, []byte) { return nil, nil }

func (l *limits) unit(*call.Call, bool) (*unit, []byte) { return nil, nil }

func (l *limits) recover(*unit, []byte) bool { return false }

func (l *limits) reply(x *unit) []byte { return x.reply }

func (l *limits) degrade(*unit) {}

func (d *decision) args() [][]byte { return nil }
