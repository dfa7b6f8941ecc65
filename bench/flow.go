package main

import (
	"fmt"
	"strconv"
	"strings"
)

// Placeholders in a flow's commands that are rewritten in every request. They have a
// fixed width, so that a batch is assembled once and only these bytes change. Others,
// {limit}, {window} in milliseconds, {seconds} and {cost}, are those of the row's quota.
const (
	keySlot = "{key}" // the key of this request, or a part of several, as in {{key}}:tokens
	nowSlot = "{now}" // the client's instant in milliseconds
	cutSlot = "{cut}" // that instant less the window
	idSlot  = "{id}"  // a number that no other request of a load has
)

// scripts holds the sources by the placeholders of their SHA1.
var scripts = map[string]string{
	"{sha}":     script, // the documents'
	"{library}": libraryScript,
	"{costs}":   costScript,
	"{take}":    takeScript,
	"{correct}": correctScript,
}

// A key is "rl:", five digits of the generation, ":" and seven of the number: 16 bytes,
// like a limiter's key that names a user.
const (
	keyPrefix    = "rl:"
	generationAt = len(keyPrefix)
	numberAt     = generationAt + 5 + 1
	keyWidth     = numberAt + 7
	msWidth      = 13
)

// A step is what a client sends before it waits: commands with their arguments
// separated by spaces (no argument of the rows has one), and the lines of all replies.
type step struct {
	commands []string
	replies  []line
}

// A flow is one limiter decision or one plain command: steps in order, on one key, at
// one instant.
type flow []step

// A slot is a place in a step's request that changes between requests.
type slot struct {
	at   int
	what what
}

// A what is the kind of a slot.
type what uint8

const (
	fixed what = iota
	key
	now
	cut
	id
)

// A request is a step of n flows together, assembled; see batch.
type request struct {
	buf     []byte
	stride  int // length of one flow in bytes
	slots   []slot
	replies []line
}

// A batch is what a connection sends repeatedly: for every step of the flow the
// requests of pipeline flows. It belongs to one connection.
type batch struct {
	steps    []request
	pipeline int
}

// assemble builds the batch of a flow at a pipeline depth.
func assemble(f flow, pipeline int, q quota) batch {
	replaced := []string{
		"{limit}", strconv.FormatInt(q.limit*max(q.cost, 1), 10),
		"{cost}", strconv.FormatInt(max(q.cost, 1), 10),
		"{window}", strconv.FormatInt(q.windowMs, 10),
		"{seconds}", strconv.FormatInt(q.windowMs/1000, 10),
	}
	for slot, source := range scripts {
		replaced = append(replaced, slot, shaOf(source))
	}
	constants := strings.NewReplacer(replaced...)
	b := batch{pipeline: pipeline}
	for _, s := range f {
		var one []byte
		var slots []slot
		for _, command := range s.commands {
			args := strings.Fields(command)
			one = fmt.Appendf(one, "*%d\r\n", len(args))
			for _, arg := range args {
				what, at := map[string]what{nowSlot: now, cutSlot: cut, idSlot: id}[arg], 0
				if i := strings.Index(arg, keySlot); i >= 0 {
					what, at = key, i
				}
				switch what {
				case key:
					arg = strings.Replace(arg, keySlot, keyPrefix+"00000:0000000", 1)
				case now, cut, id:
					arg = strings.Repeat("0", msWidth)
				default:
					arg = constants.Replace(arg)
				}
				one = fmt.Appendf(one, "$%d\r\n", len(arg))
				if what != fixed {
					slots = append(slots, slot{len(one) + at, what})
				}
				one = append(append(one, arg...), "\r\n"...)
			}
		}
		r := request{stride: len(one), slots: slots, replies: s.replies}
		for range pipeline {
			r.buf = append(r.buf, one...)
		}
		b.steps = append(b.steps, r)
	}
	return b
}

// fill writes the next keys and the instant into every step.
func (b *batch) fill(keys *picker, t *instant) {
	for i := range b.pipeline {
		generation, number := keys.next()
		for s := range b.steps {
			r := &b.steps[s]
			base := i * r.stride
			for _, slot := range r.slots {
				at := r.buf[base+slot.at:]
				switch slot.what {
				case key:
					digits(at[generationAt:numberAt-1], generation)
					digits(at[numberAt:keyWidth], number)
				case now:
					copy(at, t.now[:])
				case cut:
					copy(at, t.cut[:])
				case id:
					digits(at[:msWidth], uint64(keys.count))
				}
			}
		}
	}
}

// An instant is a time in text, as in requests. Rewriting it only when the millisecond
// changes keeps the client cheap.
type instant struct {
	nowMs    int64
	now, cut [msWidth]byte
}

// set sets the instant to nowMs.
func (t *instant) set(nowMs, windowMs int64) {
	if t.nowMs == nowMs {
		return
	}
	t.nowMs = nowMs
	digits(t.now[:], uint64(nowMs))
	digits(t.cut[:], uint64(nowMs-windowMs))
}

// digits writes value right-aligned with leading zeros and truncates it on the left.
func digits(to []byte, value uint64) {
	for i := len(to) - 1; i >= 0; i-- {
		to[i] = '0' + byte(value%10)
		value /= 10
	}
}

// A picker chooses the key of each request. It is deterministic: both servers get the
// same keys in the same order in every round.
type picker struct {
	keys  uint64
	state uint64
	// inOrder picks the keys in sequence, for filling.
	inOrder bool
	// only, if not 0, picks a single key that no other picker uses.
	only uint64
	// perGeneration is for how many requests the keys have the same generation; 0 means
	// forever. See row.renew.
	perGeneration int64
	count         int64
}

func uniform(keys uint64, perGeneration int64) *picker {
	return &picker{keys: keys, state: 0x9e3779b97f4a7c15, perGeneration: perGeneration}
}

func (p *picker) next() (generation, number uint64) {
	if p.perGeneration > 0 {
		generation = uint64(p.count / p.perGeneration)
	}
	n := uint64(p.count)
	p.count++
	switch {
	case p.only != 0:
		return generation, p.only
	case p.inOrder:
		return generation, n % p.keys
	}
	// xorshift64*, with its high half scaled to the number of keys.
	p.state ^= p.state >> 12
	p.state ^= p.state << 25
	p.state ^= p.state >> 27
	return generation, ((p.state * 0x2545f4914f6cdd1d >> 32) * p.keys) >> 32
}
