package page

import "time"

// Reading lists the commands that the page may run.
var Reading = reading

// Policy is the Content-Security-Policy of the page.
var Policy = policy

// AppendReply is appendReply.
var AppendReply = appendReply

// IsOwnName is isOwnName.
var IsOwnName = isOwnName

// TickBy makes streams follow a channel of the test instead of real time.
func (p *Page) TickBy(ticks <-chan time.Time) {
	p.ticks = func() (<-chan time.Time, func()) { return ticks, func() {} }
}

// WriteWithin bounds how long a viewer may take to receive an event.
func (p *Page) WriteWithin(timeout time.Duration) { p.timeout = timeout }
