package server

import (
	"fmt"
	"time"

	"github.com/zlimit/zlimit/logging"
)

// handshakeTimeout bounds a TLS handshake. Redis has no such bound but the directive
// timeout, so that clients which connect and send nothing can fill maxclients.
const handshakeTimeout = 10 * time.Second

// shakeHands makes the TLS handshake, and then applies protected-mode. It reports
// whether the client is served. As in Redis, the client exists already, in CLIENT
// LIST and for CLIENT KILL and maxclients.
func (c *conn) shakeHands() bool {
	timeout := c.server.tls.timeout
	if idle := c.limits.idle; idle > 0 {
		timeout = min(timeout, idle)
	}
	c.nc.SetDeadline(time.Now().Add(timeout))
	err := c.out.tls.Handshake()
	if err != nil {
		c.server.engine.Stats().Handshakes.Add(1)
		if timedOut(err) {
			err = fmt.Errorf("the TLS handshake took longer than %v", timeout)
		}
		c.logEnd(logging.Verbose, "Error accepting a client connection", "error", err)
		halfClose(c.out.tls.wire.Conn) // so that the alert arrives
		return false
	}
	c.out.tls.wire.established = true
	c.nc.SetDeadline(time.Time{})
	c.handshaking.Store(false) // from here, wake may set a deadline
	if c.server.isDenied(c.nc) {
		c.server.engine.Stats().Rejected.Add(1)
		c.out.append([]byte(deniedError))
		c.linger()
		return false
	}
	return true
}
