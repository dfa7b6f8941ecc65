package rdb

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/zlimit/zlimit/persist/dump"
	"github.com/zlimit/zlimit/store"
)

// A Field is an auxiliary field at the head of a file.
type Field struct{ Name, Value string }

// Names of the fields that Redis 7.0 writes, and of ours. Readers ignore unknown ones.
const (
	FieldVersion = "redis-ver"
	FieldBits    = "redis-bits"
	FieldCreated = "ctime"    // unix seconds
	FieldAOFBase = "aof-base" // 1: the file begins an append-only log
	FieldNowMs   = "zlimit-now-ms"

	// The place in replication's history that the keys stand for.
	FieldStreamDB = "repl-stream-db"
	FieldHistory  = "repl-id"
	FieldOffset   = "repl-offset"
)

// WriterOptions configures a Writer.
type WriterOptions struct {
	Compress bool    // rdbcompression: compress strings of more than 20 bytes by LZF
	Checksum bool    // rdbchecksum; zeros take its place without it
	Fields   []Field // in this order
}

// A Writer writes one snapshot. Functions come before keys. Keys may come in any order,
// and databases may alternate. Calls must not overlap, but may come from any goroutine.
//
// A Writer buffers, and writes to w in pieces of about 64 KiB. After an error of w
// every call returns that error.
type Writer struct {
	enc encoder
	db  int
}

// NewWriter returns a Writer. It writes nothing yet.
func NewWriter(w io.Writer, o WriterOptions) *Writer {
	out := &Writer{enc: encoder{w: w, checksum: o.Checksum}, db: -1}
	if o.Compress {
		out.enc.lzf = &dump.Compressor{}
	}
	e := &out.enc
	e.buf = fmt.Appendf(e.buf, "%s%04d", magic, dump.Version)
	for _, f := range o.Fields {
		e.byte(opAux)
		e.string(f.Name)
		e.string(f.Value)
	}
	return out
}

// Function writes the code of a library.
func (w *Writer) Function(code string) error {
	w.enc.byte(opFunction)
	w.enc.string(code)
	return w.done()
}

// Sizes writes how many keys a database has, and how many have a deadline, as a hint
// for readers. It is optional and not checked.
func (w *Writer) Sizes(db, keys, expiring int) error {
	w.selectDB(db)
	w.enc.byte(opResizeDB)
	w.enc.length(keys)
	w.enc.length(expiring)
	return w.done()
}

// Key writes a key with its value: a *store.String, *list.List, *set.Set, *hash.Hash or
// *zset.Set, which must not change during the call. expireAtMs is its deadline in unix
// milliseconds, or 0.
func (w *Writer) Key(db int, key string, expireAtMs int64, value store.Value) error {
	w.selectDB(db)
	w.enc.key(key, expireAtMs, value)
	return w.done()
}

// Encoded writes keys that a KeyEncoder has encoded.
func (w *Writer) Encoded(db int, keys []byte) error {
	w.selectDB(db)
	w.enc.buf = append(w.enc.buf, keys...)
	return w.done()
}

// Close ends the file and flushes. It does not close w.
func (w *Writer) Close() error {
	e := &w.enc
	e.byte(opEOF)
	e.flush()
	e.buf = binary.LittleEndian.AppendUint64(e.buf, e.crc)
	e.flush()
	return e.err
}

// Written returns how many bytes were written to w so far.
func (w *Writer) Written() int64 { return w.enc.written }

// selectDB makes db the database of the keys that follow.
func (w *Writer) selectDB(db int) {
	if db == w.db {
		return
	}
	w.db = db
	w.enc.byte(opSelectDB)
	w.enc.length(db)
}

func (w *Writer) done() error {
	w.enc.flushIfLarge()
	return w.enc.err
}

// A KeyEncoder encodes keys apart from a Writer, for Writer.Encoded.
type KeyEncoder struct{ enc encoder }

// NewKeyEncoder returns a KeyEncoder. compress is rdbcompression.
func NewKeyEncoder(compress bool) *KeyEncoder {
	k := &KeyEncoder{}
	if compress {
		k.enc.lzf = &dump.Compressor{}
	}
	return k
}

// Append appends a key to dst as Writer.Key writes it.
func (k *KeyEncoder) Append(dst []byte, key string, expireAtMs int64, value store.Value) []byte {
	e := &k.enc
	e.buf = dst
	e.key(key, expireAtMs, value)
	dst, e.buf = e.buf, nil
	return dst
}

// key appends a key with its deadline, type and value.
func (e *encoder) key(key string, expireAtMs int64, value store.Value) {
	if expireAtMs != 0 {
		e.byte(opExpireMs)
		e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(expireAtMs))
	}
	e.byte(typeOf(value))
	e.string(key)
	e.value(value)
}
