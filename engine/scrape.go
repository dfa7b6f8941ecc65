package engine

import "errors"

// ErrScrapeRights is AuthorizeScrape's error for a user who may not call INFO.
var ErrScrapeRights = errors.New("the user has no permission to run the 'info' command")

// AuthorizeScrape returns nil if whoever gives a user's name and password may read the
// metrics, which is whoever may call INFO. An empty name is the default user's; without a
// name and a password, that user must need none. Failures are slowed, counted and logged
// as those of AUTH and INFO.
func (e *Engine) AuthorizeScrape(p Peer, name, password string) error {
	s, err := e.LoginSession(p, name, password)
	if err != nil {
		return err
	}
	defer s.Close()
	info := e.table.Own([]byte("info"))
	if r := s.restriction(); r != nil && s.deny(r, info, [][]byte{[]byte("INFO")}).IsError() {
		return ErrScrapeRights
	}
	return nil
}
