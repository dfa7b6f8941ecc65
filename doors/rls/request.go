package rls

import (
	"errors"
	"unicode/utf8"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/zlimit/zlimit/doors"
	"github.com/zlimit/zlimit/policy"
)

// The bounds of a request, beside that of its message.
const (
	maxDescriptors = 128
	maxEntries     = 32 // of a descriptor
	maxKeptEntries = 64 // of the memory that a session keeps for its next request
)

// What decoding fails with.
var (
	errMalformed   = errors.New("malformed protobuf")
	errUTF8        = errors.New("a string contains invalid UTF-8")
	errDescriptors = errors.New("more than 128 descriptors")
	errEntries     = errors.New("more than 32 entries in a descriptor")
	errNegative    = errors.New("is_negative_hits is not supported")
	errMultiplier  = errors.New("unit_multiplier is not supported")

	errPanic = errors.New("panic")
)

// A requestDecoder decodes RateLimitRequest messages and keeps their memory for the next one. The request's
// keys and values refer to the message.
type requestDecoder struct {
	request   doors.Request
	entries   []doors.Entry // of all descriptors
	ends      []int         // in entries, of each descriptor
	overrides [maxDescriptors]doors.Override
	hits      [maxDescriptors]uint64
}

// decode fills d.request from a message. Unknown fields are skipped, and so are known ones of another wire
// type, as by protobuf for Go.
func (d *requestDecoder) decode(b []byte) error {
	d.request.Domain, d.request.Hits = nil, 0
	d.request.Descriptors = d.request.Descriptors[:0]
	d.entries, d.ends = d.entries[:0], d.ends[:0]
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		var err error
		switch {
		case num == 1 && typ == protowire.BytesType:
			d.request.Domain, n, err = consumeString(b)
		case num == 2 && typ == protowire.BytesType:
			var v []byte
			if v, n = protowire.ConsumeBytes(b); n >= 0 {
				err = d.descriptor(v)
			}
		case num == 3 && typ == protowire.VarintType:
			var v uint64
			v, n = protowire.ConsumeVarint(b)
			d.request.Hits = uint32(v)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if err != nil {
			return err
		}
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
	}
	// The entries' array does not move any more.
	from := 0
	for i, end := range d.ends {
		d.request.Descriptors[i].Entries = d.entries[from:end:end]
		from = end
	}
	return nil
}

func (d *requestDecoder) descriptor(b []byte) error {
	at := len(d.request.Descriptors)
	if at == maxDescriptors {
		return errDescriptors
	}
	d.request.Descriptors = append(d.request.Descriptors, doors.Descriptor{})
	descriptor, first := &d.request.Descriptors[at], len(d.entries)
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		var (
			v   []byte
			err error
		)
		switch {
		case num >= 1 && num <= 3 && typ == protowire.BytesType:
			if v, n = protowire.ConsumeBytes(b); n < 0 {
				return errMalformed
			}
			switch num {
			case 1:
				if len(d.entries)-first == maxEntries {
					return errEntries
				}
				err = d.entry(v)
			case 2:
				if descriptor.Override == nil {
					descriptor.Override = &d.overrides[at]
					*descriptor.Override = doors.Override{}
				}
				err = decodeOverride(v, descriptor.Override)
			case 3:
				if descriptor.Hits == nil {
					descriptor.Hits = &d.hits[at]
					*descriptor.Hits = 0
				}
				err = decodeHits(v, descriptor.Hits)
			}
		case num == 4 && typ == protowire.VarintType:
			var negative uint64
			if negative, n = protowire.ConsumeVarint(b); n >= 0 && negative != 0 {
				return errNegative
			}
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if err != nil {
			return err
		}
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
	}
	d.ends = append(d.ends, len(d.entries))
	return nil
}

func (d *requestDecoder) entry(b []byte) error {
	var e doors.Entry
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		var err error
		switch {
		case num == 1 && typ == protowire.BytesType:
			e.Key, n, err = consumeString(b)
		case num == 2 && typ == protowire.BytesType:
			e.Value, n, err = consumeString(b)
		default:
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if err != nil {
			return err
		}
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
	}
	d.entries = append(d.entries, e)
	return nil
}

func decodeOverride(b []byte, override *doors.Override) error {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		var v uint64
		if typ == protowire.VarintType && num >= 1 && num <= 3 {
			v, n = protowire.ConsumeVarint(b)
		} else {
			num, n = 0, protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errMalformed
		}
		switch b = b[n:]; num {
		case 1:
			override.Requests = uint32(v)
		case 2:
			override.Unit = policy.UnknownUnit
			if v <= uint64(policy.Week) {
				override.Unit = doors.Unit(v)
			}
		case 3:
			if uint32(v) > 1 { // 0 and 1 are the unit itself
				return errMultiplier
			}
		}
	}
	return nil
}

func decodeHits(b []byte, hits *uint64) error {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
		if num == 1 && typ == protowire.VarintType {
			*hits, n = protowire.ConsumeVarint(b)
		} else {
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return errMalformed
		}
		b = b[n:]
	}
	return nil
}

// consumeTag is protowire.ConsumeTag, but for the field numbers that only message sets have, which fail.
func consumeTag(b []byte) (protowire.Number, protowire.Type, int) {
	num, typ, n := protowire.ConsumeTag(b)
	if num > protowire.MaxValidNumber {
		return 0, 0, -1
	}
	return num, typ, n
}

// consumeString returns the string that b starts with, which is valid UTF-8 as proto3 demands.
func consumeString(b []byte) (v []byte, n int, err error) {
	if v, n = protowire.ConsumeBytes(b); n >= 0 && !utf8.Valid(v) {
		return nil, n, errUTF8
	}
	return v, n, nil
}

// decodeService returns the service of a HealthCheckRequest.
func decodeService(b []byte) (service []byte, err error) {
	for len(b) > 0 {
		num, typ, n := consumeTag(b)
		if n < 0 {
			return nil, errMalformed
		}
		b = b[n:]
		if num == 1 && typ == protowire.BytesType {
			if service, n, err = consumeString(b); err != nil {
				return nil, err
			}
		} else {
			n = protowire.ConsumeFieldValue(num, typ, b)
		}
		if n < 0 {
			return nil, errMalformed
		}
		b = b[n:]
	}
	return service, nil
}
