package upstream

// An ownConn is a connection of one call or session.
type ownConn struct{}

func (c *ownConn) close() {}
