package engine

// A delay slows down loading or saving, so that a test or an operator can look
// at a server meanwhile: key-load-delay and rdb-key-save-delay. It belongs to one
// goroutine.
type delay struct {
	engine    *Engine
	directive string
	keys      int64 // since the last wait
}

// key waits as the directive says after each key: for so many microseconds, or
// where it is negative for one microsecond after so many keys.
func (d *delay) key() {
	us, wait := d.engine.cfg.Int(d.directive), d.engine.options.Delay
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
