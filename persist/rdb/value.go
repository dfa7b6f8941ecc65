package rdb

import "github.com/zlimit/zlimit/persist/dump"

// AppendDump appends a value as DUMP answers it: as in a file, without its key,
// and with a footer. compress is rdbcompression.
func AppendDump(b []byte, value any, compress bool) []byte {
	e := encoder{}
	if compress {
		e.lzf = &dump.Compressor{}
	}
	e.byte(typeOf(value))
	e.value(value)
	return append(b, dump.AppendFooter(e.buf)...)
}
