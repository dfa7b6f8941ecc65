package commands

import (
	"sync"

	"github.com/zlimit/zlimit/resp"
)

// A description is a reply about a whole table, such as that of COMMAND DOCS. It is made once: making it takes
// some milliseconds, and the values ten times its encoded size. All sessions share it.
type description struct {
	mu      sync.Mutex // protects the fields below
	values  resp.Value // resp.None until the first call
	encoded [resp.RESP3 + 1][]byte
}

// reply returns the description, which build makes of the table.
func (d *description) reply(c *Ctx, build func() resp.Value) resp.Value {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.values.Kind() == resp.KindNone {
		d.values = build()
	}
	if !c.MayStream { // scripts and programs read the values
		return d.values
	}
	if d.encoded[c.Proto] == nil {
		d.encoded[c.Proto] = resp.Append(nil, &d.values, c.Proto)
	}
	return resp.Encoded(d.encoded[c.Proto])
}

// forget has the description made anew.
func (d *description) forget() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.values = resp.None
	clear(d.encoded[:])
}
