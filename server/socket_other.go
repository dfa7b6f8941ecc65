//go:build !unix

package server

import (
	"net"
	"time"
)

// A socket is always nil on this system: all reads and writes go through net.Conn,
// and all writes through the pump.
type socket struct{}

func enableTimestamps(uintptr) {}

func newSocket(net.Conn) *socket { return nil }

func (s *socket) read([]byte) (int, error) { panic("server: there is no socket") }
func (s *socket) readInto(*reader, func(int) bool) (int, error) {
	panic("server: there is no socket")
}
func (s *socket) readSome([]byte) (int, error)           { panic("server: there is no socket") }
func (s *socket) writeSome([]byte) (int, error)          { panic("server: there is no socket") }
func (s *socket) shutdown()                              { panic("server: there is no socket") }
func (s *socket) fileDescriptor() int                    { return -1 }
func (s *socket) receiveBuffer() int                     { return 0 }
func (s *socket) waited() int                            { return 0 }
func (s *socket) arrived() int64                         { return 0 }
func (s *socket) awaitEarlier(int64, time.Duration) bool { return true }
