package ratelimit_test

import (
	"fmt"
	"math/rand/v2"
)

// modelKeys are the keys of a history, one for each algorithm, and their holds.
var modelKeys = []string{
	"log", "log2", "fixed", "gcra", "buckets", "counter", "leases", "number", "log:hold:a", "log:hold:b",
	"log2:hold:a", "times",
}

// A history is random calls. Its clock moves forwards, and now and then back.
type history struct {
	r       *rand.Rand
	nowMs   int64
	last    string // the last command
	byHands int
}

func (h *history) key(usual string) string {
	if h.r.IntN(12) == 0 {
		return modelKeys[h.r.IntN(len(modelKeys))]
	}
	return usual
}

func (h *history) pick(words ...string) string { return words[h.r.IntN(len(words))] }

// some returns the words or nothing.
func (h *history) some(chance float64, words string) string {
	if h.r.Float64() < chance {
		return " " + words
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
		return "RL.ALLOW " + h.key("fixed") + " " + h.largeQuota() + " ALGO FIXED"
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
	return h.cost() + h.some(0.2, "ATMOST") + h.some(0.2, "PEEK") + h.some(0.3, "FULL")
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
	switch h.r.IntN(18) {
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
			h.some(0.4, "COST "+h.pick("0", "2", "5")), h.some(0.2, "PEEK"))
	case 6:
		return fmt.Sprint("RL.REFUND ", h.key(h.pick(modelKeys[:6]...)), " ",
			h.pick("0", "1", "2", "7", "9223372036854775807"))
	case 7:
		return "RL.RESET " + h.key("new") + h.some(0.5, h.pick(modelKeys...))
	case 8:
		return "RL.INFO " + h.pick(modelKeys...)
	case 9:
		return fmt.Sprint("RL.RESERVE ", log, " ", h.quota(), " ", 1+h.r.IntN(5), " HOLD ",
			h.pick("10", "60", "1s"), " ID ", id)
	case 10:
		return fmt.Sprint("RL.SETTLE ", log, " ", id, " ", h.pick("0", "1", "2", "3", "7", "2000000"))
	case 11:
		return fmt.Sprint("RL.CANCEL ", log, " ", id)
	case 12, 17:
		return fmt.Sprint("RL.ACQUIRE ", h.key("leases"), " ",
			h.pick("0", "1", "2", "1", "2", "9223372036854775807"),
			" LEASE ", h.pick("10", "60", "1s"), " ID ", h.pick("a", "b", "c"))
	case 13:
		return h.pick("RL.RELEASE "+h.key("leases")+" a", "RL.RENEW "+h.key("leases")+" b LEASE 70")
	case 14:
		return fmt.Sprint("CL.THROTTLE ", h.key("gcra"), " ", h.r.IntN(7)-1, " ", h.r.IntN(10), " 1",
			h.some(0.7, h.pick("0", "1", "2", "8")))
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
	key := h.pick(modelKeys...)
	switch h.r.IntN(11) {
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
		return "SET " + key + " " + h.pick("text", "5", "-5", "007", "gcra 5x", `"gcra 1700000000500000"`,
			fmt.Sprintf(`"counter 1000 %d 4 5"`, startNowMs), `"counter 1000 5 4 5"`, `"counter 0 0 0 0"`,
			`"hold 1 1700000000000000 2 1000 5 4 1000 held"`,
			`"hold 1 1700000000000000 2 1000 5 4 1000 settled 1 0 1"`,
			`"hold 1 1700000000000000 2 1000 5 4 1000 held "`, `"hold 1 0 2 1000 5 4 1000 held"`,
		) + h.some(0.5, "PX 150")
	case 4:
		// In the form of an entry and in order: anything else makes the key no log.
		h.byHands++
		return fmt.Sprintf("ZADD %s %[2]d%03[3]d %[2]d%03[3]d:%[4]d", h.pick("log", "log2"),
			h.nowMs+int64(h.r.IntN(3)), 900+h.byHands%100, 1+h.r.IntN(4))
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
	return h.nowMs
}
