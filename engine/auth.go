package engine

import (
	"slices"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// AUTH [username] password
func auth(c *commands.Ctx) resp.Value {
	s := caller(c)
	user, password := acl.DefaultName, string(c.Args[len(c.Args)-1])
	switch len(c.Args) {
	case 2:
		c.Redact(1)
		if s.engine.accounts.Default().Rules().NoPassword() {
			return errNoPass
		}
	case 3:
		c.Redact(1)
		c.Redact(2)
		user = string(c.Args[1])
	default:
		return commands.ErrSyntax
	}
	return s.who.login(user, password)
}

// login makes the session that of a user if the password is right, and returns OK or the error reply.
func (a *account) login(name, password string) resp.Value {
	s := a.session
	if s.peer.Owner {
		return resp.OK
	}
	if !a.admitsLogin() {
		return errManyLogins
	}
	e := s.engine
	if !e.accounts.Login(name, password, a.enter) {
		if e.accounts.Logins.Failed(s.peer.Network, e.clock.MonotonicUs()) {
			e.options.Log.Warn("many logins from an address fail: further ones are slowed",
				"addr", s.peer.Addr)
		}
		d := acl.Denial{Reason: acl.DeniedAuth, Object: string(s.work.ctx.Args[0])}
		a.logDenial(d, acl.Toplevel, name)
		return errWrongPass
	}
	e.accounts.Logins.Succeeded(s.peer.Network, e.clock.MonotonicUs())
	return resp.OK
}

// maxLoginWaitUs is how long a login waits at most; one that would wait longer is refused.
// That is real time, even if the server's clock is held.
const maxLoginWaitUs = 5_000_000

// postpones reports whether a command that logs in has to wait, as under CLIENT PAUSE. If
// it has, the session is blocked until its turn.
func (a *account) postpones(cmd *commands.Command, args [][]byte) bool {
	s := a.session
	after := s.engine.options.After
	if !cmd.Is(commands.LogsIn) || after == nil || s.work.req.resumed || s.tx.open || !givesPassword(args) {
		return false
	}
	waitUs := a.reserveLogin(maxLoginWaitUs)
	if s.work.req.admitted = waitUs <= maxLoginWaitUs; waitUs <= 0 || !s.work.req.admitted {
		return false
	}
	b := s.postpone(&postponedCommand{}, args)
	after((waitUs+999)/1000, func() { b.release() })
	return true
}

// givesPassword reports whether a command that may log in does so: AUTH, or HELLO with the option.
func givesPassword(args [][]byte) bool {
	return slices.ContainsFunc(args, func(arg []byte) bool { return commands.EqualFold(arg, "auth") })
}

// admitsLogin reports whether a login may compare the password now.
func (a *account) admitsLogin() bool {
	if a.session.work.req.admitted {
		a.session.work.req.admitted = false
		return true
	}
	return a.reserveLogin(0) <= 0
}

func (a *account) reserveLogin(mostUs int64) (waitUs int64) {
	s := a.session
	return s.engine.accounts.Logins.Reserve(s.peer.Network, s.engine.clock.MonotonicUs(), mostUs)
}

// enter makes the session that of a user.
func (a *account) enter(u *acl.User) {
	a.user.Store(u)
	a.authenticated = true
}

// leave makes the session that of the default user, as a new connection's is.
func (a *account) leave() {
	s := a.session
	a.user.Store(s.engine.accounts.Default())
	if s.peer.Owner {
		a.user.Store(s.engine.accounts.Owner)
	}
	a.authenticated = !a.needsPassword()
}

// needsPassword reports whether a new session has to authenticate.
func (a *account) needsPassword() bool {
	return !a.session.peer.Owner && !a.session.engine.accounts.Default().Rules().Open()
}

// User implements accounts.Caller.
func (a *account) User() *acl.User { return a.user.Load() }

// CutUsers implements accounts.Caller.
func (a *account) CutUsers(deleted []*acl.User) {
	s := a.session
	if len(deleted) > 0 {
		s.ending.kill(func(o *Session) bool { return slices.Contains(deleted, o.who.user.Load()) })
	}
}

// CutSubscribers implements accounts.Caller.
func (a *account) CutSubscribers(u *acl.User, before *acl.Rules) {
	s := a.session
	after := u.Rules()
	if !before.LosesChannels(after) {
		return
	}
	cut := make(map[any]bool)
	for _, owner := range s.AcquireBroker().Owners(func(topic string, pattern bool) bool {
		return !after.PermitsChannel(topic, pattern)
	}) {
		cut[owner] = true
	}
	s.ending.kill(func(o *Session) bool { return cut[o] && o.who.user.Load() == u })
}

// NeedsPassword reports whether clients have to authenticate: the default user has a password, or is off.
func (e *Engine) NeedsPassword() bool { return !e.accounts.Default().Rules().Open() }

// HasPassword reports whether the default user has a password.
func (e *Engine) HasPassword() bool { return !e.accounts.Default().Rules().NoPassword() }

// HasUser reports whether there is a user with this name.
func (e *Engine) HasUser(name string) bool { return e.accounts.Find(name) != nil }

// Permits reports whether the session's user may make a call with the right number
// of arguments. Unlike Do it logs and counts nothing.
func (s *Session) Permits(args [][]byte) bool {
	cmd, refusal := s.engine.table.Resolve(args)
	if cmd == nil || refusal.IsError() || !s.Authenticated() && !cmd.Is(commands.NoAuth) {
		return false
	}
	r := s.who.restriction()
	return r == nil || r.Check(cmd, args).Reason == acl.Permitted
}

// ProtectedModeDenies reports whether protected-mode denies a client now: without a
// password, only clients of this machine are served.
func (e *Engine) ProtectedModeDenies(local bool) bool {
	return !local && e.cfg.Bool("protected-mode") && !e.HasPassword()
}

// allowed reports whether a directive such as enable-debug-command admits the session's client.
func (a *account) allowed(directive string) bool {
	p, value := &a.session.peer, a.session.engine.cfg.String(directive)
	return p.Owner || value == "yes" || value == "local" && p.Local
}

// Authenticated reports whether the session may run commands without the flag
// NoAuth: it has given the password, or none is required any more.
func (s *Session) Authenticated() bool { return s.who.authenticated || !s.who.needsPassword() }

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

// logDenial adds an entry about the session to ACL LOG and counts it.
func (a *account) logDenial(d acl.Denial, context, username string) {
	s := a.session
	e := s.engine
	nowUs := e.clock.NowUs()
	s.shown.edit(func(p *public) {
		p.db, p.proto, p.lastUs = s.work.ctx.DBIndex, s.answers.proto, nowUs
		p.noteCommand(s)
	})
	cause := acl.Cause{Reason: d.Reason, Context: context, Object: d.Object, Username: username}
	e.accounts.Log.Add(cause, nowUs/1000, s.shown.line(nowUs), e.cfg.Int("acllog-max-len"))
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
