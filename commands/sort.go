package commands

import (
	"bytes"
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/zset"
)

// A sortQuery is what SORT's options say. Patterns are in sort_pattern.go, what
// is compared in sort_order.go.
type sortQuery struct {
	by            *sortPattern   // nil: the elements themselves are compared
	gets          []*sortPattern // none: the elements are answered
	offset, count int64          // count is negative for all
	desc, alpha   bool
	unsorted      bool // BY something that is the same for every element
	destination   int  // where the key of STORE stands; 0: the result is answered
	byChance      bool // Redis' order of the result may be another: see sortDeviation
}

// SORT key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]]
// [ASC | DESC] [ALPHA] [STORE destination]
func sortKey(c *Ctx) resp.Value { return runSort(c, true) }

// SORT_RO is SORT without STORE.
func sortReadOnly(c *Ctx) resp.Value { return runSort(c, false) }

// sortDeviation names what Redis leaves to chance.
const sortDeviation = "of a set that is no intset, or a sorted set, what ALPHA finds equal comes in the order of " +
	"the bytes or of the scores, and BY nosort of a set in that of SMEMBERS, where Redis follows its hash table; " +
	"an element out of a double's range fails its own call only"

// nowhere is KeySpec.Find of keys that no argument names.
func nowhere([][]byte) int { return 0 }

// parseSort reads the options. The last of each kind counts, but for BY a
// constant, which no other BY undoes, and GET, of which there may be many.
func parseSort(args [][]byte, mayStore bool) (q sortQuery, refusal resp.Value) {
	q.count = -1
	for o := (options{args[2:]}); o.more(); {
		switch {
		case o.word("asc"):
			q.desc = false
		case o.word("desc"):
			q.desc = true
		case o.word("alpha"):
			q.alpha = true
		case o.wordWith("limit", 2):
			if q.offset, refusal = toInt(o.value()); refusal.IsError() {
				return q, refusal
			}
			if q.count, refusal = toInt(o.value()); refusal.IsError() {
				return q, refusal
			}
		case mayStore && o.wordWith("store", 1):
			q.destination = len(args) - len(o.rest)
			o.value()
		case o.wordWith("by", 1):
			pattern := o.value()
			q.by = parseSortPattern(pattern)
			q.unsorted = q.unsorted || bytes.IndexByte(cString(pattern), '*') < 0
		case o.wordWith("get", 1):
			q.gets = append(q.gets, parseSortPattern(o.value()))
		default:
			return q, ErrSyntax
		}
	}
	return q, resp.None
}

// looksUp reports whether the query reads keys that the call does not name.
func (q *sortQuery) looksUp() bool {
	isLookup := func(p *sortPattern) bool { return p.found }
	return q.by != nil && q.by.found || slices.ContainsFunc(q.gets, isLookup)
}

// sortReaches is Command.Reaches of SORT: BY and GET may read any key. So may
// STORE write one that sortDestination takes for something else.
func sortReaches(args [][]byte) bool {
	q, refusal := parseSort(args, true)
	return !refusal.IsError() && (q.looksUp() || q.destination != sortDestination(args))
}

// sortReadOnlyReaches is sortReaches of SORT_RO.
func sortReadOnlyReaches(args [][]byte) bool {
	q, refusal := parseSort(args, false)
	return !refusal.IsError() && q.looksUp()
}

// sortDestination is KeySpec.Find of STORE: Redis looks for the last STORE
// without reading the other options, of which it only knows how many arguments
// they have.
func sortDestination(args [][]byte) (at int) {
	for i := 2; i < len(args); i++ {
		switch word := args[i]; {
		case EqualFold(word, "limit"):
			i += 2
		case EqualFold(word, "get"), EqualFold(word, "by"):
			i++
		case EqualFold(word, "store") && i+1 < len(args):
			at = i + 1
		}
	}
	return at
}

func runSort(c *Ctx, mayStore bool) resp.Value {
	q, refusal := parseSort(c.Args, mayStore)
	if refusal.IsError() {
		return refusal
	}
	source, refusal := sortSourceOf(c.DB.Lookup(c.Args[1], c.NowMs))
	if refusal.IsError() {
		return refusal
	}
	if source.plain != nil && q.unsorted && (q.destination != 0 || c.InScript) {
		// A set has no order of its own, and what is stored or computed from must
		// not depend on chance.
		q.unsorted, q.alpha, q.by = false, true, nil
	}
	if source.sorted != nil {
		source.sorted.NoteSort()
	}
	first, end := q.limits(source.len())
	if q.unsorted {
		return q.finish(c, source.slice(first, end, q.desc))
	}
	v, ok := q.vector(c, source)
	if !ok {
		return errSortScores
	}
	v.sort(first, end)
	q.byChance = v.alpha && v.by && source.isHashed() // stored without BY, nothing but equal elements is equal
	return q.finish(c, v.elements(first, end))
}

// limits turns LIMIT into the indexes from first up to, not including, end of n
// elements.
func (q *sortQuery) limits(n int) (first, end int) {
	size := int64(n)
	offset := min(max(q.offset, 0), size)
	if q.count < 0 {
		return int(offset), n
	}
	return int(offset), int(min(offset+min(q.count, size), size))
}

// finish answers the elements, or what GET makes of them, or stores it.
func (q *sortQuery) finish(c *Ctx, elements []string) resp.Value {
	if q.destination != 0 {
		return q.store(c, q.asList(c, elements))
	}
	if len(q.gets) == 0 {
		out := c.Values(len(elements))
		for _, e := range elements {
			out = append(out, resp.Bulk(e))
		}
		return resp.Array(out...)
	}
	out := c.Values(len(elements) * len(q.gets))
	for _, e := range elements {
		for _, p := range q.gets {
			out = append(out, p.value(c, e))
		}
	}
	return resp.Array(out...)
}

// store keeps the result. Where another server may come to another one, the call
// is recorded by what it did.
func (q *sortQuery) store(c *Ctx, l *list.List) resp.Value {
	key := c.Args[q.destination]
	replaces := c.DB.Find(key, c.NowMs) != nil
	c.changesAre(eventSortStore)
	reply := storeResult(c, key, l)
	if !q.byChance {
		return reply
	}
	if replaces {
		c.didCall("DEL", key)
	}
	if l.Len() == 0 {
		return reply
	}
	if g := c.did(2+l.Len(), "RPUSH", key); g != nil {
		l.Ascend(0, func(e string) bool {
			g.Text(e)
			return true
		})
	}
	return reply
}

// asList is what STORE keeps: an empty element where GET finds nothing.
func (q *sortQuery) asList(c *Ctx, elements []string) *list.List {
	l := &list.List{}
	for _, e := range elements {
		if len(q.gets) == 0 {
			l.PushBack([]byte(e))
		}
		for _, p := range q.gets {
			text, _ := p.lookup(c, e)
			l.PushBack(text)
		}
	}
	return l
}

// A sortSource is what SORT sorts: a list, a set, a sorted set or, where the key
// does not exist, nothing.
type sortSource struct {
	list *list.List
	zsource
}

func sortSourceOf(n *store.Node) (s sortSource, refusal resp.Value) {
	if n == nil {
		return s, resp.None
	}
	if s.list = store.ListOf(n); s.list == nil {
		s.sorted, s.plain = store.ZSetOf(n), store.SetOf(n)
	}
	if s.list == nil && s.sorted == nil && s.plain == nil {
		return s, ErrWrongType
	}
	return s, resp.None
}

func (s *sortSource) len() int {
	if s.list != nil {
		return s.list.Len()
	}
	return s.zsource.len()
}

// isHashed reports whether Redis walks the source as a hash table.
func (s *sortSource) isHashed() bool {
	return s.sorted != nil || s.plain != nil && !s.plain.IsIntset()
}

// slice returns the elements from first up to, not including, end of the
// source's own order, which a set has in one direction only.
func (s *sortSource) slice(first, end int, desc bool) []string {
	out := make([]string, 0, max(end-first, 0))
	take := func(e string) bool {
		if len(out) < cap(out) {
			out = append(out, e)
		}
		return len(out) < cap(out)
	}
	last := s.len() - 1 - first
	switch {
	case cap(out) == 0:
	case s.list != nil && desc:
		s.list.Descend(last, take)
	case s.list != nil:
		s.list.Ascend(first, take)
	case s.sorted != nil && desc:
		s.sorted.Descend(last, func(e zset.Entry) bool { return take(e.Member()) })
	case s.sorted != nil:
		s.sorted.Ascend(first, func(e zset.Entry) bool { return take(e.Member()) })
	default:
		for m := range s.plain.All() {
			if first--; first < 0 && !take(m.Text()) {
				break
			}
		}
	}
	return out
}
