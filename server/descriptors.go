package server

import (
	"fmt"
	"strconv"
)

const (
	// reservedDescriptors is the number of file descriptors kept for listeners and
	// persistence, as in Redis.
	reservedDescriptors = 32
	// loopDescriptors is how many each loop has besides.
	loopDescriptors = 2
)

// reserved returns how many descriptors are kept for other things than clients: connections of doors among
// them.
func (s *Server) reserved() int64 {
	n, doors := reservedDescriptors+loopDescriptors*int64(s.loops.number()), s.doorKinds()
	all := s.cfg.Int("maxclients") + n
	for _, k := range doors {
		all += k.conns
	}
	openFiles(all) // raises the limit, if it can
	for _, k := range doors {
		n += k.maxConns()
	}
	return n
}

// reserveDescriptors lowers maxclients to what the limit of open files allows, and
// checks later values against that, so that clients cannot use up the descriptors
// that files need.
func (s *Server) reserveDescriptors() error {
	wanted := s.cfg.Int("maxclients")
	reserved := s.reserved()
	most := mostClients(wanted, reserved)
	if most <= 0 {
		return fmt.Errorf("the limit of open files (ulimit -n) is %d, and at least %d are needed",
			most+reserved, reserved+1)
	}
	if most < wanted {
		s.log.Warn(fmt.Sprintf("maxclients is %d instead of %d: "+
			"the limit of open files (ulimit -n) is %d, and %d are kept for files, listeners, loops, doors",
			most, wanted, most+reserved, reserved))
		if err := s.cfg.Set([][]byte{[]byte("maxclients"), strconv.AppendInt(nil, most, 10)}); err != nil {
			return err
		}
	}
	s.cfg.OnTry("maxclients", func() error {
		wanted := s.cfg.Int("maxclients")
		if most := mostClients(wanted, reserved); most < wanted {
			//nolint:staticcheck // Redis' text
			return fmt.Errorf("The operating system is not able to handle the specified number of clients, "+
				"try with %d", most)
		}
		return nil
	})
	return nil
}

// mostClients returns how many clients the limit of open files allows, at most
// wanted. It raises the limit if it can.
func mostClients(wanted, reserved int64) int64 {
	return min(wanted, openFiles(wanted+reserved)-reserved)
}
