package engine

import (
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
	logins := &s.engine.logins
	if !logins.admits(s) {
		return errManyLogins
	}
	if !s.engine.users.Login(name, password, s.enter) {
		logins.failed(s)
		s.logDenial(acl.Denial{Reason: acl.DeniedAuth, Object: string(s.ctx.Args[0])}, acl.Toplevel, name)
		return errWrongPass
	}
	logins.succeeded(s)
	return resp.OK
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
