package rls

import (
	"encoding/binary"
	"errors"
	"strings"
	"time"

	"github.com/zlimit/zlimit/doors"
)

// The codes of grpc-status that are sent.
const (
	statusUnknown           = 2
	statusInvalidArgument   = 3
	statusNotFound          = 5
	statusPermissionDenied  = 7
	statusResourceExhausted = 8
	statusUnimplemented     = 12
	statusInternal          = 13
	statusUnavailable       = 14
	statusUnauthenticated   = 16
)

const (
	service        = "envoy.service.ratelimit.v3.RateLimitService"
	pathDecide     = "/" + service + "/ShouldRateLimit"
	pathHealth     = "/grpc.health.v1.Health/Check"
	legacyName     = "ratelimit" // by which the reference implementation is asked for its health
	contentType    = "application/grpc"
	maxStatusBytes = 1 << 10 // of a text in grpc-message
)

// A head is what a call's header block says of how to serve it.
type head struct {
	health        bool // the call is health.Check
	compressed    bool // grpc-encoding names an encoding
	authorization string
}

// route decides which method is called. It returns an error for those that are not served.
func (h *fields) route() (to head, _ *status) {
	switch {
	case h.tooLarge():
		return to, &status{http: 431, code: statusResourceExhausted, text: "headers larger than 16384 bytes"}
	case h.method != "POST":
		return to, &status{http: 405, code: statusInternal, text: "gRPC calls are POST requests"}
	case !isGRPC(h.contentType):
		return to, &status{http: 415, code: statusInternal, text: "the content type is not application/grpc"}
	}
	to.compressed = h.encoding != "" && h.encoding != "identity"
	switch h.path {
	case pathDecide:
		to.authorization = h.authorization
	case pathHealth:
		to.health = true
	default:
		return to, &status{code: statusUnimplemented, text: "unknown method " + h.path}
	}
	return to, nil
}

// isGRPC reports whether a content type is that of gRPC with protobuf.
func isGRPC(t string) bool {
	rest, ok := strings.CutPrefix(t, contentType)
	if !ok {
		return false
	}
	rest = strings.TrimPrefix(rest, "+proto")
	return rest == "" || rest[0] == ';'
}

// request answers a request that has arrived whole, or starts a goroutine that does.
func (c *conn) request(s *stream, body []byte) *connError {
	if len(body) < prefixSize {
		return c.fail(s, &status{code: statusInternal, text: "no message, or an incomplete one"})
	}
	size := binary.BigEndian.Uint32(body[1:])
	message := body[prefixSize:]
	if st := checkMessage(s, body[0], size, len(message)); st != nil {
		return c.fail(s, st)
	}
	if len(message) < int(size) {
		return c.fail(s, &status{code: statusInternal, text: "no message, or an incomplete one"})
	}
	switch {
	case s.head.health:
		return c.check(s, message)
	case c.opts.Waits():
		if len(s.body) == 0 {
			s.body = append(s.body, body...) // the read buffer is reused
		}
		s.state, s.deadline = stateDeciding, time.Time{}
		c.workers.Add(1)
		go c.decideWaiting(s)
		return nil
	}
	return c.decide(s, message)
}

// check answers a HealthCheckRequest.
func (c *conn) check(s *stream, message []byte) *connError {
	name, err := decodeService(message)
	if err != nil {
		return c.fail(s, errorStatus(err))
	}
	switch string(name) {
	case "", legacyName, service:
	default:
		return c.fail(s, &status{code: statusNotFound, text: "unknown service"})
	}
	const serving, notServing = 1, 2
	health := uint64(notServing)
	if c.opts.Serving() {
		health = serving
	}
	at := c.out.beginMessage(s.id)
	c.out.buf = appendUint(c.out.buf, 1, health)
	return c.endMessage(s, at)
}

// errorStatus returns the status for an error of decoding, of a login, or of a decision.
func errorStatus(err error) *status {
	var refusal *doors.Refusal
	switch {
	case errors.As(err, &refusal):
		return &status{code: refusalCode(refusal.Reason), text: refusal.Text}
	case errors.Is(err, errMalformed), errors.Is(err, errUTF8):
		return &status{code: statusInternal, text: err.Error()}
	case errors.Is(err, errDescriptors), errors.Is(err, errEntries), errors.Is(err, errNegative),
		errors.Is(err, errMultiplier):
		return &status{code: statusInvalidArgument, text: err.Error()}
	}
	return &status{code: statusInternal, text: "internal error"}
}

// refusalCode returns the code for a reason. An invalid request is UNKNOWN, as errors of the reference
// implementation are. An unknown domain is NOT_FOUND: it may be known tomorrow, so the argument itself is not
// invalid.
func refusalCode(r doors.Reason) int {
	switch r {
	case doors.Invalid:
		return statusUnknown
	case doors.Unauthenticated:
		return statusUnauthenticated
	case doors.Forbidden:
		return statusPermissionDenied
	case doors.UnknownDomain:
		return statusNotFound
	case doors.Unavailable:
		return statusUnavailable
	}
	return statusInternal
}

// percentEncode returns a text as grpc-message has it. Long texts are cut.
func percentEncode(text string) string {
	const hex = "0123456789ABCDEF"
	text = text[:min(len(text), maxStatusBytes)]
	plain := true
	for i := range len(text) {
		plain = plain && text[i] >= ' ' && text[i] <= '~' && text[i] != '%'
	}
	if plain {
		return text
	}
	b := make([]byte, 0, 2*len(text))
	for i := range len(text) {
		if c := text[i]; c >= ' ' && c <= '~' && c != '%' {
			b = append(b, c)
		} else {
			b = append(b, '%', hex[c>>4], hex[c&15])
		}
	}
	return string(b)
}
