package main

import "strings"

// sortMakers generate SORT and the keys that its patterns refer to.
var sortMakers = []maker{
	{20, (*generator).sort},
	{4, (*generator).sortNumbers},
	{3, (*generator).setWeights},
}

// sortPatterns are arguments of BY and GET; setWeights makes the keys of the first ones.
var sortPatterns = []string{
	"w_*", "w_*", "w_*", "h_*->f", "h_*->f", "h_*->g", "none_*", "w_*->f", "h_*",
	"h_*->", "*", "#", "nosort", "", "w_**",
}

// setWeights gives some elements a text, a number or a field to be sorted by. There are few texts, so many
// are equal.
func (g *generator) setWeights() {
	weight := func() string {
		return pick(g.r, "a", "b", "b", "", "\x00", "b\x00a", itoa(g.between(0, 4)), itoa(g.between(0, 4)),
			pick(g.r, floats...))
	}
	for range g.between(3, 12) {
		element := pick(g.r, "e", "m", "") + itoa(g.between(0, 20))
		if g.chance(60) {
			g.send("SET", "w_"+element, weight())
		} else {
			g.send("HSET", "h_"+element, pick(g.r, "f", "f", "g"), weight())
		}
	}
}

// sortNumbers makes a list that SORT accepts, and one with many elements that are equal under BY.
func (g *generator) sortNumbers() {
	if g.capture != nil {
		g.send("LLEN", g.list())
		return
	}
	k := pick(g.r, g.lists...)
	fill := []string{"RPUSH", k}
	for range g.between(1, 120) {
		fill = append(fill, pick(g.r, itoa(g.between(-20, 20)), itoa(g.between(0, 20)),
			"e"+itoa(g.between(0, 6)), pick(g.r, floats...)))
	}
	if g.chance(60) {
		for i := range fill[2:] {
			fill[2+i] = pick(g.r, itoa(g.between(0, 40)), itoa(g.between(0, 40)), "1.0", "+1", "0x1")
		}
	}
	g.add(step{args: []string{"DEL", k}})
	g.add(step{args: fill, glue: true})
	for range g.between(1, 4) {
		g.sortOf(k, true)
	}
}

func (g *generator) sort() {
	g.sortOf(pick(g.r, g.list(), g.list(), g.plainSet(), g.set(), g.key()), g.capture == nil)
}

// sortOf sends a SORT of a key. If whole, three commands precede it: one that makes Redis convert a sorted
// set from its listpack, for which it reads the scores, one that reads a float within range, and one that
// returns the encoding, which decides whether the order can be compared. Without the first two a number out
// of range, read earlier, would make Redis refuse the next one (it keeps errno). Otherwise, and if the result
// is stored, few orders of hash tables are generated.
func (g *generator) sortOf(k string, whole bool) {
	stores := g.chance(25)
	by, alpha := "", g.chance(50)
	if g.chance(60) {
		by = pick(g.r, sortPatterns...)
	}
	if !whole {
		alpha = true
	}
	if alpha && (stores || !whole) {
		by = ""
		if stores && g.chance(30) {
			by = "nosort"
		}
	}
	args := []string{"SORT", k}
	var options [][]string
	if by != "" || g.chance(2) {
		options = append(options, []string{g.spell("BY"), by})
	}
	if alpha {
		options = append(options, []string{g.spell("ALPHA")})
	}
	if g.chance(40) {
		options = append(options, []string{g.spell(pick(g.r, "ASC", "DESC", "DESC"))})
	}
	if g.chance(50) {
		options = append(options, []string{g.spell("LIMIT"), pick(g.r, "0", "0", itoa(g.between(0, 60)),
			g.index()), pick(g.r, "1", "5", itoa(g.between(0, 60)), g.count())})
	}
	for range pick(g.r, 0, 0, 0, 1, 1, 3) {
		options = append(options, []string{g.spell("GET"), pick(g.r, sortPatterns...)})
	}
	if stores {
		options = append(options, []string{g.spell("STORE"), g.list()})
	} else if g.chance(20) {
		args[0] = "SORT_RO"
	}
	g.r.Shuffle(len(options), func(i, j int) { options[i], options[j] = options[j], options[i] })
	for _, o := range options {
		args = append(args, o...)
	}
	if g.chance(3) {
		args = append(args, pick(g.r, "LIMIT", "BY", "GET", "STORE", "NOSUCH", ""))
	}
	if !whole {
		g.send(args...)
		return
	}
	g.add(step{args: []string{"SORT_RO", k, "BY", "nosort", "LIMIT", "0", "0"}})
	g.add(step{args: []string{"ZUNION", "1", "no such key", "WEIGHTS", "1"}, glue: true})
	g.add(step{args: []string{"OBJECT", "ENCODING", k}, glue: true})
	g.add(step{args: args, glue: true})
}

// sortOrder accepts another order if Redis walks a hash table (OBJECT ENCODING, right before, returned it):
// of a set that is not sorted, and of elements of a set or sorted set that are equal by a pattern, or up to a
// NUL byte. With LIMIT the elements may differ as well.
func sortOrder(s comparison) string {
	encoding := "hashtable" // without it the generator sends nothing that depends on the order
	if s.before != nil {
		encoding = s.before.text
	}
	unsorted, alpha, by, limit, get := false, false, false, false, false
	for i := 2; i < len(s.args); i++ {
		switch strings.ToUpper(s.args[i]) {
		case "BY":
			if i++; i < len(s.args) {
				by = true
				unsorted = unsorted || !strings.Contains(s.args[i], "*")
			}
		case "GET":
			i, get = i+1, true
		case "STORE":
			i++
		case "ALPHA":
			alpha = true
		case "LIMIT":
			i, limit = i+2, true
		}
	}
	switch {
	case unsorted && encoding != "hashtable":
		return "different order"
	case !unsorted && (!alpha || encoding != "hashtable" && encoding != "skiplist" && encoding != "listpack"):
		return "different order"
	case limit && (by || get):
		return sameOuterShape(s)
	case !by && !get:
		return sameUpToNUL(s)
	}
	return sameElements(s)
}

// sameUpToNUL requires the same elements as far as C's strcoll compares them.
func sameUpToNUL(s comparison) string {
	if d := sameOuterShape(s); d != "" {
		return d
	}
	for i := range s.ref.elems {
		a, _, _ := strings.Cut(s.ref.elems[i].text, "\x00")
		b, _, _ := strings.Cut(s.ours.elems[i].text, "\x00")
		if a != b {
			return "different order"
		}
	}
	return ""
}

// sameOuterShape requires the same kind of reply and number of elements.
func sameOuterShape(s comparison) string {
	if len(s.ref.elems) != len(s.ours.elems) {
		return "different number of elements"
	}
	return sameKind(s)
}
