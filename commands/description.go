package commands

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/resp"
)

// A description is a reply about a whole table, such as that of COMMAND DOCS. It is made once: making it
// takes some milliseconds, and the values ten times its encoded size. All sessions share it; two that ask
// first at the same time may both make it.
type description struct {
	values  atomic.Pointer[resp.Value] // nil until the first call
	encoded [resp.RESP3 + 1]atomic.Pointer[[]byte]
}

// reply returns the description, which build makes of the table.
func (d *description) reply(c *Ctx, build func() resp.Value) resp.Value {
	values := d.values.Load()
	if values == nil {
		built := build()
		values = &built
		d.values.Store(values)
	}
	if !c.Out.Encodes { // scripts and programs read the values
		return *values
	}
	encoded := d.encoded[c.Proto].Load()
	if encoded == nil {
		b := resp.Append(nil, values, c.Proto)
		encoded = &b
		d.encoded[c.Proto].Store(encoded)
	}
	return resp.Encoded(*encoded)
}

// forget has the description made anew.
func (d *description) forget() {
	d.values.Store(nil)
	for i := range d.encoded {
		d.encoded[i].Store(nil)
	}
}
