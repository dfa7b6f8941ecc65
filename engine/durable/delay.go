package durable

// A delay slows loading or saving down, so that a test or an operator can watch
// the server meanwhile: key-load-delay and rdb-key-save-delay. It belongs to one
// goroutine.
type delay struct {
	storage   *Storage
	directive string
	keys      int64 // since the last wait
}

// key waits as the directive says after each key: that many microseconds, or if
// it is negative one microsecond after that many keys.
func (d *delay) key() {
	us, wait := d.storage.cfg.Int(d.directive), d.storage.options.Delay
	switch {
	case us == 0 || wait == nil:
	case us > 0:
		wait(us)
	default:
		if d.keys++; d.keys >= -us {
			d.keys = 0
			wait(1)
		}
	}
}
