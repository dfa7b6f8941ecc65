package introspection

import (
	"sync/atomic"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
)

// A description is a reply about all commands, such as that of COMMAND DOCS. It is made once: making it
// takes some milliseconds, and the values ten times its encoded size. All sessions share it; two that ask
// first at the same time may both make it.
type description struct {
	rows    int // described
	values  resp.Value
	encoded [resp.RESP3 + 1]atomic.Pointer[[]byte]
}

// describe returns the reply that build makes of the rows, which is cached until a row is removed. Names that
// Table.Rename gives do not appear in it.
func describe(
	c *commands.Ctx, cached *atomic.Pointer[description], rows []*commands.Command,
	build func([]*commands.Command) resp.Value,
) resp.Value {
	d := cached.Load()
	if d == nil || d.rows != len(rows) {
		d = &description{rows: len(rows), values: build(rows)}
		cached.Store(d)
	}
	if !c.Out.Encodes { // scripts and programs read the values
		return d.values
	}
	encoded := d.encoded[c.Proto].Load()
	if encoded == nil {
		b := resp.Append(nil, &d.values, c.Proto)
		encoded = &b
		d.encoded[c.Proto].Store(encoded)
	}
	return resp.Encoded(*encoded)
}
