package pubsub

import "github.com/zlimit/zlimit/resp"

// A Message is sent to any number of subscribers, and encoded once for each
// protocol that one of them speaks. A Broker's lock, or that of whoever else
// sends it, protects it.
type Message struct {
	values  [resp.RESP3 + 1]resp.Value // by protocol; resp.None: not sent
	encoded [resp.RESP3 + 1][]byte
}

// NewMessage returns a message that is the same value in both protocols.
func NewMessage(v resp.Value) *Message { return NewMessages(v, v) }

// NewMessages returns a message with a value for each protocol; resp.None is not
// sent.
func NewMessages(resp2, resp3 resp.Value) *Message {
	return &Message{values: [...]resp.Value{resp.RESP2: resp2, resp.RESP3: resp3}}
}

// NewRaw returns a message whose encoding is text in both protocols.
func NewRaw(text []byte) *Message {
	return &Message{encoded: [...][]byte{resp.RESP2: text, resp.RESP3: text}}
}

func push(elems ...resp.Value) *Message { return NewMessage(resp.Push(elems...)) }

// in returns the message's encoding in a protocol.
func (m *Message) in(proto int) []byte {
	if m.encoded[proto] == nil {
		m.encoded[proto] = resp.Append(nil, &m.values[proto], proto)
	}
	return m.encoded[proto]
}
