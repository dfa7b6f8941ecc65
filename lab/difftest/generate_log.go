package main

import "math"

// A log is a sorted set in the form that limiters use: each member is the plain decimal of its own score,
// values are appended at the end and removed from the front. zlimit-server has a special encoding for such
// sets, so rounds fill logs, trim them, read them in every way, and sometimes add what that encoding cannot
// represent.

// restartLog gives a log key a new start value.
func (g *generator) restartLog(key string) {
	g.logAt[key] = pick[int64](g.r, g.nowMs, g.nowMs/1000, 1_700_000_000_123, g.nowMs*1000, 0, -300, 250,
		65_400,
		1<<32-50, 1<<53-60, -(1<<53)+3, 1<<52, 100_000_000_000_000, 99_999_999_999_990)
}

// logNext returns the next value for a log key: usually a little higher, sometimes far higher, repeated or
// lower.
func (g *generator) logNext(key string) string {
	at := g.logAt[key]
	switch n := g.r.IntN(100); {
	case n < 50:
		at++
	case n < 58:
	case n < 64:
		return itoa(at - int64(g.r.IntN(60)))
	case n < 90:
		at += int64(g.between(2, 1200))
	default:
		at += pick[int64](g.r, 15, 16, 127, 128, 255, 256, 257, 65_535, 65_536, 65_537, 1<<24, 1<<31, 1<<32)
	}
	g.logAt[key] = min(at, 1<<60)
	g.addMember(key, itoa(g.logAt[key]))
	return itoa(g.logAt[key])
}

func (g *generator) logAppend() {
	k := pick(g.r, g.logs...)
	v := g.logNext(k)
	g.send("ZADD", k, v, v)
}

func (g *generator) logBulk() {
	k := pick(g.r, g.logs...)
	args := []string{"ZADD", k}
	for range g.between(2, pick(g.r, 8, 40, 90)) {
		v := g.logNext(k)
		args = append(args, v, v)
	}
	g.send(args...)
}

// deepLog fills a log with thousands of values, so that trimming and searching cross block boundaries.
func (g *generator) deepLog(k string) {
	for range g.between(2, 8) {
		args := []string{"ZADD", k}
		dense := g.chance(40)
		for range 500 {
			if dense {
				g.logAt[k]++
			} else {
				g.logNext(k)
			}
			v := itoa(g.logAt[k])
			args = append(args, v, v)
		}
		g.send(args...)
	}
}

// logLimiter sends the documents' flow: drop what left the window, count, add, refresh the expiry.
func (g *generator) logLimiter() {
	k := pick(g.r, g.logs...)
	v := g.logNext(k)
	window := int64(pick(g.r, 60, 1000, 60_000, 60_000))
	wrap := g.chance(40) && g.capture == nil
	if wrap {
		g.send("MULTI")
	}
	g.send("ZREMRANGEBYSCORE", k, pick(g.r, "0", "-inf"), pick(g.r, "", "", "(")+itoa(g.logAt[k]-window))
	g.send("ZCARD", k)
	g.send("ZADD", k, v, v)
	g.send(pick(g.r, "EXPIRE", "PEXPIRE"), k, g.deadline(1000, false))
	if wrap {
		g.send("EXEC")
	}
}

func (g *generator) logTrim() {
	k := pick(g.r, g.logs...)
	switch g.r.IntN(5) {
	case 0:
		g.command("ZREMRANGEBYRANK", k, "0", itoa(g.between(0, pick(g.r, 9, 9, 9, 300))))
	case 1:
		g.command(pick(g.r, "ZPOPMIN", "ZPOPMIN", "ZPOPMAX"), k, itoa(g.between(1, 9)))
	case 2:
		g.command("ZREM", k, itoa(g.logAt[k]-int64(g.r.IntN(20))))
	case 3:
		at := g.logAt[k] - int64(g.r.IntN(2000))
		g.command("ZREMRANGEBYSCORE", k, itoa(at), itoa(at+int64(g.r.IntN(20))))
	default:
		g.command("ZREMRANGEBYSCORE", k, pick(g.r, "-inf", "0", "-9007199254740992"),
			pick(g.r, "", "(")+itoa(g.logAt[k]-int64(g.r.IntN(3000))))
	}
}

func (g *generator) logRead() {
	k := pick(g.r, g.logs...)
	switch g.r.IntN(6) {
	case 0:
		g.command("ZRANGE", k, "0", "-1")
	case 1:
		g.command("ZRANGE", k, g.index(), g.index(), g.spell("WITHSCORES"))
	case 2:
		g.command("ZREVRANGE", k, "0", itoa(g.between(0, 5)), "WITHSCORES")
	case 3:
		g.command("ZCOUNT", k, g.boundOf(k), "+inf")
	case 4:
		if g.chance(40) {
			at := itoa(g.between(-900, 900)) // by rank, far from the ends
			g.command("ZRANGE", k, at, at, pick(g.r, "WITHSCORES", "REV"))
			return
		}
		g.command("ZRANGEBYSCORE", k, g.boundOf(k), g.boundOf(k), "LIMIT", itoa(g.between(-1, 5)),
			itoa(g.between(-1, 9)))
	default:
		g.command(pick(g.r, "ZRANK", "ZREVRANK", "ZSCORE"), k, itoa(g.logAt[k]-int64(g.r.IntN(8))))
	}
}

// logForeign adds what the encoding of logs cannot represent, or deletes the key.
func (g *generator) logForeign() {
	k := pick(g.r, g.logs...)
	v := itoa(g.logAt[k])
	switch g.r.IntN(10) {
	case 0:
		g.send("ZADD", k, v, "0"+v)
	case 1:
		g.send("ZADD", k, v, "x")
	case 2:
		g.send("ZADD", k, "-0", pick(g.r, "-0", "0"))
	case 3:
		f := pick(g.r, "1.5", "1e17", "inf", "100000000000000000", "9007199254740993", "-9007199254740993",
			"0100", "+5")
		g.send("ZADD", k, f, f)
	case 4:
		g.send("ZINCRBY", k, pick(g.r, "1", "0.5", "0", "-1"), v)
	case 5:
		g.send("ZADD", k, pick(g.r, "XX", "GT", "LT"), itoa(g.logAt[k]+1), v)
	case 6:
		g.send("ZADD", k, "INCR", v, itoa(int64(math.MaxInt32)))
	default:
		g.send("DEL", k)
		g.restartLog(k)
	}
}
