package engine

import (
	"errors"

	"github.com/zlimit/zlimit/acl"
	"github.com/zlimit/zlimit/commands"
)

// Errors of LoginSession.
var (
	ErrLogin      = errors.New("wrong user or password")
	ErrManyLogins = errors.New("too many logins from this address have failed")
)

// LoginSession opens a session for a client that gives a user's name and password
// outside of the Redis protocol. An empty name is the default user's; without a name and
// a password, that user must need none. Failures are slowed, counted and logged as those
// of AUTH; a login that would have to wait is refused.
func (e *Engine) LoginSession(p Peer, name, password string) (*Session, error) {
	s := e.NewSession(p)
	if err := s.loginFrom(name, password); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// loginFrom is LoginSession for a session that is open.
func (s *Session) loginFrom(name, password string) error {
	if name != "" || password != "" {
		if name == "" {
			name = acl.DefaultName
		}
		s.ctx.Args = [][]byte{[]byte("AUTH")}
		switch reply := s.login(name, password); {
		case reply.Str() == errManyLogins.Str():
			return ErrManyLogins
		case reply.IsError():
			return ErrLogin
		}
	}
	if !s.Authenticated() {
		return ErrLogin
	}
	return nil
}

// Permits reports whether the session's user may make a call with the right number
// of arguments. Unlike Do it logs and counts nothing.
func (s *Session) Permits(args [][]byte) bool {
	cmd, refusal := s.engine.table.Resolve(args)
	if cmd == nil || refusal.IsError() || !s.Authenticated() && !cmd.Is(commands.NoAuth) {
		return false
	}
	r := s.restriction()
	return r == nil || r.Check(cmd, args).Reason == acl.Permitted
}

// ProtectedModeDenies reports whether protected-mode denies a client now: without a
// password, only clients of this machine are served.
func (e *Engine) ProtectedModeDenies(local bool) bool {
	return !local && e.cfg.Bool("protected-mode") && !e.HasPassword()
}
