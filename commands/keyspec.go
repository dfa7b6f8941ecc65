package commands

import "github.com/zlimit/zlimit/store"

// keyRange turns a spec into positions in args: from first up to, not
// including, end, in steps. Counts are the client's word: whatever they say,
// the range lies within args, and is empty where they make no sense.
func (k *KeySpec) keyRange(args [][]byte) (first, end, step int) {
	n := len(args)
	if k.Tail != nil {
		return 0, 0, 1
	}
	if k.Find != nil {
		if first = k.Find(args); first == 0 {
			return 0, 0, 1
		}
		return first, first + 1, 1
	}
	if k.KeyNum {
		if k.First >= n {
			return 0, 0, 1
		}
		count, ok := parseInt(args[k.First])
		if !ok {
			return 0, 0, 1
		}
		return k.countedRange(count, n)
	}
	last := k.First + k.Last
	if k.Last < 0 {
		last = n + k.Last
	}
	return k.First, min(last+1, n), k.Step
}

// countedRange is the range of count keys behind their count, of n arguments.
// A count that they cannot fill is as good as none: the command will refuse it.
func (k *KeySpec) countedRange(count int64, n int) (first, end, step int) {
	if count <= 0 || count > int64((n-k.First-1)/k.Step) {
		return 0, 0, 1
	}
	return k.First + 1, k.First + 1 + int(count)*k.Step, k.Step
}

// isOneKey reports whether the spec is a single key at a fixed place. Almost
// every call on a hot path names its keys so.
func (k *KeySpec) isOneKey() bool { return k.Last == 0 && !k.KeyNum && !k.isUnknown() }

// isUnknown reports whether only the server can tell where the key stands.
func (k *KeySpec) isUnknown() bool { return k.Find != nil || k.Tail != nil }

// appendDerived appends the name of a key that stands nowhere among the
// arguments. It returns nil where the spec is of another kind, and where the
// call names no such key.
func (k *KeySpec) appendDerived(dst []byte, args [][]byte) []byte {
	if k.Tail == nil {
		return nil
	}
	tail := k.Tail(args)
	if tail == nil {
		return nil
	}
	return append(append(append(dst, args[k.First]...), k.Infix...), tail...)
}

// AppendKeys appends the keys that a call names to dst; they alias args, whose
// number the arity allows.
func (c *Command) AppendKeys(dst, args [][]byte) [][]byte {
	if len(c.Keys) == 1 && c.Keys[0].isOneKey() {
		return append(dst, args[c.Keys[0].First])
	}
	for i := range c.Keys {
		first, end, step := c.Keys[i].keyRange(args)
		for at := first; at < end; at += step {
			dst = append(dst, args[at])
		}
		if name := c.Keys[i].appendDerived(nil, args); name != nil {
			dst = append(dst, name)
		}
	}
	return dst
}

// KeyPositions returns where a call with n arguments names keys, or might if
// more is true: then other arguments may follow, and tail says that keys may be
// among them. ok is false where the positions depend on what arguments say.
func (c *Command) KeyPositions(n int, more bool) (at []int, tail, ok bool) {
	for i := range c.Keys {
		k := &c.Keys[i]
		end := k.First + k.Last + 1
		if k.Last < 0 {
			if end = n; !more {
				end = n + k.Last + 1
			}
			tail = tail || more
		}
		if k.KeyNum || k.isUnknown() || end > n && !more {
			return nil, false, false
		}
		tail = tail || end > n
		for p := k.First; p < min(end, n); p += k.Step {
			at = append(at, p)
		}
	}
	return at, tail, true
}

// Shards returns the shards that must be locked while args, whose number the
// arity allows, run.
func (c *Command) Shards(args [][]byte) store.ShardSet {
	if len(c.Keys) == 1 && c.Keys[0].isOneKey() && c.Flags&AllShards == 0 {
		return store.ShardOf(args[c.Keys[0].First])
	}
	return c.manyShards(args)
}

// manyShards is Shards for the calls that do not name exactly one key.
func (c *Command) manyShards(args [][]byte) store.ShardSet {
	if c.Flags&AllShards != 0 || c.Reaches != nil && c.Reaches(args) {
		return store.AllShards
	}
	var set store.ShardSet
	var room [holdRoom]byte
	for i := range c.Keys {
		first, end, step := c.Keys[i].keyRange(args)
		for at := first; at < end; at += step {
			set |= store.ShardOf(args[at])
		}
		if name := c.Keys[i].appendDerived(room[:0], args); name != nil {
			set |= store.ShardOf(name)
		}
	}
	return set
}
