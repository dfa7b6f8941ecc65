package doctor

import (
	"hash/maphash"
	"sync"

	"github.com/zlimit/zlimit/resp"
)

// keysCalls counts the calls of KEYS by client.
type keysCalls struct {
	mu sync.Mutex
	by [16]struct { // protected by mu; by hash
		client  uint64
		sinceMs int64
		calls   int64
	}
}

// keysPerMinute is how many calls of KEYS a client makes in a minute at least, if it makes
// them in a loop and not at a prompt.
const keysPerMinute, minuteMs = 10, 60_000

// keysInALoop finds clients that call KEYS again and again. Connections with one name count
// together.
func keysInALoop(r *rule, o *call) {
	if o.reply.IsError() {
		return
	}
	client := maphash.String(o.client.doctor.seed, o.client.label())
	calls := o.client.memory.keys.count(client, o.ctx.NowMs)
	switch {
	case calls == keysPerMinute:
		o.found(r, o.args[1], keysPerMinute)
	case calls > keysPerMinute:
		o.found(r, o.args[1], 1)
	}
}

// count counts a call, and returns the client's calls in a minute.
func (k *keysCalls) count(client uint64, nowMs int64) int64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	c := &k.by[client%uint64(len(k.by))]
	if c.client != client || nowMs-c.sinceMs > minuteMs {
		c.client, c.sinceMs, c.calls = client, nowMs, 0
	}
	c.calls++
	return c.calls
}

// A scriptText is a script whose text a client has sent.
type scriptText struct {
	hash  uint64
	times int64
}

// sentTexts are the scripts whose texts a client has sent last.
type sentTexts struct {
	noScript bool // the next one is the answer to NOSCRIPT
	of       [4]scriptText
}

// add returns how often a text was sent.
func (s *sentTexts) add(hash uint64) int64 {
	t := &s.of[hash%uint64(len(s.of))]
	if t.hash != hash {
		*t = scriptText{hash: hash}
	}
	t.times++
	return t.times
}

// textsSent is how often a client sends a text if it does so for each call.
const textsSent = 10

// evalEachTime finds clients that send the text of a script again and again. EVAL after
// NOSCRIPT does not count.
func evalEachTime(r *rule, o *call) {
	cl := o.client
	if cl.doctor.seen[o.cmd.ID()].hashed {
		cl.texts.noScript = o.reply.IsError() && isNoScript(o.reply)
		return
	}
	known := cl.texts.noScript
	cl.texts.noScript = false
	if known {
		return
	}
	var key []byte
	if len(o.args) > 3 && string(o.args[2]) != "0" {
		key = o.args[3]
	}
	o.foundAfter(r, key, textsSent, cl.texts.add(maphash.Bytes(cl.doctor.seed, o.args[1])))
}

func isNoScript(reply resp.Value) bool {
	const code = "NOSCRIPT"
	text := reply.Str()
	return len(text) >= len(code) && text[:len(code)] == code
}
