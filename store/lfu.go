package store

import "math/rand/v2"

// Under LFU a stamp is, from the highest bits on, the minute of the last decay, modulo 2^16, and a counter of
// uses that grows logarithmically and decays with time, as in Redis.

// lfu has the parameters of the counter.
type lfu struct {
	logFactor    int64 // lfu-log-factor: the greater, the slower the counter grows
	decayMinutes int64 // lfu-decay-time: the counter falls by one in that time; 0: it does not
}

const (
	lfuInitial = 5 // the counter of a new key, so that it is not evicted at once
	lfuMax     = 255
	lfuMinutes = 1<<16 - 1
)

func lfuStamp(second uint32, counter uint8) uint32 {
	return second/60&lfuMinutes<<8 | uint32(counter)
}

// counter returns the counter of a stamp, decayed.
func (p lfu) counter(stamp, second uint32) uint8 {
	counter := int64(stamp & 0xff)
	if p.decayMinutes == 0 {
		return uint8(counter)
	}
	now, then := int64(second/60&lfuMinutes), int64(stamp>>8)
	elapsed := now - then
	if now < then {
		elapsed = lfuMinutes - then + now
	}
	return uint8(max(counter-elapsed/p.decayMinutes, 0))
}

// used returns the stamp of a key that is used once more: the counter grows with a probability that falls
// with it.
func (p lfu) used(stamp, second uint32) uint32 {
	counter := p.counter(stamp, second)
	if counter < lfuMax {
		beyond := max(int64(counter)-lfuInitial, 0)
		if rand.Float64() < 1/float64(beyond*p.logFactor+1) {
			counter++
		}
	}
	return lfuStamp(second, counter)
}

// Frequency returns the key's counter of uses, for OBJECT FREQ; ok is false if stamps are not frequencies.
func (db *DB) Frequency(n *Node, nowMs int64) (count int64, ok bool) {
	how := db.store.stamping.Load()
	if how.kind != StampFrequency {
		return 0, false
	}
	return int64(how.lfu.counter(n.Stamp(), uint32(nowMs/1000))), true
}

// SetFrequency sets the key's counter of uses, if stamps are frequencies.
func (db *DB) SetFrequency(n *Node, count uint8, nowMs int64) {
	if db.store.stampKind() == StampFrequency {
		n.SetStamp(lfuStamp(uint32(nowMs/1000), count))
	}
}
