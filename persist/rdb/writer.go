package rdb

import (
	"encoding/binary"
	"fmt"
	"io"

	"github.com/zlimit/zlimit/persist/dump"
)

// A Field is one of the notes at a file's head.
type Field struct{ Name, Value string }

// The names of the notes that Redis 7.0 writes, and of ours. Readers leave
// alone what they do not know.
const (
	FieldVersion = "redis-ver"
	FieldBits    = "redis-bits"
	FieldCreated = "ctime"    // unix seconds
	FieldMemory  = "used-mem" // bytes
	FieldAOFBase = "aof-base" // 1: the file begins an append-only log
	FieldNowMs   = "zlimit-now-ms"
)

// WriterOptions are what a file is written with.
type WriterOptions struct {
	Compress bool    // rdbcompression: strings of more than 20 bytes by LZF
	Checksum bool    // rdbchecksum; without it zeros stand where it would
	Fields   []Field // in this order
}

// A Writer writes one snapshot. Functions come before keys; keys come in any
// order, and those of different databases may take turns. Calls must not
// overlap, but may come from any goroutine.
//
// A Writer buffers by itself, and writes to w in pieces of about 64 KiB.
// Errors of w stay: every later call returns them.
type Writer struct {
	enc encoder
	db  int
}

// NewWriter begins a file. Nothing is written yet.
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

// Sizes says how many keys a database has, and how many of them have a
// deadline: readers make room. It may be left out, and is not held to it.
func (w *Writer) Sizes(db, keys, expiring int) error {
	w.selectDB(db)
	w.enc.byte(opResizeDB)
	w.enc.length(keys)
	w.enc.length(expiring)
	return w.done()
}

// Key writes a key with its value: a *store.String, *list.List, *set.Set,
// *hash.Hash or *zset.Set, which must not change meanwhile. expireAtMs is its
// deadline in unix milliseconds, 0 where it has none.
func (w *Writer) Key(db int, key string, expireAtMs int64, value any) error {
	e := &w.enc
	if db != w.db {
		w.selectDB(db)
	}
	if expireAtMs != 0 {
		e.byte(opExpireMs)
		e.buf = binary.LittleEndian.AppendUint64(e.buf, uint64(expireAtMs))
	}
	e.byte(typeOf(value))
	e.string(key)
	e.value(value)
	return w.done()
}

// Close ends the file and writes what is left. It does not close what is
// written to.
func (w *Writer) Close() error {
	e := &w.enc
	e.byte(opEOF)
	e.flush()
	e.buf = binary.LittleEndian.AppendUint64(e.buf, e.crc)
	e.flush()
	return e.err
}

// Written returns how many bytes went to the writer so far.
func (w *Writer) Written() int64 { return w.enc.written }

func (w *Writer) selectDB(db int) {
	w.db = db
	w.enc.byte(opSelectDB)
	w.enc.length(db)
}

func (w *Writer) done() error {
	w.enc.room()
	return w.enc.err
}
