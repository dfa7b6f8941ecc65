package acl

import (
	"slices"

	"github.com/zlimit/zlimit/commands"
)

// A Reason is the part of a call that is not permitted.
type Reason uint8

// The reasons, in the order of Redis: of the selectors that refuse a call, the one that
// goes furthest decides.
const (
	Permitted Reason = iota
	DeniedCommand
	DeniedKey
	DeniedAuth // a login failed
	DeniedChannel

	Reasons // how many there are
)

// String returns the reason's name in ACL LOG and in the metrics.
func (r Reason) String() string {
	return [Reasons]string{
		DeniedCommand: "command", DeniedKey: "key", DeniedAuth: "auth", DeniedChannel: "channel",
	}[r]
}

// A Denial says why a call is refused.
type Denial struct {
	Reason Reason
	Object string // the command's full name, the key or the channel
	at     int    // position of the key or channel in the arguments
}

// Check returns whether the rules permit a call, whose number of arguments is right.
func (r *Rules) Check(cmd *commands.Command, args [][]byte) Denial {
	worst := Denial{Reason: DeniedCommand}
	var keys [8]commands.KeyUse
	call := call{cmd: cmd, args: args, keys: keys[:0]}
	for _, s := range r.selectors {
		d := s.check(&call)
		if d.Reason == Permitted {
			return d
		}
		if d.Reason > worst.Reason || d.Reason == worst.Reason && d.at > worst.at {
			worst = d
		}
	}
	if worst.Reason == DeniedCommand {
		worst.Object = cmd.FullName()
	}
	return worst
}

// ReadsAllKeys reports whether a selector permits both a call and reading every key, as
// SORT needs for keys that follow from elements.
func (r *Rules) ReadsAllKeys(cmd *commands.Command, args [][]byte) bool {
	call := call{cmd: cmd, args: args}
	return slices.ContainsFunc(r.selectors, func(s *selector) bool {
		return s.check(&call).Reason == Permitted && s.readsAllKeys()
	})
}

// ReadsKey reports whether a selector permits both a call and reading a key.
func (r *Rules) ReadsKey(cmd *commands.Command, args [][]byte, key string) bool {
	call := call{cmd: cmd, args: args}
	return slices.ContainsFunc(r.selectors, func(s *selector) bool {
		return (s.allKeys || s.permitsKey(key, commands.ReadsKey)) && s.check(&call).Reason == Permitted
	})
}

// A call is what is checked against each selector.
type call struct {
	cmd   *commands.Command
	args  [][]byte
	keys  []commands.KeyUse
	found bool // keys has them
}

func (c *call) keyUses() []commands.KeyUse {
	if !c.found {
		c.keys, c.found = c.cmd.AppendKeyUses(c.keys, c.args), true
	}
	return c.keys
}

func (s *selector) check(c *call) Denial {
	if !s.allCommands && !c.cmd.Is(commands.NoAuth) && !s.permits(c.cmd, c.args) {
		return Denial{Reason: DeniedCommand}
	}
	if !s.allKeys && c.cmd.HasKeys() {
		for _, use := range c.keyUses() {
			if !s.permitsKey(string(use.Key), use.Access) {
				return Denial{Reason: DeniedKey, Object: string(use.Key), at: use.At}
			}
		}
	}
	if !s.allChannels && c.cmd.Channels != commands.NoChannels {
		channels, patterns := c.cmd.ChannelsOf(c.args)
		for i, channel := range channels {
			if !s.permitsChannel(string(channel), patterns) {
				return Denial{Reason: DeniedChannel, Object: string(channel), at: 1 + i}
			}
		}
	}
	return Denial{}
}

// permits reports whether the selector permits a command, perhaps because of its first
// argument.
func (s *selector) permits(cmd *commands.Command, args [][]byte) bool {
	number := s.commands.byID[cmd.ID()].number
	if s.permitted.has(number) {
		return true
	}
	return len(args) > 1 && slices.ContainsFunc(s.firstArgs[number], func(arg string) bool {
		return asciiLower(arg) == asciiLower(string(args[1]))
	})
}

func (s *selector) permitsKey(key string, access commands.KeyAccess) bool {
	for i := range s.keys {
		if p := &s.keys[i]; p.access&access == access && commands.GlobMatch([]byte(p.glob), key) {
			return true
		}
	}
	return false
}

func (s *selector) readsAllKeys() bool {
	return s.allKeys || slices.ContainsFunc(s.keys, func(p keyPattern) bool {
		return p.glob == "*" && p.access&commands.ReadsKey != 0
	})
}

// permitsChannel reports whether the selector permits a channel, or a pattern of
// channels: a pattern must be the rule's own.
func (s *selector) permitsChannel(channel string, pattern bool) bool {
	return slices.ContainsFunc(s.channels, func(glob string) bool {
		if pattern {
			return glob == channel
		}
		return commands.GlobMatch([]byte(glob), channel)
	})
}

// LosesChannels reports whether the rules have a pattern of channels that others lack, and
// the others do not permit all channels.
func (r *Rules) LosesChannels(to *Rules) bool {
	if slices.ContainsFunc(to.selectors, func(s *selector) bool { return s.allChannels }) {
		return false
	}
	return slices.ContainsFunc(r.selectors, func(s *selector) bool {
		return s.allChannels || slices.ContainsFunc(s.channels, func(glob string) bool {
			return !to.PermitsChannel(glob, true)
		})
	})
}

// PermitsChannel reports whether a selector permits a channel, or a pattern of channels.
func (r *Rules) PermitsChannel(channel string, pattern bool) bool {
	return slices.ContainsFunc(r.selectors, func(s *selector) bool {
		return s.allChannels || s.permitsChannel(channel, pattern)
	})
}
