package rdb

import (
	"errors"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/store"
)

// A Dumper produces the payload of DUMP. The zero value is ready to use. It reuses
// memory between calls.
type Dumper struct {
	enc encoder
	lzf *dump.Compressor
}

// Dump returns a value as in a file, without a key and with a footer. compress is
// rdbcompression. The result is valid until the next call.
func (d *Dumper) Dump(value store.Value, compress bool) []byte {
	e := &d.enc
	if e.lzf = nil; compress {
		if d.lzf == nil {
			d.lzf = &dump.Compressor{}
		}
		e.lzf = d.lzf
	}
	e.buf = e.buf[:0]
	if Large(value) {
		e.buf = make([]byte, 0, e.size(value)) // avoids doubling it while growing
	}
	e.byte(typeOf(value))
	e.value(value)
	out := dump.AppendFooter(e.buf)
	if e.buf = out; cap(out) > keptDump {
		e.buf = nil // the caller owns it now
	}
	return out
}

// keptDump is the largest buffer that a Dumper reuses.
const keptDump = 64 << 10

// Restore decodes a payload of DUMP and validates all of it. Errors wrap ErrFooter, for
// a bad footer or a newer version, ErrCorrupt or ErrUnsupported.
func Restore(payload []byte, l Limits) (value store.Value, err error) {
	body, err := dump.Open(payload)
	if err != nil {
		return nil, err
	}
	return decode(body, l)
}

// Convert returns a payload of DUMP that Redis 7.0 and zlimit restore. One of their version or an older one
// is returned as it is. One of a newer version is decoded and written anew: 11 is of Redis 7.2, 12 of 7.4 and
// 8, 80 of Valkey 9. All of them write a value by the types that 7.0 or 7.2 has, unless it needs what is new.
// Then, as for a hash with deadlines of fields, the error wraps ErrUnsupported. Other errors are those of
// Restore.
func Convert(payload []byte) ([]byte, error) {
	body, err := dump.OpenAny(payload)
	if err != nil || Common(payload) {
		return payload, err
	}
	value, err := decode(body, Limits{
		HashEntries: 128, HashValue: 64, SetInts: 512, ZSetEntries: 128, ZSetValue: 64, // Redis' defaults
	})
	if err != nil {
		return nil, err
	}
	var d Dumper
	return d.Dump(value, false), nil
}

// decode decodes a payload without its footer.
func decode(body []byte, l Limits) (value store.Value, err error) {
	d := newDecoder(l)
	d.validator.src.reset(body)
	typ, err := d.validator.src.byte()
	if err == nil {
		value, err = d.value(typ)
	}
	switch {
	case errors.Is(err, errEmpty):
		return nil, corrupt(errEmpty.Error())
	case err != nil:
		return nil, convert(err)
	case d.validator.src.left() > 0:
		return nil, corrupt(badTrailing)
	}
	return value, nil
}

// Common reports whether Redis 7.0 reads the payload, too. The payload must have passed
// Restore.
func Common(payload []byte) bool { return dump.VersionOf(payload) <= dump.Version }

// ErrFooter is wrapped by errors about a payload's version or checksum.
var ErrFooter = dump.ErrFooter

// A decoder reads values: the validator's pieces go through the library to a builder.
type decoder struct {
	validator validator
	library   library
	builder   builder
}

func newDecoder(l Limits) *decoder {
	d := &decoder{builder: builder{limits: l}}
	d.library.to = &d.builder
	d.validator.emit = d.library.decode
	d.validator.units = d.builder.zset.addUnits
	return d
}

// value reads a value of the type, or returns ErrUnsupported.
func (d *decoder) value(typ byte) (store.Value, error) {
	e := &encodings[typ]
	if e.read == nil {
		return nil, unsupported(typ)
	}
	return e.read(d, e)
}

// string reads a string. Strings bypass the library, which takes ten times as long; most
// keys are strings.
func (d *decoder) string(*encoding) (store.Value, error) {
	text, err := d.validator.src.text()
	if err != nil {
		return nil, err
	}
	return store.NewString(text), nil
}

// collection returns the function that reads what begin begins.
func collection(begin func(*builder)) func(*decoder, *encoding) (store.Value, error) {
	return func(d *decoder, e *encoding) (store.Value, error) {
		d.builder.reset()
		begin(&d.builder)
		if err := e.pass(&d.validator); err != nil {
			return nil, err
		}
		return d.builder.end(e.pack)
	}
}
