package commands

import (
	"math"
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// LCS key1 key2 [LEN] [IDX] [MINMATCHLEN len] [WITHMATCHLEN]
func lcs(c *Ctx) resp.Value {
	a, ok1 := lcsText(c.DB.Lookup(c.Args[1], c.NowMs))
	b, ok2 := lcsText(c.DB.Lookup(c.Args[2], c.NowMs))
	if !ok1 || !ok2 {
		return errLCSStrings
	}
	var lengthOnly, ranges, withLength bool
	least := int64(0)
	for o := (options{c.Args[3:]}); o.more(); {
		switch {
		case o.word("idx"):
			ranges = true
		case o.word("len"):
			lengthOnly = true
		case o.word("withmatchlen"):
			withLength = true
		case o.wordWith("minmatchlen", 1):
			var refusal resp.Value
			if least, refusal = toInt(o.value()); refusal.IsError() {
				return refusal
			}
		default:
			return ErrSyntax
		}
	}
	switch {
	case ranges && lengthOnly:
		return errLCSLenAndIdx
	case len(a) >= math.MaxUint32-1 || len(b) >= math.MaxUint32-1:
		return errLCSTooLong
	case !lcsFits(len(a), len(b), c.Settings.ProtoMaxBulkLen):
		return errLCSMemory
	}
	table := newLCSTable(a, b, !lengthOnly)
	switch {
	case lengthOnly:
		return resp.Int(int64(table.length()))
	case ranges:
		return lcsRanges(c, table, least, withLength)
	}
	return resp.BulkBytes(table.subsequence())
}

// lcsText returns a string's bytes, none if there is no key.
func lcsText(n *store.Node) (text []byte, ok bool) {
	if n == nil {
		return nil, true
	}
	s := store.StringOf(n)
	if s == nil {
		return nil, false
	}
	return s.Bytes(nil), true
}

// lcsFits reports whether Redis' table, of four bytes for each pair of
// positions, is within a limit. Ours is a 32nd of it.
func lcsFits(a, b int, limit int64) bool {
	return int64(a+1) <= limit/4/int64(b+1)
}

// lcsRanges returns the reply of IDX: the parts of both strings that the subsequence
// consists of, the last one first.
func lcsRanges(c *Ctx, table *lcsTable, least int64, withLength bool) resp.Value {
	matches := c.Build(0)
	for m := range table.matches() {
		if int64(m.length) < least {
			continue
		}
		ends := func(start int) resp.Value {
			return resp.Array(resp.Int(int64(start)), resp.Int(int64(start+m.length-1)))
		}
		parts := []resp.Value{ends(m.a), ends(m.b)}
		if withLength {
			parts = append(parts, resp.Int(int64(m.length)))
		}
		if !matches.Add(resp.Array(parts...)) {
			break
		}
	}
	out := c.Build(4)
	out.AddPair(resp.Bulk("matches"), matches.Array())
	out.AddPair(resp.Bulk("len"), resp.Int(int64(table.length())))
	return out.Map()
}

// subsequence returns the longest common subsequence.
func (t *lcsTable) subsequence() []byte {
	out := make([]byte, 0, t.length())
	for m := range t.matches() {
		for i := m.a + m.length - 1; i >= m.a; i-- {
			out = append(out, t.a[i])
		}
	}
	slices.Reverse(out)
	return out
}
