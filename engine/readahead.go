package engine

import (
	"github.com/zlimit/zlimit/commands"
	"github.com/zlimit/zlimit/store"
)

// ReadAheadCalls is how many calls ReadAhead takes at most.
const ReadAheadCalls = store.ReadAheadKeys

// cachedBytes is the size of the keyspace below which reading ahead costs more than it
// saves, because most of it is in the processor's cache anyway.
const cachedBytes = 4 << 20

// Arrived is the beginning of a command that has arrived and will run soon: the first Len of its arguments.
type Arrived struct {
	Args [4][]byte
	Len  int
}

// ReadsAhead reports whether ReadAhead is worth calling: not in a transaction, and not while the processor's
// cache holds the keyspace.
func (s *Session) ReadsAhead() bool {
	return !s.tx.open && s.engine.store.UsedEstimate() >= cachedBytes
}

// ReadAhead reads the memory of the first keys of commands that have arrived, so that the processor has it in
// its cache when they run; see store.Store.ReadAhead. It changes nothing. The commands may turn out to be
// refused, or to run in another database: then it was for nothing.
func (s *Session) ReadAhead(calls []Arrived) {
	var room [ReadAheadCalls][]byte
	if keys := s.keysAhead(room[:0], calls); len(keys) > 1 {
		s.engine.store.ReadAhead(s.ctx.DBIndex, keys)
	}
}

// keysAhead appends the first key of each call, up to ReadAheadCalls. Calls in a row
// that repeat a key, as INCR and EXPIRE do, have it once.
func (s *Session) keysAhead(keys [][]byte, calls []Arrived) [][]byte {
	var cmd *commands.Command
	var name []byte // that of cmd: most pipelines repeat one command
	for i := range calls {
		a := &calls[i]
		if string(a.Args[0]) != string(name) {
			name = a.Args[0]
			cmd = s.engine.table.Lookup(name)
		}
		if cmd == nil {
			continue
		}
		at := cmd.FirstKey()
		if at == 0 || at >= a.Len || len(keys) == ReadAheadCalls {
			continue
		}
		key := a.Args[at]
		if n := len(keys); n == 0 || string(keys[n-1]) != string(key) {
			keys = append(keys, key)
		}
	}
	return keys
}
