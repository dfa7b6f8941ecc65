//go:build !linux

package server

import (
	"errors"
	"net"

	"github.com/zlimit/zlimit/server/poll"
)

// A socket is never made on this system: connections are fed.
type socket struct {
	transport
	fd int
}

func newSocket(net.Conn) (*socket, error) { return nil, errors.ErrUnsupported }

func newSocketPoller() (poll.Poller, error) { return nil, errors.ErrUnsupported }

func (s *socket) receiveBuffer() int { return 0 }
