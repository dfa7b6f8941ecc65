package rls

import (
	"encoding/binary"
	"time"
)

// counters bound what a peer does in a second beside calls that it waits for. They are protected by conn.mu.
type counters struct {
	faults  int
	control int
	second  time.Time // when it began
}

// advance begins a new second if the last has passed.
func (n *counters) advance(now time.Time) {
	if now.Sub(n.second) >= time.Second {
		n.second, n.faults, n.control = now, 0, 0
	}
}

// controlFrame counts a frame that asks for no decision.
func (n *counters) controlFrame() *connError {
	if n.control++; n.control > maxControl {
		return &connError{codeEnhanceYourCalm, "too many frames without requests"}
	}
	return nil
}

// answered allows the control frames that follow an answer.
func (n *counters) answered() { n.control = max(0, n.control-controlPerAnswer) }

// fault counts a stream that was not a request, or is not waited for.
func (n *counters) fault() *connError {
	if n.faults++; n.faults > maxFaults {
		return &connError{codeEnhanceYourCalm, "too many streams reset or malformed"}
	}
	return nil
}

// resetStream sends RST_STREAM for a fault of the peer.
func (c *conn) resetStream(id uint32, code errorCode) *connError {
	c.out.buf = appendRSTStream(c.out.buf, id, code)
	return c.counters.fault()
}

func (c *conn) priority(f *frame) *connError {
	switch {
	case f.stream == 0:
		return &connError{codeProtocol, "PRIORITY on stream 0"}
	case len(f.payload) != 5:
		if s := c.streams.find(f.stream); s != nil {
			c.cancel(s, true)
		}
		return c.resetStream(f.stream, codeFrameSize)
	}
	return c.counters.controlFrame()
}

func (c *conn) ping(f *frame) *connError {
	switch {
	case f.stream != 0:
		return &connError{codeProtocol, "PING on a stream"}
	case len(f.payload) != 8:
		return &connError{codeFrameSize, "PING is not of 8 bytes"}
	case f.flags&flagAck == 0:
		c.out.buf = append(appendFrame(c.out.buf, 8, framePing, flagAck, 0), f.payload...)
	case c.ending.phase == announced && string(f.payload) == string(drainPing[:]):
		c.lastGoAway()
	}
	return c.counters.controlFrame()
}

func (c *conn) goAway(f *frame) *connError {
	switch {
	case f.stream != 0:
		return &connError{codeProtocol, "GOAWAY on a stream"}
	case len(f.payload) < 8:
		return &connError{codeFrameSize, "GOAWAY too short"}
	}
	c.ending.leaving = true
	return c.counters.controlFrame()
}

func (c *conn) settings(f *frame) *connError {
	switch {
	case f.stream != 0:
		return &connError{codeProtocol, "SETTINGS on a stream"}
	case f.flags&flagAck != 0 && len(f.payload) != 0:
		return &connError{codeFrameSize, "acknowledgment of SETTINGS with a payload"}
	case f.flags&flagAck != 0:
		return c.counters.controlFrame()
	case len(f.payload)%6 != 0:
		return &connError{codeFrameSize, "SETTINGS of a wrong size"}
	}
	for p := f.payload; len(p) > 0; p = p[6:] {
		if err := c.setting(binary.BigEndian.Uint16(p), binary.BigEndian.Uint32(p[2:])); err != nil {
			return err
		}
	}
	c.out.buf = appendFrame(c.out.buf, 0, frameSettings, flagAck, 0)
	c.push()
	return c.counters.controlFrame()
}

// setting applies a setting of the peer. Its frame size is not used: no frame sent exceeds the least, 16,384.
func (c *conn) setting(id uint16, v uint32) *connError {
	switch id {
	case settingEnablePush:
		if v > 1 {
			return &connError{codeProtocol, "SETTINGS_ENABLE_PUSH is neither 0 nor 1"}
		}
	case settingMaxFrameSize:
		if v < 1<<14 || v > 1<<24-1 {
			return &connError{codeProtocol, "SETTINGS_MAX_FRAME_SIZE out of range"}
		}
	case settingInitialWindow:
		if v > maxWindow {
			return &connError{codeFlowControl, "SETTINGS_INITIAL_WINDOW_SIZE out of range"}
		}
		return c.windows.resize(v, c.streams.open)
	}
	return nil
}
