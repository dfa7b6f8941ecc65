//go:build !unix

package server

import (
	"net"
	"time"
)

// A socket is nil here: every read and write goes through net.Conn, and every
// write through the goroutine that may wait.
type socket struct{}

func stampPackets(uintptr) {}

func newSocket(net.Conn) *socket { return nil }

func (s *socket) read([]byte, func(int) []byte) (int, error) { panic("server: there is no socket") }
func (s *socket) readSome([]byte) (int, error)               { panic("server: there is no socket") }
func (s *socket) writeSome([]byte) (int, error)              { panic("server: there is no socket") }
func (s *socket) cut()                                       { panic("server: there is no socket") }
func (s *socket) fileDescriptor() int                        { return -1 }
func (s *socket) receiveBuffer() int                         { return 0 }
func (s *socket) arrived() int64                             { return 0 }
func (s *socket) await(int64, time.Duration) bool            { return true }
