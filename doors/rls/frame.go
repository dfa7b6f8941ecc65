package rls

import (
	"encoding/binary"
	"fmt"
)

// The frames' types (RFC 9113, section 6).
const (
	frameData         = 0
	frameHeaders      = 1
	framePriority     = 2
	frameRSTStream    = 3
	frameSettings     = 4
	framePushPromise  = 5
	framePing         = 6
	frameGoAway       = 7
	frameWindowUpdate = 8
	frameContinuation = 9
)

// The frames' flags.
const (
	flagEndStream  = 0x01 // DATA, HEADERS
	flagAck        = 0x01 // SETTINGS, PING
	flagEndHeaders = 0x04
	flagPadded     = 0x08
	flagPriority   = 0x20
)

// The identifiers of settings.
const (
	settingEnablePush        = 2
	settingMaxStreams        = 3
	settingInitialWindow     = 4
	settingMaxFrameSize      = 5
	settingMaxHeaderListSize = 6
)

const (
	preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	frameHead     = 9       // bytes before a frame's payload
	maxFrame      = 1 << 14 // the largest payload accepted, which is also the least that peers accept
	defaultWindow = 1<<16 - 1
	maxWindow     = 1<<31 - 1
	maxStreamID   = 1<<31 - 1
)

// An errorCode is the code of RST_STREAM and GOAWAY (RFC 9113, section 7).
type errorCode uint32

const (
	codeNo              errorCode = 0x0
	codeProtocol        errorCode = 0x1
	codeFlowControl     errorCode = 0x3
	codeStreamClosed    errorCode = 0x5
	codeFrameSize       errorCode = 0x6
	codeRefusedStream   errorCode = 0x7
	codeCancel          errorCode = 0x8
	codeCompression     errorCode = 0x9
	codeEnhanceYourCalm errorCode = 0xb
)

// A connError ends the connection with a GOAWAY.
type connError struct {
	code   errorCode
	reason string
}

// Error returns the reason.
func (e *connError) Error() string {
	return fmt.Sprintf("HTTP/2 error %#x: %s", uint32(e.code), e.reason)
}

// A frame is a frame's header and payload. The payload lies in the read buffer.
type frame struct {
	kind, flags byte
	stream      uint32
	payload     []byte
}

// parseFrame returns the first frame of b and its length in b, which is 0 if b does not contain it whole. A
// frame that is too large fails as soon as its header is there.
func parseFrame(b []byte) (f frame, n int, err *connError) {
	if len(b) < frameHead {
		return f, 0, nil
	}
	size := int(b[0])<<16 | int(b[1])<<8 | int(b[2])
	if size > maxFrame {
		return f, 0, &connError{codeFrameSize, "frame too large"}
	}
	if len(b) < frameHead+size {
		return f, 0, nil
	}
	f = frame{
		kind: b[3], flags: b[4], stream: binary.BigEndian.Uint32(b[5:]) & maxStreamID,
		payload: b[frameHead : frameHead+size],
	}
	return f, frameHead + size, nil
}

// unpad returns the payload of a DATA or HEADERS frame without its padding.
func (f *frame) unpad() ([]byte, *connError) {
	p := f.payload
	if f.flags&flagPadded == 0 {
		return p, nil
	}
	if len(p) == 0 {
		return nil, &connError{codeFrameSize, "padded frame without a length of padding"}
	}
	pad := int(p[0])
	if p = p[1:]; pad > len(p) {
		return nil, &connError{codeProtocol, "more padding than payload"}
	}
	return p[:len(p)-pad], nil
}

// appendFrame appends the header of a frame.
func appendFrame(b []byte, size int, kind, flags byte, stream uint32) []byte {
	b = append(b, byte(size>>16), byte(size>>8), byte(size), kind, flags)
	return binary.BigEndian.AppendUint32(b, stream)
}

// setSize writes the size of the frame whose header begins at b[at:] and that extends to the end of b.
func setSize(b []byte, at int) {
	size := len(b) - at - frameHead
	b[at], b[at+1], b[at+2] = byte(size>>16), byte(size>>8), byte(size)
}

func appendRSTStream(b []byte, stream uint32, code errorCode) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, frameRSTStream, 0, stream), uint32(code))
}

func appendGoAway(b []byte, last uint32, code errorCode, reason string) []byte {
	b = appendFrame(b, 8+len(reason), frameGoAway, 0, 0)
	b = binary.BigEndian.AppendUint32(b, last)
	return append(binary.BigEndian.AppendUint32(b, uint32(code)), reason...)
}

func appendWindowUpdate(b []byte, stream, n uint32) []byte {
	return binary.BigEndian.AppendUint32(appendFrame(b, 4, frameWindowUpdate, 0, stream), n)
}

func appendSetting(b []byte, id uint16, value uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint16(b, id), value)
}
