package upstream

// A Message is one that was published upstream.
type Message struct{ Channel, Payload string }

type topics struct{}

func (t *topics) init(*Upstream) {}
func (t *topics) close()         {}
func (t *topics) moved()         {}
