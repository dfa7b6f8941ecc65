package commands

import (
	"strings"

	"github.com/zlimit/zlimit/resp"
)

// ErrCrossSlot is the error of a call whose keys are in several slots.
var ErrCrossSlot = resp.Error("CROSSSLOT Keys in request don't hash to the same slot")

// NotInCluster returns the error of a command that a node of a cluster refuses.
func NotInCluster(c *Command) resp.Value {
	return resp.Error("ERR " + strings.ToUpper(c.Name) + " is not allowed in cluster mode")
}

// Slots is the number of hash slots of a cluster, a power of two.
const Slots = 1 << 14

// NoSlot is in the place of the slot of a call without keys.
const NoSlot = -1

// SlotOf returns the slot of the keys and shard channels of a call, NoSlot if it has none. ok is false if
// they are in several slots. The number of arguments is right.
func (c *Command) SlotOf(args [][]byte) (slot int, ok bool) {
	if len(c.Keys) == 1 && c.Keys[0].isOneKey() {
		return KeySlot(args[c.Keys[0].First]), true
	}
	slot, ok = NoSlot, true
	add := func(key []byte) {
		s := KeySlot(key)
		ok = ok && (slot == NoSlot || slot == s)
		slot = s
	}
	for i := range c.Keys {
		k := &c.Keys[i]
		first, end, step := k.keyRange(args)
		if k.KeyNum && first == end { // no keys, or a number that Redis reads in another way
			slot, ok = NoSlot, true
			for _, use := range c.AppendKeyUses(nil, args) {
				add(use.Key)
			}
			return slot, ok
		}
		for at := first; at < end; at += step {
			add(args[at])
		}
		if k.Unslotted {
			continue
		}
		var room [1 << 10]byte
		if name := k.appendDerived(room[:0], args); name != nil {
			add(name)
		}
	}
	return slot, ok
}

// KeySlot returns the slot of a key: the CRC of its hash tag or, without one, of the
// whole key. The tag is between the first opening brace and the next closing one, if
// it is not empty.
func KeySlot(key []byte) int {
	tagged := key
	for i, ch := range key {
		if ch != '{' {
			continue
		}
		for j := i + 1; j < len(key); j++ {
			if key[j] == '}' {
				if j > i+1 {
					tagged = key[i+1 : j]
				}
				break
			}
		}
		break // only the first opening brace counts
	}
	return int(crc16(tagged)) & (Slots - 1)
}

// crc16 returns the CRC-16/XMODEM: polynomial x^16+x^12+x^5+1, initial value 0, most
// significant bit first.
func crc16(b []byte) uint16 {
	crc := uint16(0)
	for _, ch := range b {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^ch]
	}
	return crc
}

// crcTable has the CRC of each byte.
var crcTable = func() (table [256]uint16) {
	const polynomial = 0x1021
	for i := range table {
		crc := uint16(i) << 8
		for range 8 {
			carry := crc >> 15
			crc = crc<<1 ^ carry*polynomial
		}
		table[i] = crc
	}
	return table
}()
