package engine

import (
	"errors"

	"github.com/zlimit/zlimit/acl"
)

// Errors of AuthorizeScrape.
var (
	ErrScrapeLogin      = errors.New("wrong user or password")
	ErrScrapeManyLogins = errors.New("too many logins from this address have failed")
	ErrScrapeRights     = errors.New("the user has no permission to run the 'info' command")
)

// AuthorizeScrape returns nil if whoever gives a user's name and password may read the
// metrics, which is whoever may call INFO. An empty name is the default user's; without a
// name and a password, that user must need none. Failures are slowed, counted and logged
// as those of AUTH and INFO.
func (e *Engine) AuthorizeScrape(p Peer, name, password string) error {
	s := e.NewSession(p)
	defer s.Close()
	if name != "" || password != "" {
		if name == "" {
			name = acl.DefaultName
		}
		s.ctx.Args = [][]byte{[]byte("AUTH")}
		switch reply := s.login(name, password); {
		case reply.Str() == errManyLogins.Str():
			return ErrScrapeManyLogins
		case reply.IsError():
			return ErrScrapeLogin
		}
	}
	if !s.Authenticated() {
		return ErrScrapeLogin
	}
	info := e.table.Own([]byte("info"))
	if r := s.restriction(); r != nil && s.deny(r, info, [][]byte{[]byte("INFO")}).IsError() {
		return ErrScrapeRights
	}
	return nil
}
