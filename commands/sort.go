package commands

import (
	"bytes"
	"slices"

	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
	"github.com/zlimit/zlimit/store/list"
	"github.com/zlimit/zlimit/store/zset"
)

// A sortQuery holds SORT's options. Patterns are in sort_pattern.go, comparisons in
// sort_order.go.
type sortQuery struct {
	by               *sortPattern   // nil: sort by the elements themselves
	gets             []*sortPattern // empty: return the elements
	offset, count    int64          // a negative count is unlimited
	desc, alpha      bool
	unsorted         bool // BY a constant
	destination      int  // index of STORE's key in the arguments; 0: return the result
	nondeterministic bool // Redis may order the result differently, see sortDeviation
}

// SORT key [BY pattern] [LIMIT offset count] [GET pattern [GET pattern ...]]
// [ASC | DESC] [ALPHA] [STORE destination]
func sortKey(c *Ctx) resp.Value { return runSort(c, true) }

// SORT_RO is SORT without STORE.
func sortReadOnly(c *Ctx) resp.Value { return runSort(c, false) }

// sortDeviation describes results that are nondeterministic in Redis.
const sortDeviation = "elements that ALPHA compares as equal are ordered by their bytes in a set " +
	"other than an intset and by score in a sorted set, and BY nosort returns a set in the order of " +
	"SMEMBERS, " +
	"where Redis uses the order of its hash table; " +
	"an element out of a double's range makes only its own call fail"

// noKeyArgument is the KeySpec.Find of keys that are not among the arguments.
func noKeyArgument([][]byte) int { return 0 }

// parseSort parses the options. The last of each kind counts, except that GET may be
// given several times and that BY a constant cannot be undone by another BY. Patterns that read
// other keys are refused by the errors of denied.
func parseSort(args [][]byte, mayStore bool, denied sortErrors) (q sortQuery, refusal resp.Value) {
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
			constant := bytes.IndexByte(cString(pattern), '*') < 0
			q.unsorted = q.unsorted || constant
			if !constant && denied.by.IsError() {
				return q, denied.by
			}
		case o.wordWith("get", 1):
			if denied.get.IsError() {
				return q, denied.get
			}
			q.gets = append(q.gets, parseSortPattern(o.value()))
		default:
			return q, ErrSyntax
		}
	}
	return q, resp.None
}

// readsOtherKeys reports whether the query reads keys that are not arguments.
func (q *sortQuery) readsOtherKeys() bool {
	isLookup := func(p *sortPattern) bool { return p.hasStar }
	return q.by != nil && q.by.hasStar || slices.ContainsFunc(q.gets, isLookup)
}

// sortReaches is the Command.Reaches of SORT: BY and GET may read any key, and STORE
// may write one that sortDestination misses.
func sortReaches(args [][]byte) bool {
	q, refusal := parseSort(args, true, sortErrors{})
	return !refusal.IsError() && (q.readsOtherKeys() || q.destination != sortDestination(args))
}

// sortReadOnlyReaches is the Command.Reaches of SORT_RO.
func sortReadOnlyReaches(args [][]byte) bool {
	q, refusal := parseSort(args, false, sortErrors{})
	return !refusal.IsError() && q.readsOtherKeys()
}

// sortDestination is the KeySpec.Find of STORE's key. Like Redis, it finds the last
// STORE and only skips the other options.
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

// sortErrors are the errors of BY and GET; the zero Value permits them.
type sortErrors struct{ by, get resp.Value }

// deniedPatterns returns the errors of patterns that read other keys than the command's.
func deniedPatterns(c *Ctx) sortErrors {
	switch {
	case c.Settings.Cluster: // in other slots
		return sortErrors{by: errSortByInCluster, get: errSortGetInCluster}
	case c.Guard() != nil && !c.Guard().ReadsAllKeys(c.Cmd, c.Args):
		return sortErrors{by: errSortBy, get: errSortGet}
	}
	return sortErrors{}
}

func runSort(c *Ctx, mayStore bool) resp.Value {
	q, refusal := parseSort(c.Args, mayStore, deniedPatterns(c))
	if refusal.IsError() {
		return refusal
	}
	source, refusal := sortSourceOf(c.DB.Lookup(c.Args[1], c.NowMs))
	if refusal.IsError() {
		return refusal
	}
	if source.plain != nil && q.unsorted && (q.destination != 0 || c.Mode.Is(InScript)) {
		// A set is unordered, and stored or scripted results must be deterministic.
		q.unsorted, q.alpha, q.by = false, true, nil
	}
	if source.sorted != nil {
		source.sorted.NoteSort()
	}
	first, end := q.limits(source.len())
	if q.unsorted {
		return q.reply(c, source.slice(first, end, q.desc))
	}
	v, ok := q.vector(c, source)
	if !ok {
		return errSortScores
	}
	v.sort(first, end)
	q.nondeterministic = v.alpha && v.by && source.isHashed() // without BY only equal elements compare equal
	return q.reply(c, v.elements(first, end))
}

// limits returns the range of indexes [first, end) that LIMIT selects of n elements.
func (q *sortQuery) limits(n int) (first, end int) {
	size := int64(n)
	offset := min(max(q.offset, 0), size)
	if q.count < 0 {
		return int(offset), n
	}
	return int(offset), int(min(offset+min(q.count, size), size))
}

// reply returns or stores the elements, or the values that GET reads for them.
func (q *sortQuery) reply(c *Ctx, elements []string) resp.Value {
	if q.destination != 0 {
		return q.store(c, q.toList(c, elements))
	}
	if len(q.gets) == 0 {
		out := c.Build(len(elements))
		for _, e := range elements {
			if !out.Add(resp.Bulk(e)) {
				break
			}
		}
		return out.Array()
	}
	out := c.Build(len(elements) * len(q.gets))
	for _, e := range elements {
		for _, p := range q.gets {
			if !out.Add(p.value(c, e)) {
				return out.Array()
			}
		}
	}
	return out.Array()
}

// store stores the result. The log records it instead of the call if it is
// nondeterministic.
func (q *sortQuery) store(c *Ctx, l *list.List) resp.Value {
	key := c.Args[q.destination]
	replaces := c.DB.Find(key, c.NowMs) != nil
	c.changesAre(eventSortStore)
	reply := storeResult(c, key, l)
	if !q.nondeterministic {
		return reply
	}
	if replaces {
		c.DidCall("DEL", key)
	}
	if l.Len() == 0 {
		return reply
	}
	if g := c.Did(2+l.Len(), "RPUSH", key); g != nil {
		l.Ascend(0, func(e string) bool {
			g.Text(e)
			return true
		})
	}
	return reply
}

// toList returns the list that STORE stores, with an empty element for each value that
// GET does not find.
func (q *sortQuery) toList(c *Ctx, elements []string) *list.List {
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

// A sortSource is the collection that SORT sorts: a list, a set, a sorted set, or
// nothing if the key does not exist.
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

// isHashed reports whether Redis iterates over the source as a hash table.
func (s *sortSource) isHashed() bool {
	return s.sorted != nil || s.plain != nil && !s.plain.IsIntset()
}

// slice returns the elements [first, end) in the source's own order, reversed if desc
// and the source is not a set.
func (s *sortSource) slice(first, end int, desc bool) []string {
	out := make([]string, 0, max(end-first, 0))
	collect := func(e string) bool {
		if len(out) < cap(out) {
			out = append(out, e)
		}
		return len(out) < cap(out)
	}
	last := s.len() - 1 - first
	switch {
	case cap(out) == 0:
	case s.list != nil && desc:
		s.list.Descend(last, collect)
	case s.list != nil:
		s.list.Ascend(first, collect)
	case s.sorted != nil && desc:
		s.sorted.Descend(last, func(e zset.Entry) bool { return collect(e.Member()) })
	case s.sorted != nil:
		s.sorted.Ascend(first, func(e zset.Entry) bool { return collect(e.Member()) })
	default:
		for m := range s.plain.All() {
			if first--; first < 0 && !collect(m.Text()) {
				break
			}
		}
	}
	return out
}
