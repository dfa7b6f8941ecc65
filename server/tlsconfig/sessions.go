package tlsconfig

import (
	"bytes"
	"crypto/tls"
	"encoding/binary"
	"time"
)

// sessionMark begins the addition of limitSessions to a session.
var sessionMark = []byte("zlimit")

// limitSessions makes a session be resumed for at most timeout after the handshake
// that issued its ticket. crypto/tls itself has only a limit of a week.
func limitSessions(c *tls.Config, timeout time.Duration) {
	now := c.Time
	if now == nil {
		now = time.Now
	}
	c.WrapSession = func(cs tls.ConnectionState, s *tls.SessionState) ([]byte, error) {
		at := binary.BigEndian.AppendUint64(bytes.Clone(sessionMark), uint64(now().Unix()))
		s.Extra = append(s.Extra, at)
		return c.EncryptTicket(cs, s)
	}
	c.UnwrapSession = func(ticket []byte, cs tls.ConnectionState) (*tls.SessionState, error) {
		s, err := c.DecryptTicket(ticket, cs)
		if err != nil || s == nil {
			return nil, err
		}
		if age := now().Sub(issued(s)); age < 0 || age > timeout {
			return nil, nil //nolint:nilnil // a full handshake follows
		}
		return s, nil
	}
}

// issued returns when a session's ticket was issued, or zero if it does not say.
func issued(s *tls.SessionState) time.Time {
	for _, extra := range s.Extra {
		if rest, ok := bytes.CutPrefix(extra, sessionMark); ok && len(rest) == 8 {
			return time.Unix(int64(binary.BigEndian.Uint64(rest)), 0)
		}
	}
	return time.Time{}
}
