package engine

import (
	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// restriction returns what limits the session's user, or nil if he may do everything.
func (a *account) restriction() *acl.Rules { return a.user.Load().Restriction() }

// deny returns the error reply for a call that the user's rules do not permit and logs it, or
// returns resp.None.
func (a *account) deny(cmd *commands.Command, args [][]byte) resp.Value {
	r := a.restriction()
	if r == nil {
		return resp.None
	}
	d := r.Check(cmd, args)
	if d.Reason == acl.Permitted {
		return resp.None
	}
	context := acl.Toplevel
	if a.session.tx.open {
		context = acl.Multi
	}
	a.logDenial(d, context, a.user.Load().Name())
	switch d.Reason {
	case acl.DeniedKey:
		return errDeniedKey
	case acl.DeniedChannel:
		return errDeniedChannel
	}
	return resp.Error("NOPERM this user has no permissions to run the '" + d.Object + "' command")
}

// logDenial adds an entry about the session to ACL LOG and counts it.
func (a *account) logDenial(d acl.Denial, context, username string) {
	s := a.session
	e := s.engine
	nowUs := e.clock.NowUs()
	s.shown.edit(func(p *public) {
		p.db, p.proto, p.lastUs = s.work.ctx.DBIndex, s.answers.proto, nowUs
		if s.work.calls.ran != nil {
			p.lastCommand = s.work.calls.ran
		}
	})
	cause := acl.Cause{Reason: d.Reason, Context: context, Object: d.Object, Username: username}
	e.accounts.Log.Add(cause, nowUs/1000, s.shown.line(nowUs), e.cfg.Int("acllog-max-len"))
}

// denyInExec is deny for a queued command: its user may have lost the right since.
func (a *account) denyInExec(cmd *commands.Command, args [][]byte) resp.Value {
	r := a.restriction()
	if r == nil {
		return resp.None
	}
	d := r.Check(cmd, args)
	if d.Reason == acl.Permitted {
		return resp.None
	}
	a.logDenial(d, acl.Multi, a.user.Load().Name())
	return resp.Error("NOPERM ACLs rules changed between the moment the transaction was accumulated and " +
		"the EXEC call. This command is no longer allowed for the following reason: " + execReasons[d.Reason])
}

var execReasons = map[acl.Reason]string{
	acl.DeniedCommand: "no permission to execute the command or subcommand",
	acl.DeniedKey:     "no permission to touch the specified keys",
	acl.DeniedChannel: "no permission to access one of the channels used as arguments",
}

var scriptReasons = map[acl.Reason]string{
	acl.DeniedCommand: "ERR The user executing the script can't run this command or subcommand",
	acl.DeniedKey: "ERR The user executing the script can't access at least one of the keys mentioned " +
		"in the command arguments",
	acl.DeniedChannel: "ERR The user executing the script can't publish to the channel mentioned in the " +
		"command",
}

// RefuseCall implements commands.Guard.
func (g *guard) RefuseCall(cmd *commands.Command, args [][]byte) (text string) {
	d := g.rules.Check(cmd, args)
	if d.Reason == acl.Permitted {
		return ""
	}
	g.session.who.logDenial(d, acl.Lua, g.session.who.user.Load().Name())
	return scriptReasons[d.Reason]
}

// Permits implements commands.Guard.
func (g *guard) Permits(cmd *commands.Command, args [][]byte) bool {
	return g.rules.Check(cmd, args).Reason == acl.Permitted
}

// ReadsAllKeys implements commands.Guard.
func (g *guard) ReadsAllKeys(cmd *commands.Command, args [][]byte) bool {
	return g.rules.ReadsAllKeys(cmd, args)
}

// ReadsKey implements commands.Guard.
func (g *guard) ReadsKey(cmd *commands.Command, args [][]byte, key string) bool {
	return g.rules.ReadsKey(cmd, args, key)
}

// setGuard makes the handlers' context follow the rules that hold now.
func (a *account) setGuard(r *acl.Rules) {
	s := a.session
	a.guard = guard{s, r}
	s.work.ctx.Env.Guard = a.guardOf()
}

// guardOf returns the guard of the session's calls; nil: there is none.
func (a *account) guardOf() commands.Guard {
	if a.guard.rules == nil {
		return nil
	}
	return &a.guard
}
