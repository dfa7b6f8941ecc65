package doctor

import "github.com/zlimit/zlimit/store"

// A window is what the doctor remembers of a sorted set that a limiter may use.
type window struct {
	hash     uint64
	windowMs int64 // its length; 0: unknown
	source   source

	cutoff, hit mark // the last of one client that was not compared with the other
	untrimmed   int  // hits since hits were last removed by score
	counted     bool // somebody has counted its members

	uses        uses
	last, count touch // the last hit that was added and not counted, and the last count
	repeats     uint8 // hits in a row whose member was there
}

// A source is what the length of a window was computed from.
type source uint8

const (
	byLifetime  source = iota // the time to live of the key
	byTwoClocks               // a client's instant and the server's
	byClient                  // two instants of one client
)

// A touch is a call of a client on a key.
type touch struct {
	client int64 // 0: none
	sentMs int64
}

// by reports whether a client has made the call no more than a second ago.
func (t *touch) by(client, nowMs int64) bool {
	return t.client == client && nowMs-t.sentMs <= 1000
}

// A mark is an instant that a client has sent.
type mark struct {
	touch
	at instant
}

// window returns what is remembered of a key; nil: nothing.
func (m *shardMemory) window(hash uint64) *window {
	if w := &m.windows[hash%uint64(len(m.windows))]; w.hash == hash {
		return w
	}
	return nil
}

// window returns what is remembered of the call's key.
func (o *call) window() *window {
	w := &o.shard.windows[o.hash%uint64(len(o.shard.windows))]
	if w.hash != o.hash {
		*w = window{hash: o.hash}
	}
	return w
}

// skewedHits is how many hits in a row must have wrong instants: one that waited on its way
// to the server says nothing about a clock.
const skewedHits = 3

// shortestMs is the shortest window that is computed from an instant of a client and the
// server's clock: a command may have waited.
const shortestMs = 500

// clockSkew compares the instants of hits with the server's clock. A client computes both
// the score of a hit and the cutoff, the end of the hits that it removes or does not count,
// from its own clock; what lies between them is the window.
func clockSkew(r *rule, o *call) {
	cl, now := o.client, o.ctx.NowMs
	switch {
	case o.reply.IsError():
		return
	case o.cmd.Name == "zadd":
		h := o.zaddHit()
		if !h.timed {
			return
		}
		w := o.window()
		w.hit = mark{touch{cl.id, now}, h.at}
	case o.cmd.Group != "sorted-set":
		sliceSkew(r, o)
		return
	default:
		end := 2 // ZCOUNT counts from there on
		if o.cmd.Name == "zremrangebyscore" {
			end = 3
		}
		at, ok := parseBound(o.args[end], now)
		if !ok {
			return
		}
		w := o.window()
		w.cutoff = mark{touch{cl.id, now}, at}
		if length := now - at.ms; length >= shortestMs && (w.windowMs == 0 || w.source == byTwoClocks) {
			w.windowMs, w.source = length, byTwoClocks
		}
	}
	w := o.window()
	if !w.hit.by(cl.id, now) || !w.cutoff.by(cl.id, now) {
		return
	}
	score, cutoff := w.hit.at, w.cutoff.at
	w.hit, w.cutoff = mark{}, mark{}
	length := score.ms - cutoff.ms
	if length <= 0 {
		return
	}
	w.windowMs, w.source = length, byClient
	tolerance := length / 10
	if !differs(score, now, tolerance) || !differs(cutoff, now, tolerance) {
		// The clocks agree; or the score is a deadline, and what is removed has passed it.
		cl.clock.hits = 0
		return
	}
	cl.clock.hits++
	o.foundAfter(r, o.key, skewedHits, cl.clock.hits)
}

// differs reports whether an instant is more than tolerance away from now.
func differs(t instant, nowMs, tolerance int64) bool {
	ahead := t.aheadMs(nowMs)
	return ahead > tolerance || -ahead > tolerance
}

// A window is examined after so many hits without removal, and has the problem if its
// oldest is older than so many windows.
const (
	hitsUntrimmed    = 32
	windowsUntrimmed = 10
)

// untrimmedWindow finds sorted sets of which members are counted and none is removed.
func untrimmedWindow(r *rule, o *call) {
	if o.reply.IsError() {
		return
	}
	switch o.cmd.Name {
	case "zremrangebyscore":
		o.window().untrimmed = 0
		return
	case "zcard", "zcount":
		o.window().counted = true
		return
	case "expire", "pexpire":
		o.learnWindow()
		return
	}
	h := o.zaddHit()
	if !h.timed {
		return
	}
	w := o.window()
	before := w.untrimmed
	w.untrimmed += int(h.added)
	if w.untrimmed/hitsUntrimmed == before/hitsUntrimmed || w.windowMs == 0 || !w.counted {
		return
	}
	if oldest, ok := o.oldestHit(); ok && o.ctx.NowMs-oldest.ms > windowsUntrimmed*w.windowMs {
		o.found(r, o.key, int64(w.untrimmed-before/hitsUntrimmed*hitsUntrimmed))
	}
}

// learnWindow takes the time to live of a key for its window, if no other length is known.
func (o *call) learnWindow() {
	w := o.shard.window(o.hash)
	if w == nil || w.windowMs != 0 {
		return
	}
	n, ok := store.ParseInt(o.args[2])
	if !ok || n <= 0 || n > plausibleMs {
		return
	}
	if o.cmd.Name == "expire" {
		n *= 1000
	}
	w.windowMs, w.source = n, byLifetime
}

// oldestHit returns the smallest score of the sorted set in the call's key, if it is an
// instant.
func (o *call) oldestHit() (instant, bool) {
	n := o.ctx.DB.View(o.key, o.ctx.NowMs)
	if n == nil {
		return instant{}, false
	}
	set := store.ZSetOf(n)
	if set == nil || set.Len() < hitsUntrimmed {
		return instant{}, false
	}
	return instantOf(set.At(0).Score, o.ctx.NowMs)
}
