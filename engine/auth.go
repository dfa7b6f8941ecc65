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
		if s.engine.users.Default().Rules().NoPassword() {
			return errNoPass
		}
	case 3:
		c.Redact(1)
		c.Redact(2)
		user = string(c.Args[1])
	default:
		return commands.ErrSyntax
	}
	return s.login(user, password)
}

// login makes the session that of a user if the password is right, and returns OK or
// the error reply.
func (s *Session) login(name, password string) resp.Value {
	if s.peer.Owner {
		return resp.OK
	}
	if !s.admitsLogin() {
		return errManyLogins
	}
	e := s.engine
	if !e.users.Login(name, password, s.enter) {
		if e.logins.Failed(s.peer.Network, e.clock.MonotonicUs()) {
			e.log.Warn("many logins from an address fail: further ones are slowed", "addr", s.peer.Addr)
		}
		s.logDenial(acl.Denial{Reason: acl.DeniedAuth, Object: string(s.ctx.Args[0])}, acl.Toplevel, name)
		return errWrongPass
	}
	e.logins.Succeeded(s.peer.Network, e.clock.MonotonicUs())
	return resp.OK
}

// maxLoginWaitUs is how long a login waits at most; one that would wait longer is refused.
// That is real time, even if the server's clock is held.
const maxLoginWaitUs = 5_000_000

// postponesLogin reports whether a command that logs in has to wait, as under CLIENT PAUSE. If
// it has, the session is blocked until its turn.
func (s *Session) postponesLogin(cmd *commands.Command, args [][]byte) bool {
	after := s.engine.options.After
	if !cmd.Is(commands.LogsIn) || after == nil || s.resuming || s.tx.open || !givesPassword(args) {
		return false
	}
	waitUs := s.reserveLogin(maxLoginWaitUs)
	if s.admitted = waitUs <= maxLoginWaitUs; waitUs <= 0 || !s.admitted {
		return false
	}
	b := s.postpone(&postponedCommand{args: cloneArgs(args)})
	after((waitUs+999)/1000, func() {
		if b.waiter.Claim() {
			b.postponed.released = true
			b.end(resp.None)
		}
	})
	return true
}

// givesPassword reports whether a command that may log in does so: AUTH, or HELLO with
// the option.
func givesPassword(args [][]byte) bool {
	return slices.ContainsFunc(args, func(arg []byte) bool { return commands.EqualFold(arg, "auth") })
}

// admitsLogin reports whether a login may compare the password now.
func (s *Session) admitsLogin() bool {
	if s.admitted {
		s.admitted = false
		return true
	}
	return s.reserveLogin(0) <= 0
}

func (s *Session) reserveLogin(mostUs int64) (waitUs int64) {
	return s.engine.logins.Reserve(s.peer.Network, s.engine.clock.MonotonicUs(), mostUs)
}

// enter makes the session that of a user.
func (s *Session) enter(u *acl.User) {
	s.user.Store(u)
	s.authenticated = true
}

// leave makes the session that of the default user, as a new connection's is.
func (s *Session) leave() {
	s.user.Store(s.engine.users.Default())
	if s.peer.Owner {
		s.user.Store(s.engine.owner)
	}
	s.authenticated = !s.needsPassword()
}

// needsPassword reports whether a new session has to authenticate.
func (s *Session) needsPassword() bool {
	return !s.peer.Owner && !s.engine.users.Default().Rules().Open()
}

// NeedsPassword reports whether clients have to authenticate: the default user has a
// password, or is off.
func (e *Engine) NeedsPassword() bool { return !e.users.Default().Rules().Open() }

// HasPassword reports whether the default user has a password.
func (e *Engine) HasPassword() bool { return !e.users.Default().Rules().NoPassword() }
