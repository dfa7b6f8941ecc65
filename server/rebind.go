package server

import (
	"errors"
	"net"
	"slices"
)

// Redis' texts for addresses that cannot be listened on.
var (
	errBind = errors.New("Failed to bind to specified addresses.")            //nolint:revive,staticcheck // Redis' text
	errPort = errors.New("Unable to listen on this port. Check server logs.") //nolint:revive,staticcheck // Redis' text
)

// rebind makes the TCP listeners those that bind and port ask for now. A
// listener at an address that stays is kept, so that nobody is refused meanwhile,
// and connections stay whatever becomes of the listener that took them. Where an
// address cannot be had, the listeners are those of before and refusal is
// returned. CONFIG SET calls it, so that calls do not overlap.
func (s *Server) rebind(refusal error) error {
	s.mu.Lock()
	old := slices.Clone(s.bound)
	s.mu.Unlock()
	var kept, left []bound
	wanted := s.wantedAddresses()
	for _, b := range old {
		if slices.Contains(wanted, b.at) {
			kept = append(kept, b)
		} else {
			left = append(left, b)
		}
	}
	missing := slices.DeleteFunc(wanted, func(a address) bool {
		return slices.ContainsFunc(kept, func(b bound) bool { return b.at == a })
	})
	opened, err := openAll(missing)
	if isInUse(err) && len(left) > 0 {
		// By ours perhaps, such as 127.0.0.1 where * is wanted at the same port.
		closeAll(left)
		if opened, err = openAll(missing); err != nil {
			reopened, lost := openAll(addressesOf(left))
			if lost != nil {
				s.log.Printf("WARNING: %v", lost)
			}
			s.replace(append(kept, reopened...))
		}
	}
	if err != nil {
		s.log.Print(err)
		return refusal
	}
	closeAll(left)
	s.replace(append(kept, opened...))
	return nil
}

// wantedAddresses returns what bind and port ask for; a port of 0 is no TCP.
func (s *Server) wantedAddresses() []address {
	port := s.cfg.Int("port")
	if port == 0 {
		return nil
	}
	var out []address
	for _, word := range s.cfg.Strings("bind") {
		out = append(out, address{word, port})
	}
	return out
}

func addressesOf(listeners []bound) []address {
	out := make([]address, len(listeners))
	for i, b := range listeners {
		out[i] = b.at
	}
	return out
}

// openAll opens every address, or none and the error says why.
func openAll(addresses []address) ([]bound, error) {
	var out []bound
	for _, a := range addresses {
		l, err := listenAt(a)
		if err != nil {
			closeAll(out)
			return nil, err
		}
		if l != nil {
			out = append(out, bound{l, a})
		}
	}
	return out, nil
}

// replace makes now the TCP listeners of bind and port. Those of before that are
// not among them are closed already.
func (s *Server) replace(now []bound) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		closeAll(now)
		return
	}
	before := s.bound
	s.bound = now
	s.listeners = slices.DeleteFunc(s.listeners, func(l net.Listener) bool {
		return contains(before, l) && !contains(now, l)
	})
	for _, b := range now {
		if !contains(before, b.Listener) {
			s.add(b.Listener)
		}
	}
}

func contains(listeners []bound, l net.Listener) bool {
	return slices.ContainsFunc(listeners, func(b bound) bool { return b.Listener == l })
}
