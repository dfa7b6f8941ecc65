package commands

import (
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/bitmap"
)

// bitOperations are BITOP's operations, without NOT.
var bitOperations = map[string]func(dst, src []byte){"and": bitmap.And, "or": bitmap.Or, "xor": bitmap.Xor}

// BITOP <AND | OR | XOR | NOT> destkey key [key ...]
func bitOp(c *Ctx) resp.Value {
	name := cString(c.Args[1]) // as in Redis
	not, combine := EqualFold(name, "not"), bitOperationOf(name)
	switch {
	case combine == nil && !not:
		return ErrSyntax
	case not && len(c.Args) != 4:
		return errBitNot
	}
	// The sources are not copied. The destination, which may be one of them, changes
	// only when the result is complete.
	texts, size := make([][]byte, 0, len(c.Args)-3), 0
	for _, k := range c.Args[3:] {
		text, _, refusal := readBits(c, k, nil)
		if refusal.IsError() {
			return refusal
		}
		texts, size = append(texts, text), max(size, len(text))
	}
	n := c.DB.Find(c.Args[2], c.NowMs)
	switch {
	case size > 0:
	case n != nil:
		c.DB.Delete(n)
		return resp.Int(0)
	default:
		return resp.Int(0)
	}
	out := make([]byte, size)
	copy(out, texts[0])
	if not {
		bitmap.Not(out)
	}
	for _, text := range texts[1:] {
		combine(out, text)
	}
	c.DB.Put(c.Args[2], store.NewRaw(out))
	return resp.Int(int64(size))
}

func bitOperationOf(name []byte) func(dst, src []byte) {
	for word, combine := range bitOperations {
		if EqualFold(name, word) {
			return combine
		}
	}
	return nil
}
