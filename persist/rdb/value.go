package rdb

import (
	"errors"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/store"
)

// A Dumper makes what DUMP answers. The zero value is ready; it keeps memory
// from one call to the next.
type Dumper struct {
	enc encoder
	lzf *dump.Compressor
}

// Dump returns a value as in a file, without a key, and with a footer. compress
// is rdbcompression. The result is good until the next call.
func (d *Dumper) Dump(value any, compress bool) []byte {
	e := &d.enc
	if e.lzf = nil; compress {
		if d.lzf == nil {
			d.lzf = &dump.Compressor{}
		}
		e.lzf = d.lzf
	}
	e.buf = e.buf[:0]
	if Large(value) {
		e.buf = make([]byte, 0, e.size(value)) // and not twice as much on the way there
	}
	e.byte(typeOf(value))
	e.value(value)
	out := dump.AppendFooter(e.buf)
	if e.buf = out; cap(out) > keptDump {
		e.buf = nil // it is the caller's
	}
	return out
}

// keptDump is the memory that a Dumper keeps.
const keptDump = 64 << 10

// Restore reads what DUMP wrote. It checks all of it. Errors wrap
// ErrFooter, for a payload that is not one or of a newer version,
// ErrCorrupt or ErrUnsupported.
func Restore(payload []byte, l Limits) (value any, err error) {
	body, err := dump.Open(payload)
	if err != nil {
		return nil, err
	}
	d := newDecoder(l)
	d.fence.src.reset(body)
	typ, err := d.fence.src.byte()
	if err == nil {
		value, err = d.value(typ)
	}
	switch {
	case errors.Is(err, errEmpty):
		return nil, corrupt(errEmpty.Error())
	case err != nil:
		return nil, own(err)
	case d.fence.src.left() > 0:
		return nil, corrupt(badTrailing)
	}
	return value, nil
}

// Common reports whether Redis 7.0 reads a payload, too, that Restore took: it
// is not of a newer version.
func Common(payload []byte) bool { return dump.VersionOf(payload) <= dump.Version }

// ErrFooter is what Restore's error wraps where a payload's version or checksum
// are wrong.
var ErrFooter = dump.ErrFooter

// A decoder reads values: the fence's pieces go through the library into a
// builder.
type decoder struct {
	fence   fence
	library library
	builder builder
}

func newDecoder(l Limits) *decoder {
	d := &decoder{builder: builder{limits: l}}
	d.library.sink = &d.builder
	d.fence.take = d.library.decode
	d.fence.units = d.builder.zset.addUnits
	return d
}

// value reads a value of the type. One that is not held is ErrUnsupported.
func (d *decoder) value(typ byte) (any, error) {
	if !held(typ) {
		return nil, unsupported(typ)
	}
	if typ == typeString {
		// Not by the library: it takes ten times as long, and this is most keys.
		text, err := d.fence.src.text()
		if err != nil {
			return nil, err
		}
		return store.NewString(text), nil
	}
	d.builder.begin(typ)
	if err := d.fence.value(typ); err != nil {
		return nil, err
	}
	return d.builder.end()
}
