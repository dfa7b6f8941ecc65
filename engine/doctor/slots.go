package doctor

import (
	"hash/maphash"

	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/resp"
	"github.com/zlimit/zlimit/store"
)

// scriptKeys are the first keys that the calls of a script have used.
type scriptKeys struct {
	n      int
	hashes [8]uint64
	ends   [8]int // of the names
	names  []byte // each up to maxLastingName bytes; longer ones are not remembered
}

func (s *scriptKeys) add(hash uint64, key []byte) {
	for _, h := range s.hashes[:s.n] {
		if h == hash {
			return
		}
	}
	if s.n == len(s.hashes) || len(key) > maxLastingName {
		return
	}
	if s.n == 0 {
		s.names = s.names[:0]
	}
	s.names = append(s.names, key...)
	s.hashes[s.n], s.ends[s.n] = hash, len(s.names)
	s.n++
}

// key returns the name of a key.
func (s *scriptKeys) key(i int) []byte {
	start := 0
	if i > 0 {
		start = s.ends[i-1]
	}
	return s.names[start:s.ends[i]]
}

// execKeys are the keys of an EXEC.
type execKeys struct {
	any, crossed bool
	first        uint64 // the hash of the first one
	slot         int    // its slot
}

// cross reports whether a key is the first in another slot than one before it.
func (e *execKeys) cross(hash uint64, key []byte) bool {
	switch {
	case !e.any:
		*e = execKeys{any: true, first: hash, slot: commands.KeySlot(key)}
	case e.crossed, e.first == hash:
	case commands.KeySlot(key) != e.slot:
		e.crossed = true
		return true
	}
	return false
}

// mostKeys is how many keys of a script are looked at.
const mostKeys = 16

// crossSlot finds scripts and transactions that a cluster refuses: their keys are in several
// slots, or a script uses one that is in the slot of no declared key.
func crossSlot(r *rule, o *call) {
	if o.key == nil {
		o.scriptSlots(r)
		return
	}
	if !o.ctx.Mode.Is(commands.Final) || o.ctx.Mode.Is(commands.InScript) {
		return
	}
	if o.client.exec.cross(o.keyHash, o.key) {
		o.found(r, o.key, 1)
	}
}

// endScript is called when a script has ended.
func (cl *Client) endScript() {
	cl.script.n = 0
	cl.begun++
	cl.turns.next()
}

// hasOneSlot reports whether a script has run that was given one key or none.
func hasOneSlot(args [][]byte, reply resp.Value) bool {
	return !reply.IsError() && len(args[2]) == 1 && args[2][0] <= '1'
}

// scriptSlots looks at the keys of a script that has ended.
func (o *call) scriptSlots(r *rule) {
	cl := o.client
	used := &cl.script
	defer cl.endScript()
	n, ok := store.ParseInt(o.args[2])
	if !ok || n < 0 || n > int64(len(o.args)-3) {
		return // the script has not run
	}
	declared := o.args[3 : 3+min(n, mostKeys)]
	for i := 1; i < len(declared); i++ {
		if commands.KeySlot(declared[i]) != commands.KeySlot(declared[0]) {
			o.found(r, declared[i], 1)
			return
		}
	}
	if n > mostKeys {
		return
	}
next:
	for i := range used.n {
		for _, key := range declared {
			if maphash.Bytes(cl.doctor.seed, key) == used.hashes[i] {
				continue next
			}
		}
		if key := used.key(i); n == 0 || commands.KeySlot(key) != commands.KeySlot(declared[0]) {
			o.found(r, key, 1)
			return
		}
	}
}
