package main

import (
	"fmt"
	"regexp"
	"sort"
	"strconv"
	"strings"
)

// interpreterFrame splits the error of a script into what Redis wrote and what the interpreter wrote.
var interpreterFrame = regexp.MustCompile(
	`(?s)^(ERR (?:Error compiling script \(new function\): )?user_script:\d+: )` +
		`(.*?)( script: [0-9a-f]{40}, on @user_script:\d+\.|)$`)

// sameInterpreterError reports whether both replies are errors of the interpreter within equal frames.
func sameInterpreterError(ref, ours string) bool {
	a, b := interpreterFrame.FindStringSubmatch(ref), interpreterFrame.FindStringSubmatch(ours)
	return a != nil && b != nil && a[1] == b[1] && a[3] == b[3] && interpreterWords.MatchString(a[2]) &&
		b[2] != ""
}

// sameKind requires the same RESP type, and null only if Redis' reply is null.
func sameKind(s comparison) string {
	if s.ref.kind != s.ours.kind || s.ref.null != s.ours.null {
		return "different reply type"
	}
	return ""
}

// sameShape requires the same RESP types and lengths at every level.
func sameShape(s comparison) string {
	if d := sameKind(s); d != "" {
		return d
	}
	if len(s.ref.elems) != len(s.ours.elems) {
		return "different number of elements"
	}
	for i := range s.ref.elems {
		if d := sameShape(comparison{ref: s.ref.elems[i], ours: s.ours.elems[i]}); d != "" {
			return d
		}
	}
	return ""
}

func sortedKeys(elems []value) []string {
	keys := make([]string, len(elems))
	for i, e := range elems {
		keys[i] = e.key()
	}
	sort.Strings(keys)
	return keys
}

// sameElements compares arrays and sets as multisets.
func sameElements(s comparison) string {
	if d := sameKind(s); d != "" {
		return d
	}
	if strings.Join(sortedKeys(s.ref.elems), " ") != strings.Join(sortedKeys(s.ours.elems), " ") {
		return "different elements"
	}
	return ""
}

// foldPairs turns name, value, name, value... into elements that hold both.
func foldPairs(v value) value {
	var folded []value
	for i := 0; i+1 < len(v.elems); i += 2 {
		folded = append(folded, value{kind: '*', elems: v.elems[i : i+2]})
	}
	v.elems = folded
	return v
}

// samePairs compares maps, and arrays of name and value, as multisets of pairs.
func samePairs(s comparison) string {
	if len(s.ref.elems) != len(s.ours.elems) {
		return "different number of elements"
	}
	return sameElements(comparison{ref: foldPairs(s.ref), ours: foldPairs(s.ours)})
}

// helloFields compares all of HELLO's map except the values of version and id.
func helloFields(s comparison) string {
	if d := sameShape(s); d != "" {
		return d
	}
	for i, e := range s.ref.elems {
		if i%2 == 1 && (s.ref.elems[i-1].text == "version" || s.ref.elems[i-1].text == "id") {
			continue
		}
		if e.key() != s.ours.elems[i].key() {
			return fmt.Sprintf("field %d", i/2)
		}
	}
	return ""
}

// commandRows compares COMMAND INFO row by row: name, arity and key positions exactly, flags and ACL
// categories as sets.
func commandRows(s comparison) string {
	if d := sameKind(s); d != "" {
		return d
	}
	if len(s.ref.elems) != len(s.ours.elems) {
		return "different number of rows"
	}
	for i, ref := range s.ref.elems {
		ours := s.ours.elems[i]
		if ref.null != ours.null || len(ref.elems) != len(ours.elems) {
			return fmt.Sprintf("row %d", i)
		}
		for j := 0; j < len(ref.elems) && j < 7; j++ {
			if ref.elems[j].elems == nil && ref.elems[j].key() != ours.elems[j].key() {
				return fmt.Sprintf("row %d, field %d", i, j)
			}
			if d := sameElements(comparison{ref: ref.elems[j], ours: ours.elems[j]}); d != "" {
				return fmt.Sprintf("row %d, field %d: %s", i, j, d)
			}
		}
	}
	return ""
}

// scanPage requires a decimal cursor and a list of bulk strings. A page that is the whole iteration on both
// sides must hold the same elements.
func scanPage(s comparison) string {
	if d := sameKind(s); d != "" {
		return d
	}
	if len(s.ref.elems) != 2 || len(s.ours.elems) != 2 {
		return "not a cursor and a list"
	}
	ref, ours := s.ref.elems[1], s.ours.elems[1]
	if ours.kind != ref.kind {
		return "the page is not an array"
	}
	cursor := s.ours.elems[0]
	if _, err := strconv.ParseUint(cursor.text, 10, 64); err != nil || cursor.kind != s.ref.elems[0].kind {
		return "the cursor is not a number"
	}
	at := 1
	if !strings.EqualFold(s.args[0], "scan") {
		at = 2
	}
	whole := len(s.args) > at && s.args[at] == "0" && cursor.text == "0" && s.ref.elems[0].text == "0"
	if !whole {
		return ""
	}
	if at == 2 && !strings.EqualFold(s.args[0], "sscan") {
		return samePairs(comparison{ref: ref, ours: ours})
	}
	return sameElements(comparison{ref: ref, ours: ours})
}

// pickOne accepts any element of the list that the step before read.
func pickOne(s comparison) string {
	if d := sameKind(s); d != "" {
		return d
	}
	if s.before == nil || s.before.kind != '*' && s.before.kind != '~' {
		return ""
	}
	for _, e := range s.before.elems {
		if e.text == s.ours.text {
			return ""
		}
	}
	return "chose an element that does not exist"
}

// fieldOrder accepts another order of a hash's fields if Redis has no order itself: not if the step before
// (OBJECT ENCODING) returned listpack.
func fieldOrder(s comparison) string {
	if s.before != nil && s.before.text == "listpack" {
		return "different order or fields of a listpack"
	}
	if strings.EqualFold(s.args[0], "hgetall") {
		return samePairs(s)
	}
	return sameElements(s)
}

// memberOrder accepts another order of a set's members, but not if the step before (OBJECT ENCODING) returned
// intset.
func memberOrder(s comparison) string {
	if s.before != nil && s.before.text == "intset" {
		return "different order or members of an intset"
	}
	return sameElements(s)
}

// pickFromSet checks SRANDMEMBER and SPOP: as many elements as Redis returned, without repetition if the
// count is positive, and if the step before read the set (SMEMBERS key), members of it.
func pickFromSet(s comparison) string {
	if len(s.args) < 3 {
		return pickOne(s)
	}
	if d := sameShape(s); d != "" {
		return d
	}
	seen := map[string]bool{}
	for _, e := range s.ours.elems {
		seen[e.text] = true
		if d := pickOne(comparison{ref: e, ours: e, before: s.before}); d != "" {
			return d
		}
	}
	if !strings.HasPrefix(s.args[2], "-") && len(seen) != len(s.ours.elems) {
		return "a member twice for a positive count"
	}
	return ""
}

// pickMembers checks ZRANDMEMBER and HRANDFIELD: as many elements as Redis returned, of the same types,
// without repetition if the count is positive, and if the step before read the collection (ZRANGE key 0 -1
// WITHSCORES, HGETALL key), members and scores, or fields and values, of it.
func pickMembers(s comparison) string {
	if s.before != nil && s.before.kind != '*' && s.before.kind != '%' {
		s.before = nil
	}
	if len(s.args) < 3 {
		if s.before != nil {
			members := value{kind: '*'}
			for _, p := range entries(*s.before) {
				members.elems = append(members.elems, p[0])
			}
			s.before = &members
		}
		return pickOne(s)
	}
	if d := sameShape(s); d != "" {
		return d
	}
	withScores := len(s.args) > 3
	picked := make([][]value, 0, len(s.ours.elems))
	if withScores {
		picked = entries(s.ours)
	} else {
		for _, e := range s.ours.elems {
			picked = append(picked, []value{e})
		}
	}
	seen := map[string]int{}
	for _, p := range picked {
		seen[p[0].text]++
	}
	if !strings.HasPrefix(s.args[2], "-") && len(seen) != len(picked) {
		return "a member twice for a positive count"
	}
	if s.before == nil {
		return ""
	}
	held := map[string]string{}
	for _, p := range entries(*s.before) {
		held[p[0].text] = p[1].key()
	}
	for _, p := range picked {
		score, ok := held[p[0].text]
		if !ok || (withScores && p[1].key() != score) {
			return "chose an element that does not exist"
		}
	}
	return ""
}

// entries returns members and scores from RESP2's flat list or RESP3's list of pairs.
func entries(v value) [][]value {
	var all [][]value
	if len(v.elems) > 0 && v.elems[0].elems != nil {
		for _, e := range v.elems {
			if len(e.elems) == 2 {
				all = append(all, e.elems)
			}
		}
		return all
	}
	for i := 0; i+1 < len(v.elems); i += 2 {
		all = append(all, v.elems[i:i+2])
	}
	return all
}

// newerRedis accepts OK if Redis does not know the subcommand yet, and an error of ours if a later Redis
// refuses the command too.
func newerRedis(s comparison) string {
	if !s.ref.isError() {
		return "Redis knows this command: remove the row"
	}
	if s.ours.isError() || (s.ours.kind == '+' && s.ours.text == "OK") {
		return ""
	}
	return "neither OK nor an error"
}

// keySlot computes the slot from the cluster specification: CRC16 (XMODEM) of the key, or of the part between
// its first { and the next } if that is not empty, modulo 16384.
func keySlot(s comparison) string {
	if len(s.args) != 3 {
		if s.ours.isError() {
			return ""
		}
		return "wrong number of arguments accepted"
	}
	key := s.args[2]
	if open := strings.IndexByte(key, '{'); open >= 0 {
		if n := strings.IndexByte(key[open+1:], '}'); n > 0 {
			key = key[open+1 : open+1+n]
		}
	}
	var crc uint16
	for i := 0; i < len(key); i++ {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	if want := strconv.Itoa(int(crc % 16384)); s.ours.kind != ':' || s.ours.text != want {
		return "the slot is " + want
	}
	return ""
}

// clockSlackMs is the allowed distance of two running clocks, and of two commands on their way.
const clockSlackMs = 3000

func nearSeconds(s comparison) string      { return near(s, clockSlackMs/1000) }
func nearMilliseconds(s comparison) string { return near(s, clockSlackMs) }

// near accepts two positive integers at most slack apart. -1 and -2 must be equal.
func near(s comparison, slack int64) string {
	x, errX := strconv.ParseInt(s.ref.text, 10, 64)
	y, errY := strconv.ParseInt(s.ours.text, 10, 64)
	if s.ref.kind != ':' || s.ours.kind != ':' || errX != nil || errY != nil || x <= 0 || y <= 0 ||
		max(x, y)-min(x, y) > slack {
		return "further apart than clocks may be"
	}
	return ""
}

// slowEntries compares entries of SLOWLOG GET: arguments, and names of clients.
func slowEntries(s comparison) string {
	if d := sameShape(s); d != "" {
		return d
	}
	for i := range s.ref.elems {
		a, b := s.ref.elems[i].elems, s.ours.elems[i].elems
		if len(a) != 6 || a[3].key() != b[3].key() || a[5].key() != b[5].key() {
			return "different entries"
		}
	}
	return ""
}

// fieldNames compares the names in maps, and arrays of name and value.
func fieldNames(s comparison) string {
	if d := sameKind(s); d != "" {
		return d
	}
	if len(s.ref.elems) != len(s.ours.elems) {
		return "different number of elements"
	}
	for i := 0; i < len(s.ref.elems); i += 2 {
		if s.ref.elems[i].key() != s.ours.elems[i].key() {
			return "different names"
		}
	}
	return ""
}
