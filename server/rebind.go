package server

import (
	"errors"
	"slices"
)

// Redis' texts for addresses that cannot be bound.
//
//nolint:revive,staticcheck // Redis' texts
var (
	errBind = errors.New("Failed to bind to specified addresses.")
	errPort = errors.New("Unable to listen on this port. Check server logs.")
)

// rebind replaces the TCP listeners by those of the current bind, port and tls-port.
// Listeners whose address stays are kept, so that no client is refused, and
// connections are not affected. If an address cannot be opened, rebind restores the
// old listeners and returns refusal. Calls do not overlap, because CONFIG SET makes
// them.
func (s *Server) rebind(refusal error) error {
	s.mu.Lock()
	old := slices.Clone(s.listeners)
	s.mu.Unlock()
	var kept, left []listener
	wanted := s.wantedAddresses()
	for _, b := range old {
		if !b.isOfBind() {
			continue
		}
		if slices.Contains(wanted, b.addr) {
			kept = append(kept, b)
		} else {
			left = append(left, b)
		}
	}
	missing := slices.DeleteFunc(wanted, func(a address) bool {
		return slices.ContainsFunc(kept, func(b listener) bool { return b.addr == a })
	})
	opened, err := s.openAll(missing)
	if isInUse(err) && len(left) > 0 {
		// Perhaps by a listener that is to close, such as 127.0.0.1 if * is wanted
		// at the same port.
		closeAll(left)
		if opened, err = s.openAll(missing); err != nil {
			reopened, lost := s.openAll(addressesOf(left))
			if lost != nil {
				s.log.Warn("listening on the previous addresses failed", "error", lost)
			}
			s.replace(append(kept, reopened...))
		}
	}
	if err != nil {
		s.log.Warn("listening failed", "error", err)
		return refusal
	}
	closeAll(left)
	s.replace(append(kept, opened...))
	return nil
}

// wantedAddresses returns the addresses of bind with port and tls-port. A port of 0
// means none.
func (s *Server) wantedAddresses() []address {
	var out []address
	for _, a := range []address{{port: s.cfg.Int("port")}, {port: s.cfg.Int("tls-port"), tls: true}} {
		for _, a.word = range s.cfg.Strings("bind") {
			if a.port != 0 {
				out = append(out, a)
			}
		}
	}
	return out
}

func addressesOf(listeners []listener) []address {
	out := make([]address, len(listeners))
	for i, b := range listeners {
		out[i] = b.addr
	}
	return out
}

// openAll opens every address, or none if it returns an error.
func (s *Server) openAll(addresses []address) ([]listener, error) {
	var out []listener
	for _, a := range addresses {
		l, err := s.listenAt(a)
		if err != nil {
			closeAll(out)
			return nil, err
		}
		if l != nil {
			out = append(out, listener{l, a})
		}
	}
	return out, nil
}

// replace makes now the listeners of bind. Old ones that are not among them are already closed.
func (s *Server) replace(now []listener) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isClosing() {
		closeAll(now)
		return
	}
	before := slices.Clone(s.listeners)
	s.listeners = slices.DeleteFunc(s.listeners, func(l listener) bool {
		return l.isOfBind() && !slices.Contains(now, l)
	})
	for _, l := range now {
		if !slices.Contains(before, l) {
			s.add(l)
		}
	}
}
