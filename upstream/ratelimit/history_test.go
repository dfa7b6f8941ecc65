package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// termKeys are the keys of a history for each algorithm.
var termKeys = []string{"log", "log2", "fixed", "gcra", "buckets", "counter", "leases"}

// holdKeys are those of its holds, the first three as 0.1.0 named them.
var holdKeys = func() []string {
	keys := []string{"log:hold:a", "log:hold:b", "log2:hold:a"}
	for _, key := range termKeys {
		keys = append(keys, key+":hold:{"+key+"}:a", key+":hold:{"+key+"}:b")
	}
	return keys
}()

var modelKeys = slices.Concat(termKeys, []string{"number", "times"}, holdKeys)

// A history is random calls. Its clock moves forwards, and now and then back.
type history struct {
	r       *rand.Rand
	nowMs   int64
	last    string // the last command
	byHands int
	// latestMs is the latest instant at which there may be entries.
	latestMs int64
	held     [][]string // keys of the last calls that made a hold
	others   rand.PCG   // later choices, so that those of r stay: some seeds of r show a rare fault
}

func (h *history) key(usual string) string {
	if h.r.IntN(12) == 0 {
		return h.any()
	}
	return usual
}

// any returns a key, of a hold only in some cases.
func (h *history) any() string {
	if h.r.IntN(4) == 0 {
		return h.pick(holdKeys...)
	}
	return h.pick(modelKeys[:len(termKeys)+2]...)
}

func (h *history) pick(words ...string) string { return words[h.r.IntN(len(words))] }

// some returns the words or nothing.
func (h *history) some(chance float64, words string) string {
	if h.r.Float64() < chance {
		return " " + words
	}
	return ""
}

// shadow returns SHADOW or nothing.
func (h *history) shadow() string {
	if h.others.Uint64()&3 == 0 {
		return " SHADOW"
	}
	return ""
}

func (h *history) quota() string {
	switch h.r.IntN(12) {
	case 0:
		return fmt.Sprint(1000+h.r.IntN(3000), " ", 5+h.r.IntN(20))
	case 1:
		return fmt.Sprint(1+h.r.IntN(5), " ", 1+h.r.IntN(3))
	}
	return fmt.Sprint(h.r.IntN(13), " ", h.pick("20", "50", "100", "1s"))
}

func (h *history) largeQuota() string {
	if h.r.IntN(6) == 0 {
		return fmt.Sprint(1<<51+h.r.Int64N(1<<51), " ", h.pick("100", "1s", "36524d"))
	}
	return fmt.Sprint(h.r.IntN(13), " ", h.pick("100", "1s"))
}

// beginMs is when a history begins: three seconds before the end of an hour in Kathmandu.
const beginMs = startNowMs + 97_000

// byCalendar returns the quota, or one of the calendar.
func (h *history) byCalendar(quota string) string {
	if h.others.Uint64()&7 > 0 {
		return quota
	}
	limit, _, _ := strings.Cut(quota, " ")
	return limit + " 1h@Asia/Kathmandu"
}

func (h *history) cost() string {
	switch h.r.IntN(10) {
	case 0:
		return " COST " + h.pick("0", "1000", "1500", "9223372036854775807", fmt.Sprint(h.r.Int64N(1<<50)))
	case 1, 2, 3, 4:
		return fmt.Sprint(" COST ", 1+h.r.IntN(6))
	}
	return ""
}

// allow returns a call of RL.ALLOW without the options of a caller.
func (h *history) allow() string {
	switch h.r.IntN(8) {
	case 0:
		return "RL.ALLOW " + h.key("fixed") + " " + h.byCalendar(h.largeQuota()) + " ALGO FIXED"
	case 1:
		return "RL.ALLOW " + h.key("gcra") + " " + h.quota() + " ALGO GCRA " + fmt.Sprint(h.r.IntN(10))
	case 2:
		return fmt.Sprint("RL.ALLOW ", h.key("buckets"), " ", h.largeQuota(), " ALGO BUCKETS ",
			h.pick("10", "10", "3"))
	case 3:
		return "RL.ALLOW " + h.key("counter") + " " + h.largeQuota() + " ALGO COUNTER"
	}
	line := "RL.ALLOW " + h.key(h.pick("log", "log2")) + " " + h.quota()
	for range h.r.IntN(3) {
		line += " " + h.quota()
	}
	return line
}

func (h *history) caller() string {
	return h.cost() + h.some(0.2, "ATMOST") + h.some(0.2, "PEEK") + h.shadow() + h.some(0.3, "FULL")
}

// asked returns a limit and a window under an algorithm for a key, whose state others name too.
func (h *history) asked(key string) (quota, algo string) {
	switch key {
	case "fixed":
		return h.largeQuota(), " ALGO FIXED"
	case "gcra":
		return h.quota(), " ALGO GCRA " + fmt.Sprint(h.r.IntN(10))
	case "buckets":
		return h.largeQuota(), " ALGO BUCKETS 10"
	case "counter":
		return h.largeQuota(), " ALGO COUNTER"
	}
	return h.quota(), ""
}

// term returns a term for a key.
func (h *history) term(key string) string {
	if key == "leases" || h.r.IntN(20) == 0 {
		return " TERM SLOTS " + h.pick("0", "1", "2", "2", "3") + " LEASE " + h.pick("10", "60", "1s")
	}
	quota, algo := h.asked(key)
	if algo == "" && h.r.IntN(3) == 0 {
		quota += " " + h.quota()
	}
	return " TERM " + quota + algo + h.some(0.4, "COST "+h.pick("1", "2", "3", "6", "9223372036854775807"))
}

// terms returns the beginning of a call with terms, and its keys.
func (h *history) terms() (line string, keys []string) {
	for _, i := range h.r.Perm(len(termKeys))[:1+h.r.IntN(3)] {
		keys = append(keys, termKeys[i])
	}
	if h.r.IntN(20) == 0 {
		keys = append(keys, h.pick(holdKeys...))
	}
	line = fmt.Sprint(len(keys), " ", strings.Join(keys, " "))
	for _, key := range keys {
		line += h.term(key)
	}
	return line, keys
}

// actual returns an actual cost.
func (h *history) actual() string {
	if h.r.IntN(40) == 0 {
		return h.pick("9223372036854775807", "9007199254740991")
	}
	return h.pick("0", "1", "2", "3", "7", "2000000")
}

// end returns a call that settles or cancels one of the last holds.
func (h *history) end() string {
	if len(h.held) == 0 {
		return "RL.CANCEL log a"
	}
	keys, id := h.held[h.r.IntN(len(h.held))], h.pick("a", "b")
	if h.r.IntN(10) == 0 {
		keys = slices.Clone(keys)
		keys[len(keys)-1] = h.pick(termKeys...)
	}
	if len(keys) == 1 && h.r.IntN(2) == 0 {
		return h.pick("RL.CANCEL "+keys[0]+" "+id, "RL.SETTLE "+keys[0]+" "+id+" "+h.actual())
	}
	line := fmt.Sprint(len(keys), " ", strings.Join(keys, " "), " ", id)
	if h.r.IntN(2) == 0 {
		return "RL.MCANCEL " + line
	}
	for range keys {
		line += " " + h.actual()
	}
	return "RL.MSETTLE " + line
}

// joint returns a call with terms.
func (h *history) joint() string {
	line, keys := h.terms()
	if h.r.IntN(3) == 0 {
		return "RL.MALLOW " + line + h.some(0.2, "PEEK") + h.shadow() + h.some(0.4, "FULL") +
			h.some(map[bool]float64{true: 1}[strings.Contains(line, "SLOTS")], "ID "+h.pick("a", "b", "c"))
	}
	h.held = append(h.held[max(0, len(h.held)-3):], keys)
	return "RL.MRESERVE " + line + " HOLD " + h.pick("10", "60", "1s") + " ID " + h.pick("a", "b") +
		h.some(0.3, "FULL")
}

// rateLimit returns a command, often the last one again.
func (h *history) rateLimit() string {
	if h.last == "" || h.r.IntN(4) > 0 {
		h.last = h.command()
	}
	return h.last
}

func (h *history) command() string {
	log, id := h.key(h.pick("log", "log2", "log", "log2", "times")), h.pick("a", "b")
	switch h.r.IntN(26) {
	case 18, 19, 20:
		return h.joint()
	case 21, 22, 23, 24:
		return h.end()
	case 16:
		return "RL.ADOPT " + h.pick("times", "times", "log", h.pick(modelKeys...)) +
			h.some(0.5, "BACK "+h.pick("s", "ms", "us", "ns"))
	case 0, 1, 2, 3, 4:
		return h.allow() + h.caller()
	case 5:
		first, second := h.pick("log", "fixed", "log2"), h.pick("log", "new", "log2")
		if first == second {
			second = "third"
		}
		return fmt.Sprint("RL.MALLOW 2 ", first, " ", h.quota(), " ", second, " ", h.quota(),
			h.some(0.4, "COST "+h.pick("0", "2", "5")), h.some(0.2, "PEEK"),
			h.shadow())
	case 6:
		return fmt.Sprint("RL.REFUND ", h.key(h.pick(termKeys[:6]...)), " ",
			h.pick("0", "1", "2", "7", "9223372036854775807"))
	case 7:
		return "RL.RESET " + h.key("new") + h.some(0.5, h.pick(modelKeys...))
	case 8:
		return "RL.INFO " + h.pick(modelKeys...)
	case 9:
		key := h.pick(log, log, h.pick(termKeys[:6]...))
		quota, algo := h.asked(key)
		h.held = append(h.held[max(0, len(h.held)-3):], []string{key})
		return fmt.Sprint("RL.RESERVE ", key, " ", quota, " ", 1+h.r.IntN(5), " HOLD ",
			h.pick("10", "60", "1s"), " ID ", id, algo)
	case 10:
		return fmt.Sprint("RL.SETTLE ", log, " ", id, " ", h.actual())
	case 11:
		return fmt.Sprint("RL.CANCEL ", log, " ", id)
	case 12, 17:
		return fmt.Sprint("RL.ACQUIRE ", h.key("leases"), " ",
			h.pick("0", "1", "2", "1", "2", "9223372036854775807"),
			" LEASE ", h.pick("10", "60", "1s"), " ID ", h.pick("a", "b", "c"))
	case 13:
		return h.pick("RL.RELEASE "+h.key("leases")+" a", "RL.RENEW "+h.key("leases")+" b LEASE 70")
	case 14:
		return fmt.Sprint([]string{"CL", "RL"}[h.others.Uint64()&1], ".THROTTLE ", h.key("gcra"), " ",
			h.r.IntN(7)-1, " ", h.r.IntN(10), " 1", h.some(0.7, h.pick("0", "1", "2", "8")))
	}
	return h.increx()
}

func (h *history) int64() string {
	return h.pick("0", "1", "-1", "999999999", "1000000000", "-1000000000", "9223372036854775807",
		"-9223372036854775808", fmt.Sprint(h.r.Int64()), fmt.Sprint(-h.r.Int64()), fmt.Sprint(h.r.IntN(100)))
}

func (h *history) increx() string {
	return fmt.Sprint("INCREX ", h.key("number"), h.some(0.8, "BYINT "+h.int64()),
		h.some(0.3, "LBOUND "+h.int64()), h.some(0.3, "UBOUND "+h.int64()), h.some(0.4, "SATURATE"),
		h.some(0.5, h.pick("PX 70", "EX 1 ENX", "PERSIST", fmt.Sprint("PXAT ", h.nowMs+30), "PXAT 1 ENX")))
}

// byHand returns a command of Redis that changes a key.
func (h *history) byHand() string {
	key := h.any()
	switch h.r.IntN(12) {
	case 11:
		return h.holdByHand()
	case 9:
		return fmt.Sprintf("ZADD times %d%s %x", (h.nowMs-int64(h.r.IntN(90)))/1000,
			h.pick("", "", ".25"), h.r.IntN(9))
	case 10:
		return fmt.Sprintf("ZADD times %d%s %x", h.nowMs-int64(h.r.IntN(90)),
			h.pick("", "", ".5", "123", "000", "123456"), h.r.IntN(1<<20))
	case 0:
		return "DEL " + key
	case 1:
		return "PERSIST " + key
	case 2:
		return fmt.Sprint("PEXPIRE ", key, " ", 1+h.r.IntN(200))
	case 3:
		return "SET " + key + " " + h.pick("text", "5", "-5", "007", "gcra 5x", `"gcra 1700000097500000"`,
			fmt.Sprintf(`"counter 1000 %d 4 5"`, int64(beginMs)), `"counter 1000 5 4 5"`, `"counter 0 0 0 0"`,
			`"hold 1 1700000000000000 2 1000 5 4 1000 held"`,
			`"hold 1 1700000000000000 2 1000 5 4 1000 settled 1 0 1"`,
			`"hold 1 1700000000000000 2 1000 5 4 1000 held "`, `"hold 1 0 2 1000 5 4 1000 held"`,
		) + h.some(0.5, "PX 150")
	case 4:
		// In the form of an entry and in order: anything else makes the key no log.
		h.byHands++
		h.latestMs += int64(h.r.IntN(3))
		return fmt.Sprintf("ZADD %s %[2]d%03[3]d %[2]d%03[3]d:%[4]d", h.pick("log", "log2"),
			h.latestMs, 900+h.byHands%100, 1+h.r.IntN(4))
	case 5:
		return "ZREMRANGEBYRANK " + h.pick("log", "log2", "leases") + h.pick(" 0 0", " -1 -1")
	case 6:
		return "HSET buckets " + h.pick("counts", "width", "n", "newest", "more") + " " +
			h.pick("1", `"1 2 3"`, `"0 0 1"`, `"1  2"`, `"1 x"`, "10", "3", "1700000000000", "-1")
	case 7:
		return h.pick("HDEL buckets more", "ZADD leases 1700000000500 z", "ZADD leases 5 z", "DEL buckets")
	}
	return "PEXPIREAT leases " + fmt.Sprint(h.nowMs+int64(h.r.IntN(100)))
}

// holdByHand sets a hold that 0.1.0 may have made, or one that looks so, or like one of today.
func (h *history) holdByHand() string {
	place := (h.nowMs-int64(h.r.IntN(3)))*1000 + int64(h.r.IntN(2))
	if h.r.IntN(2) == 0 {
		return fmt.Sprintf(`SET %s "hold 1 %d %d 100 10 %d 100 %s" PX 500`, h.pick(holdKeys[:3]...), place,
			1+h.r.IntN(4), h.r.IntN(9), h.pick("held", "held", "held", "settled 1 0 1"))
	}
	slice := h.nowMs - h.nowMs%100 + int64(100*h.r.IntN(2))
	text := h.pick(
		fmt.Sprintf("LOG %d 10 8 100 0 %d 100", 1+h.r.IntN(4), place),
		fmt.Sprintf("FIXED 2 10 8 100 0 %d 100", slice),
		fmt.Sprintf("COUNTER 2 10 8 100 0 %d 100", slice),
		fmt.Sprintf("GCRA 2 10 8 100 5 %d 100", place+int64(h.r.IntN(60))*1000),
		fmt.Sprintf("BUCKETS 2 10 8 100 10 %d 100", slice-slice%10),
		fmt.Sprintf("LEASES 1 10 8 100 0 %d 100", h.nowMs+60),
		"GCRA 2 9223372036854775807 8 100 5 9223372036854775807 100",
		"HOLD 2 10 8 100 0 5 100", "log 2 10 8 100 0 5 100", "LOG 2 10 8 100 0 5 100",
		"BUCKETS 2 10 8 100 0 5 100", "FIXED 0 10 8 100 0 5 100", "FIXED 1 10 8 100 0 5 0",
		"FIXED 1 0 8 100 0 5 100", "FIXED 1 1 8 100 0 5", "FIXED 1 1 8 100 0 5 0100",
		"2 10 8 100 1 0 1", "-2 10 0 100 1 7 1", "2 10 8 100 1 0", "2 10 8 100 1 0 9223372036854775808",
	)
	second := h.pick("LOG 2 10 8 100 0 1700000000000000 100", "2 10 8 100 1 0 1")
	text = h.pick(
		"0 1 "+text, "0 1 "+text, "0 1 "+text, "0 1 "+text, "1 1 "+text, "0 1 "+text+" ",
		"0 1 "+text+" 3:log", "0 2 "+text,
		"0 2 "+text+" "+second+" 4:log2", "1 2 "+text+" "+second+" 4:log2", "0 2 "+text+" "+second+" 3:log2",
		"0 2 "+text+" "+second+" 5:log2", "0 2 "+text+" "+second+" 04:log2", "-1 1 "+text,
		"0 0 "+text, "0 17 "+text,
	)
	return fmt.Sprintf(`SET %s "hold 1 %s %s" PX 500`, h.pick(holdKeys...),
		h.pick("open", "open", "open", "open", "settled", "settled", "held", "Open"), text)
}

// move returns the instant of the next step.
func (h *history) move() int64 {
	switch h.r.IntN(10) {
	case 0, 1, 2, 3:
		h.nowMs += int64(h.r.IntN(4))
	case 4, 5:
		h.nowMs += int64(h.r.IntN(60))
	case 6:
		h.nowMs += [...]int64{10, 20, 50, 60, 70, 100, 1000}[h.r.IntN(7)] // the end of a window or lease
	case 8:
		h.nowMs += int64(h.r.IntN(1500))
	case 7:
		if h.r.IntN(4) == 0 {
			h.nowMs -= int64(h.r.IntN(30))
		}
	}
	h.latestMs = max(h.latestMs, h.nowMs)
	return h.nowMs
}
