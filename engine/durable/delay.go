package durable

// A delay slows loading or saving down, so that a test or an operator can watch
// the server meanwhile: key-load-delay and rdb-key-save-delay. It belongs to one
// goroutine.
type delay struct {
	storage   *Storage
	directive string
	ended     func() bool // reports whether what is slowed down is to end
	keys      int64       // since the last wait
}

// key waits as the directive says after each key: that many microseconds, or if
// it is negative one microsecond after that many keys.
func (d *delay) key() {
	us, wait := d.storage.cfg.Int(d.directive), d.storage.options.Delay
	if us < 0 {
		if d.keys++; d.keys < -us {
			return
		}
		d.keys, us = 0, 1
	}
	for us > 0 && wait != nil && !d.ended() {
		slice := min(us, delaySliceUs)
		wait(slice)
		us -= slice
	}
}

// delaySliceUs is how long a delay takes at most to notice that it is to end.
const delaySliceUs = 20_000
