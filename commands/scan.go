package commands

import (
	"strconv"
	"unsafe"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

type scanOptions struct {
	pattern    []byte // nil: everything
	count      int
	typeFilter []byte // lower case; nil: any type
}

// defaultScanCount is the COUNT of a SCAN that names none.
const defaultScanCount = 10

// parseCursor parses a cursor as C's strtoul does: an empty one is 0, and a negative
// one wraps around.
func parseCursor(arg []byte) (uint64, resp.Value) {
	digits, negative := arg, false
	if len(arg) > 0 && (arg[0] == '-' || arg[0] == '+') {
		digits, negative = arg[1:], arg[0] == '-'
	}
	if len(arg) == 0 {
		return 0, resp.None
	}
	n, err := strconv.ParseUint(string(digits), 10, 64)
	if err != nil {
		return 0, errInvalidCursor
	}
	if negative {
		n = -n
	}
	return n, resp.None
}

// parseScanOptions parses [MATCH pattern] [COUNT count] [TYPE type]. Only SCAN itself
// accepts TYPE.
func parseScanOptions(rest [][]byte, withType bool) (scanOptions, resp.Value) {
	opts := scanOptions{count: defaultScanCount}
	for o := (options{rest}); o.more(); {
		switch {
		case o.wordWith("count", 1):
			n, refusal := toInt(o.value())
			if refusal.IsError() {
				return opts, refusal
			}
			if n < 1 {
				return opts, ErrSyntax
			}
			opts.count = int(n)
		case o.wordWith("match", 1):
			opts.pattern = o.value()
		case withType && o.wordWith("type", 1):
			opts.typeFilter = Lower(o.value())
		default:
			return opts, ErrSyntax
		}
	}
	return opts, resp.None
}

// Lower returns a word in lower case. It changes ASCII letters only.
func Lower(word []byte) []byte {
	out := make([]byte, len(word))
	for i, ch := range word {
		if 'A' <= ch && ch <= 'Z' {
			ch += 'a' - 'A'
		}
		out[i] = ch
	}
	return out
}

// SCAN cursor [MATCH pattern] [COUNT count] [TYPE type]
func scan(c *Ctx) resp.Value {
	cursor, refusal := parseCursor(c.Args[1])
	if refusal.IsError() {
		return refusal
	}
	opts, refusal := parseScanOptions(c.Args[2:], true)
	if refusal.IsError() {
		return refusal
	}
	out := c.Build(0)
	scan := c.DB.Scan
	if c.Mode.Is(MayRetry) {
		scan = c.DB.ScanOne
	}
	seen := 0
	next := scan(cursor, opts.count, c.NowMs, func(n *store.Node) {
		seen++
		if opts.typeFilter != nil && store.TypeOf(store.DataOf(n)).String() != string(opts.typeFilter) {
			return
		}
		if opts.pattern == nil || NameMatch(opts.pattern, n.Key()) {
			out.Add(resp.Bulk(n.Key()))
		}
	})
	if c.Mode.Is(MayRetry) && next != 0 && seen < min(opts.count, minScanPage) {
		c.Retry = true // the page goes on in other shards
	}
	return scanReply(c, next, out.Array())
}

// minScanPage is how many keys SCAN returns at least, if there are so many and COUNT
// asks for them, before its page ends at the end of a shard.
const minScanPage = 256

// scanShards is Command.Locks of SCAN: the shard in which the cursor stands often has a
// whole page.
func scanShards(c *Ctx, args [][]byte) store.ShardSet {
	cursor, refusal := parseCursor(args[1])
	if c == nil || refusal.IsError() {
		return store.AllShards
	}
	return store.OneShard(int(cursor % store.NumShards))
}

// A scanPage collects the elements that one call of HSCAN, SSCAN or ZSCAN returns.
type scanPage struct {
	pattern []byte // nil: everything
	seen    int    // number of elements visited
	items   Builder
}

// matches counts an element and reports whether it belongs to the page. The element is
// ignored if there is no pattern.
func (p *scanPage) matches(element []byte) bool {
	p.seen++
	return p.pattern == nil || NameMatch(p.pattern, unsafe.String(unsafe.SliceData(element), len(element)))
}

// scanElements handles HSCAN, SSCAN and ZSCAN key cursor [MATCH pattern] [COUNT
// count]. read returns the collection, or the zero T if there is none. scan adds the
// elements of one step to the page and returns the next cursor.
func scanElements[T comparable](
	c *Ctx, read func(*Ctx) (T, resp.Value), scan func(of T, cursor uint64, page *scanPage) uint64,
) resp.Value {
	cursor, refusal := parseCursor(c.Args[2])
	if refusal.IsError() {
		return refusal
	}
	of, refusal := read(c)
	if refusal.IsError() {
		return refusal
	}
	var none T
	if of == none {
		return scanReply(c, 0, resp.Empty)
	}
	opts, refusal := parseScanOptions(c.Args[3:], false)
	if refusal.IsError() {
		return refusal
	}
	page := scanPage{pattern: opts.pattern, items: c.Build(0)}
	for {
		cursor = scan(of, cursor, &page)
		if cursor == 0 || page.seen >= opts.count {
			return scanReply(c, cursor, page.items.Array())
		}
	}
}

func scanReply(c *Ctx, next uint64, items resp.Value) resp.Value {
	var digits [20]byte
	out := c.Build(2)
	out.AddPair(c.Copy(strconv.AppendUint(digits[:0], next, 10)), items)
	return out.Array()
}
