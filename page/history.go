package page

import (
	"strconv"
	"sync"

	"github.com/zlimit/zlimit/engine/info"
)

// historyLength is how many samples a history keeps, one a second: the five minutes that the charts show.
const historyLength = 300

// A history is what the engine's figures were during the last minutes, so that charts are
// filled when a viewer comes. It takes 17 KB.
type history struct {
	mu      sync.Mutex
	samples [historyLength]info.Sample // protected by mu, as is the next one; a ring
	taken   int                        // so far
}

func (h *history) add(s info.Sample) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.samples[h.taken%historyLength] = s
	h.taken++
}

// appendJSON appends the samples, the oldest first, as arrays.
func (h *history) appendJSON(b []byte) []byte {
	h.mu.Lock()
	defer h.mu.Unlock()
	b = append(b, '[')
	for i := max(0, h.taken-historyLength); i < h.taken; i++ {
		s := &h.samples[i%historyLength]
		if b[len(b)-1] == ']' {
			b = append(b, ',')
		}
		for k, n := range [...]int64{s.Us, s.Allowed, s.Denied, s.Calls, s.CallsUs, s.Used, s.Resident} {
			b = append(b, "[,"[min(k, 1)])
			b = strconv.AppendInt(b, n, 10)
		}
		b = append(b, ']')
	}
	return append(b, ']')
}

// Sample adds the present figures to those that new viewers are sent first.
func (p *Page) Sample() { p.past.add(p.Engine.Facts().Sample()) }

// Run samples once a second, until Close.
func (p *Page) Run() {
	ticks, stop := p.ticks()
	defer stop()
	for {
		p.Sample()
		select {
		case <-ticks:
		case <-p.ended.Done():
			return
		}
	}
}

// appendHistory appends an event with the samples. They are figures of INFO, so whoever may not call it gets
// none.
func (s *stream) appendHistory(b []byte, past *history) []byte {
	command := []string{"info"}
	if !s.client.has(command) || !s.client.permits(command) {
		return b
	}
	b = append(b, "event: history\ndata: {\"reply\":{\"run_id\":"...)
	b = appendString(b, s.client.engine.Facts().RunID)
	b = append(b, ",\"samples\":"...)
	return append(past.appendJSON(b), "}}\n\n"...)
}
