package commands

import "github.com/zlimit/zlimit/store"

// keyRange returns a spec's positions in args: from first up to, not including, end, in
// steps. The range lies within args whatever a client's count is, and is empty if the
// count is invalid.
func (k *KeySpec) keyRange(args [][]byte) (first, end, step int) {
	n := len(args)
	if k.Derive != nil {
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
		return k.countedRange(count, args)
	}
	last := k.First + k.Last
	if k.Last < 0 {
		last = n + k.Last
	}
	return k.First, min(last+1, n), k.Step
}

// countedRange returns the range of count keys after their count. It is empty if there are
// fewer, which the command will refuse.
func (k *KeySpec) countedRange(count int64, args [][]byte) (first, end, step int) {
	step = k.Step
	if k.StepIn != nil {
		step = k.StepIn(args)
	}
	if count <= 0 || count > int64((len(args)-k.First-1)/step) {
		return 0, 0, 1
	}
	return k.First + 1, k.First + 1 + int(count)*step, step
}

// isOneKey reports whether the spec is a single key at a fixed position, as in almost
// every call on a hot path.
func (k *KeySpec) isOneKey() bool { return k.Last == 0 && !k.KeyNum && !k.IsUnknown() }

// IsUnknown reports whether only the server can find the key.
func (k *KeySpec) IsUnknown() bool { return k.Find != nil || k.Derive != nil }

// appendDerived appends the name of a key that is no argument. It returns nil if the
// spec has no Derive, or the call has no such key.
func (k *KeySpec) appendDerived(dst []byte, args [][]byte) []byte {
	if k.Derive == nil {
		return nil
	}
	parts := k.Derive(args)
	if parts[0] == nil {
		return nil
	}
	return parts.Append(dst)
}

// AppendKeys appends the keys of a call to dst. They alias args, whose number must be
// right.
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

// KeyPositions returns the positions of keys in a call with n arguments. If more is
// true, other arguments may follow, and tail reports whether keys may be among them. ok
// is false if the positions depend on the arguments.
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
		if k.KeyNum || k.IsUnknown() || end > n && !more {
			return nil, false, false
		}
		tail = tail || end > n
		for p := k.First; p < min(end, n); p += k.Step {
			at = append(at, p)
		}
	}
	return at, tail, true
}

// Shards returns the shards that a call needs. The number of args must be right.
func (c *Command) Shards(args [][]byte) store.ShardSet {
	if len(c.Keys) == 1 && c.Keys[0].isOneKey() && c.Flags&AllShards == 0 {
		return store.ShardOf(args[c.Keys[0].First])
	}
	return c.manyShards(args)
}

// manyShards is Shards for calls that do not have exactly one key.
func (c *Command) manyShards(args [][]byte) store.ShardSet {
	if c.Flags&AllShards != 0 || c.Reaches != nil && c.Reaches(args) {
		return store.AllShards
	}
	var set store.ShardSet
	var room [1 << 10]byte
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

// FirstKey returns the position of a call's first key, or 0 if it has none or its position varies.
func (c *Command) FirstKey() int {
	if len(c.Keys) == 0 || c.Keys[0].IsUnknown() {
		return 0
	}
	if c.Keys[0].KeyNum {
		return c.Keys[0].First + 1
	}
	return c.Keys[0].First
}
