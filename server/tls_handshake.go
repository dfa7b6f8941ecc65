package server

import (
	"fmt"
	"net"
	"time"

	"github.com/zlimit/zlimit/logging"
)

// handshakeTimeout bounds a TLS handshake. Redis has no such bound but the directive
// timeout, so that clients which connect and send nothing can fill maxclients.
const handshakeTimeout = 10 * time.Second

// carryTLS prepares the transport of a connection over TLS, which establish is to complete.
func (c *conn) carryTLS(over *tlsConn) error {
	c.signals.handshaking.Store(true)
	own, err := newTransport(over.wire.Conn)
	if _, isFed := own.(*fed); isFed { // TLS can block, then
		c.carrier = newFed(over)
		c.transport = c.carrier
	} else {
		c.carrier, c.transport = own, over
	}
	return err
}

// shakeHands makes the TLS handshake, and then applies protected-mode. It reports
// whether the connection is open. As in Redis, the client exists already, in CLIENT
// LIST and for CLIENT KILL and maxclients.
func (c *conn) shakeHands(over *tlsConn) bool {
	timeout := c.server.tls.timeout
	if idle := c.limits.idle; idle > 0 {
		timeout = min(timeout, idle)
	}
	_ = over.SetDeadline(time.Now().Add(timeout)) // if it fails, so does the handshake
	if err := over.Handshake(); err != nil {
		c.server.engine.Stats().Refusals.Handshakes.Add(1)
		if timedOut(err) {
			err = fmt.Errorf("the TLS handshake took longer than %v", timeout)
		}
		c.logEnd(logging.Verbose, "Error accepting a client connection", "error", err)
		halfClose(over.wire.Conn) // so that the alert arrives
		return false
	}
	_ = over.SetDeadline(time.Time{})
	if _, isSocket := c.carrier.(*socket); isSocket {
		_ = over.wire.Close() // the carrier has a descriptor of its own
	}
	if c.carrier != c.transport {
		over.wire.transport = c.carrier
	}
	c.signals.handshaking.Store(false)
	if c.server.isDenied(over.RemoteAddr()) {
		c.server.engine.Stats().Refusals.Rejected.Add(1)
		c.progress.denied = true
	}
	return true
}

// halfClose closes the sending side of a connection, and reads what still arrives
// until the client is silent.
func halfClose(nc net.Conn) {
	if closeWrite(nc) != nil {
		return
	}
	ignored := make([]byte, minBuffer)
	now := time.Now()
	for end := now.Add(lingerTimeout); now.Before(end); now = time.Now() {
		nc.SetReadDeadline(now.Add(quietPeriod))
		if _, err := nc.Read(ignored); err != nil {
			return
		}
	}
}
