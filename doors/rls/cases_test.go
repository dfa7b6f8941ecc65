package rls

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/zlimit/zlimit/scenario"
)

// The names that cases have for kinds of frames, their flags and codes.
var (
	frameKinds = []string{
		"DATA", "HEADERS", "PRIORITY", "RST_STREAM", "SETTINGS", "PUSH_PROMISE", "PING", "GOAWAY",
		"WINDOW_UPDATE", "CONTINUATION",
	}
	flagNames = map[string]byte{
		"": 0, "END_STREAM": flagEndStream, "ACK": flagAck, "END_HEADERS": flagEndHeaders,
		"PADDED": flagPadded, "PRIORITY": flagPriority,
	}
	codeNames = map[errorCode]string{
		codeNo: "NO_ERROR", codeProtocol: "PROTOCOL_ERROR", codeFlowControl: "FLOW_CONTROL_ERROR",
		codeStreamClosed: "STREAM_CLOSED", codeFrameSize: "FRAME_SIZE_ERROR",
		codeRefusedStream: "REFUSED_STREAM", codeCompression: "COMPRESSION_ERROR",
		codeEnhanceYourCalm: "ENHANCE_YOUR_CALM",
	}
)

// TestCases runs testdata/*.cases, in the format of package scenario, on connections of newPeer. A command
// sends a frame. The reply is what the server sends then, but for WINDOW_UPDATE.
//
//	CALL STREAM [NAME VALUE ...]            a whole call with fields that differ
//	SEND STREAM MESSAGE [NAME VALUE ...]    the same of what stands for the message and its prefix
//	PIECES STREAM MESSAGE [NAME VALUE ...]  so, with the end of the stream in a frame of its own
//	OPEN STREAM [NAME VALUE ...]            its HEADERS
//	FIELDS[+FLAG] STREAM NAME VALUE ...     HEADERS of these fields
//	SET ID VALUE                            a setting
//	WINDOW STREAM N                         WINDOW_UPDATE
//	KIND[+FLAG ...] STREAM [PAYLOAD]        any frame, also of a kind that is a number
//
// Stream new is one more than before, and newest is that again. $MESSAGE is a message of CALL with its
// prefix. The clock moves once in a section.
func TestCases(t *testing.T) {
	scenario.Play(t, "testdata/*.cases", func(t *testing.T, _ scenario.Section) *scenario.Runner {
		p := newPeer(t, Options{})
		c := scenario.AnsweringText(func(args [][]byte) string {
			var words []string
			for _, arg := range args {
				words = append(words, string(arg))
			}
			p.send(p.frameOf(words[0], words[1:]))
			p.conn.waitIdle()
			var shown []string
			for p.conn.size() > 0 {
				shown = append(shown, p.show()...)
			}
			return strings.Join(shown, ", ")
		})
		return &scenario.Runner{
			Vars: map[string]string{"MESSAGE": string(lengthPrefixed(ask("a")))},
			Dial: func(string) (scenario.Client, error) { return c, nil },
			SetClock: func(nowMs int64) error {
				p.clock.advance(time.Duration(nowMs-scenario.StartMs) * time.Millisecond)
				return nil
			},
		}
	})
}

// frameOf returns what a command of a case sends.
func (p *peer) frameOf(verb string, words []string) []byte {
	number := func(word string) uint32 {
		switch word {
		case "new":
			p.newest += 2
			return p.newest
		case "newest":
			return p.newest
		}
		n, err := strconv.ParseUint(word, 10, 32)
		require.NoError(p.t, err)
		return uint32(n)
	}
	kind, names, _ := strings.Cut(verb, "+")
	flags := byte(0)
	for name := range strings.SplitSeq(names, "+") {
		require.Contains(p.t, flagNames, name)
		flags |= flagNames[name]
	}
	stream := number(words[0])
	switch kind {
	case "CALL":
		return p.call(stream, ask("a"), words[1:]...)
	case "SEND":
		return append(p.open(stream, words[2:]...),
			makeFrame(frameData, flagEndStream, stream, []byte(words[1]))...)
	case "PIECES":
		return slices.Concat(p.open(stream, words[2:]...), makeFrame(frameData, 0, stream, []byte(words[1])),
			makeFrame(frameData, flagEndStream, stream, nil))
	case "OPEN":
		return p.open(stream, words[1:]...)
	case "FIELDS":
		return makeFrame(frameHeaders, flagEndHeaders|flags, stream, p.encode(words[1:]...))
	case "SET":
		return settings(stream, number(words[1]))
	case "WINDOW":
		return appendWindowUpdate(nil, stream, number(words[1]))
	}
	of := slices.Index(frameKinds, kind)
	if of < 0 {
		of = int(number(kind))
	}
	return makeFrame(byte(of), flags, stream, []byte(strings.Join(words[1:], "")))
}

// show returns the next frames of the server as text: those of a reply, or one.
func (p *peer) show() []string {
	p.conn.mu.Lock()
	head := slices.Clone(p.conn.out[:frameHead])
	p.conn.mu.Unlock()
	if stream := binary.BigEndian.Uint32(head[5:]); head[3] == frameHeaders && head[4]&flagEndStream == 0 {
		p.reply(stream)
		return []string{fmt.Sprint("reply ", stream)}
	} else if head[3] == frameHeaders {
		code, text := p.failure(stream)
		if encodings := p.fields["grpc-accept-encoding"]; encodings != "" {
			text += " (accepts " + encodings + ")"
		}
		return []string{fmt.Sprint("failure ", stream, " ", p.fields[":status"], " ", code, " ", text)}
	}
	switch f := p.next(); f.kind {
	case frameWindowUpdate:
		return nil
	case frameRSTStream:
		return []string{fmt.Sprint("RST_STREAM ", f.stream, " ", codeNames[errorCode(f.payload[3])])}
	case frameGoAway:
		code := errorCode(f.payload[7])
		require.Equal(p.t, code, codeOf(p.t, p.expectEnd()))
		return []string{"GOAWAY " + codeNames[code]}
	default:
		require.Equal(p.t, byte(flagAck), f.flags)
		return []string{frameKinds[f.kind] + "+ACK"}
	}
}
